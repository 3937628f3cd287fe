//! Decoders: from the JSON of one object to a fact's content.
//!
//! One file for each kind of object (for those that are alike, one for all of them), and a line a kind below. A decoder reads only the fields that an
//! analysis uses, so that what may be secret (environment, commands, data) never enters memory as a value.
//! It must not judge, and it must not fail on a field that it does not read.

mod clusterapi;
pub(super) mod configuration;
mod endpointslice;
mod event;
pub(super) mod k3s;
mod kind;
mod lease;
mod node;
mod persistentvolumeclaim;
mod pod;
mod rbac;
pub(in crate::source) mod statements;
mod talos;
mod version;
mod workload;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::located::Node;
use crate::model::component::Statement;
use crate::model::fact::Content;
use crate::model::quantity::{Quantity, Resources};

/// Turns one kind of object into a fact's content.
pub(crate) struct Decoder {
    /// API group, without version; empty for core.
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    Json(fn(&str) -> Result<Content, serde_json::Error>),
    /// Configuration: where in its text something stands is worth knowing.
    Tree(ReadTree),
}

/// Reads configuration. Its error is what the program that it is for would say.
pub(super) type ReadTree = fn(&Node) -> Result<Vec<Statement>, String>;

impl Decoder {
    const fn new(
        group: &'static str,
        kind: &'static str,
        decode: fn(&str) -> Result<Content, serde_json::Error>,
    ) -> Self {
        let how = How::Json(decode);
        Self { group, kind, how }
    }

    const fn tree(group: &'static str, kind: &'static str, read: ReadTree) -> Self {
        let how = How::Tree(read);
        Self { group, kind, how }
    }

    pub(crate) fn decode(&self, json: &str) -> Result<Content, serde_json::Error> {
        match self.how {
            How::Json(decode) => decode(json),
            How::Tree(read) => {
                let value: Value = serde_json::from_str(json)?;
                if !value.is_object() {
                    return Err(serde_json::Error::custom("it is no object"));
                }
                let told = read(&Node::from(value)).map_err(serde_json::Error::custom)?;
                Ok(Content::Statements(told))
            }
        }
    }

    /// How it reads a tree, if it does.
    pub(super) fn of_tree(&self) -> Option<ReadTree> {
        match self.how {
            How::Json(_) => None,
            How::Tree(read) => Some(read),
        }
    }
}

/// What stands for the kind of files that have none.
pub(super) const K3S: &str = "K3sConfig";
pub(super) const TALOS: &str = "TalosConfig";

/// All decoders, sorted by file, then by group.
pub(crate) const DECODERS: &[Decoder] = &[
    Decoder::tree(
        "bootstrap.cluster.x-k8s.io",
        "KubeadmConfig",
        clusterapi::kubeadm_config,
    ),
    Decoder::tree(
        "bootstrap.cluster.x-k8s.io",
        "KubeadmConfigTemplate",
        clusterapi::kubeadm_config_template,
    ),
    Decoder::tree(
        "cluster.x-k8s.io",
        "MachineDeployment",
        clusterapi::machine_deployment,
    ),
    Decoder::tree(
        "controlplane.cluster.x-k8s.io",
        "KubeadmControlPlane",
        clusterapi::kubeadm_control_plane,
    ),
    Decoder::new("", "ConfigMap", configuration::config_map),
    Decoder::tree(
        "kubeadm.k8s.io",
        "ClusterConfiguration",
        configuration::cluster_configuration,
    ),
    Decoder::tree(
        "kubeadm.k8s.io",
        "InitConfiguration",
        configuration::node_configuration,
    ),
    Decoder::tree(
        "kubeadm.k8s.io",
        "JoinConfiguration",
        configuration::node_configuration,
    ),
    Decoder::tree(
        "kubelet.config.k8s.io",
        "KubeletConfiguration",
        configuration::component_configuration,
    ),
    Decoder::tree(
        "kubeproxy.config.k8s.io",
        "KubeProxyConfiguration",
        configuration::component_configuration,
    ),
    Decoder::new("discovery.k8s.io", "EndpointSlice", endpointslice::decode),
    Decoder::new("", "Event", event::decode),
    Decoder::new("events.k8s.io", "Event", event::decode),
    // k3s and RKE2 have files without a kind; they are told by their keys.
    Decoder::tree("", K3S, k3s::config),
    Decoder::tree("k3d.io", "Simple", k3s::k3d),
    Decoder::tree("kind.x-k8s.io", "Cluster", kind::cluster),
    Decoder::new("coordination.k8s.io", "Lease", lease::decode),
    Decoder::new("", "Node", node::decode),
    Decoder::new("", "PersistentVolumeClaim", persistentvolumeclaim::decode),
    Decoder::new("", "Pod", pod::decode),
    Decoder::new(
        "rbac.authorization.k8s.io",
        "ClusterRole",
        rbac::cluster_role,
    ),
    Decoder::new(
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        rbac::cluster_role_binding,
    ),
    Decoder::new(
        "kube-placement.dev",
        "ComponentStatements",
        statements::decode,
    ),
    Decoder::new("kube-placement.dev", "GateSnapshot", statements::decode),
    // So is Talos' configuration of a machine.
    Decoder::tree("", TALOS, talos::machine),
    // `/version` answers an object without a kind; it is told by its `gitVersion`.
    Decoder::new("", "Version", version::decode),
    Decoder::new("batch", "CronJob", workload::cron_job),
    Decoder::new("apps", "DaemonSet", workload::daemon_set),
    Decoder::new("apps", "Deployment", workload::deployment),
    Decoder::new("batch", "Job", workload::job),
    Decoder::new("apps", "ReplicaSet", workload::replica_set),
    Decoder::new("apps", "StatefulSet", workload::stateful_set),
];

