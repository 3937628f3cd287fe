//! Decoders: from the JSON of one object to a fact's content.
//!
//! One file for each kind of object (for those that are alike, one for all of them), and a line a kind below. A decoder reads only the fields that an
//! analysis uses, so that what may be secret (environment, commands, data) never enters memory as a value.
//! It must not judge, and it must not fail on a field that it does not read.

mod configuration;
mod endpointslice;
mod event;
mod lease;
mod node;
mod persistentvolumeclaim;
mod pod;
mod rbac;
pub(in crate::source) mod statements;
mod version;
mod workload;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::model::fact::Content;
use crate::model::quantity::{Quantity, Resources};

/// Turns one kind of object into a fact's content.
pub(crate) struct Decoder {
    /// API group, without version; empty for core.
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) decode: Decode,
}

type Decode = fn(&str) -> Result<Content, serde_json::Error>;

impl Decoder {
    const fn new(group: &'static str, kind: &'static str, decode: Decode) -> Self {
        Self {
            group,
            kind,
            decode,
        }
    }
}

/// All decoders, sorted by file, then by group.
pub(crate) const DECODERS: &[Decoder] = &[
    Decoder::new("", "ConfigMap", configuration::config_map),
    Decoder::new(
        "kubeadm.k8s.io",
        "ClusterConfiguration",
        configuration::cluster_configuration,
    ),
    Decoder::new(
        "kubelet.config.k8s.io",
        "KubeletConfiguration",
        configuration::component_configuration,
    ),
    Decoder::new(
        "kubeproxy.config.k8s.io",
        "KubeProxyConfiguration",
        configuration::component_configuration,
    ),
    Decoder::new("discovery.k8s.io", "EndpointSlice", endpointslice::decode),
    Decoder::new("", "Event", event::decode),
    Decoder::new("events.k8s.io", "Event", event::decode),
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
                let path = line.strip_prefix("Decoder::new(\"").and_then(|line| {
                    line.rsplit_once("::")?
                        .0
                        .rsplit_once(' ')
                        .map(|(_, file)| file)
                });
                // A long line is broken, and its function has one of its own.
                path.or_else(|| Some(line.strip_suffix(',')?.split_once("::")?.0))
            })
            .filter(|file| file.bytes().all(|byte| byte.is_ascii_lowercase()))
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
                if let Ok(content) = (decoder.decode)(&text) {
                    // What was decoded can be asked for its time, whatever it held.
                    prop_assert!(content.newest_observation().is_none_or(|at| at <= Timestamp::MAX));
                }
            }
        }

        #[test]
        fn no_text_makes_a_decoder_panic(text in ".{0,200}") {
            for decoder in DECODERS {
                let object = text.trim_start().starts_with(['{', '[']);
                prop_assert!(object || (decoder.decode)(&text).is_err());
            }
        }
    }
}