/// The decoder for `apiVersion` and `kind`, if that kind is read at all.
pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static Decoder> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    DECODERS
        .iter()
        .find(|decoder| decoder.group == group && decoder.kind == kind)
}

/// `metadata` as every object has it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    #[serde(deserialize_with = "number")]
    resource_version: Option<u64>,
    #[serde(deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
}

/// A time; one that does not parse is no time, and no reason to lose the object.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// A number that the API writes as a string.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// An object that may be written as null.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A list that may be written as null.
fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

/// A quantity, written as a string or as a bare number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Text(String),
    Number(serde_json::Number),
    Other(serde::de::IgnoredAny),
}

/// Quantities by resource name; one that does not parse is left out.
fn amounts(map: Option<&BTreeMap<String, Amount>>) -> Resources {
    map.into_iter()
        .flatten()
        .filter_map(|(name, amount)| {
            let quantity = match amount {
                Amount::Text(text) => Quantity::parse(text),
                Amount::Number(number) => Quantity::parse(&number.to_string()),
                Amount::Other(_) => None,
            };
            Some((name.clone(), quantity?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use proptest::prelude::*;

    #[test]
    fn every_file_has_its_line() {
        // The file of a line is told by the line only: a file may read several kinds.
        let lines: Vec<&str> = include_str!("mod.rs")
            .lines()
            .map(str::trim)
            .skip_while(|line| !line.starts_with("pub(crate) const DECODERS"))
            .take_while(|line| *line != "];")
            .filter_map(|line| {
                let call = line.strip_prefix("Decoder::");
                let path = call.filter(|line| line.ends_with("),")).and_then(|line| {
                    line.rsplit_once("::")?
                        .0
                        .rsplit_once(' ')
                        .map(|(_, file)| file)
                });
                // A long line is broken, and its function has one of its own.
                path.or_else(|| Some(line.strip_suffix(',')?.split_once("::")?.0))
            })
            .filter(|file| {
                let mut bytes = file.bytes();
                bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
            .collect();
        let files = registry::files("source/decode", &["mod"]);
        assert_eq!(files, registry::names(lines));
    }

    #[test]
    fn audit_events_are_not_events() {
        assert!(find("audit.k8s.io/v1", "Event").is_none());
        assert!(find("events.k8s.io/v1", "Event").is_some());
        assert!(find("v1", "Event").is_some());
        assert!(find("v1", "Secret").is_none());
    }

    /// JSON of any shape, with the field names that decoders look for.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        let key = prop::sample::select(vec![
            "metadata",
            "spec",
            "status",
            "managedFields",
            "conditions",
            "fieldsV1",
            "f:status",
            "name",
            "uid",
            "involvedObject",
            "regarding",
            "series",
            "count",
            "eventTime",
            "schedulingGates",
            "taints",
            "reason",
            "resourceVersion",
            "creationTimestamp",
            "f:conditions",
            "annotations",
            "ownerReferences",
            "type",
        ]);
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(6, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_json_makes_a_decoder_panic(value in json()) {
            let text = value.to_string();
            for decoder in DECODERS {
                if let Ok(content) = decoder.decode(&text) {
                    // What was decoded can be asked for its time, whatever it held.
                    prop_assert!(content.newest_observation().is_none_or(|at| at <= Timestamp::MAX));
                }
            }
        }

        #[test]
        fn no_text_makes_a_decoder_panic(text in ".{0,200}") {
            for decoder in DECODERS {
                let object = text.trim_start().starts_with(['{', '[']);
                prop_assert!(object || decoder.decode(&text).is_err());
            }
        }
    }
}
