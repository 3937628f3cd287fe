//! Decodes configuration files: kubeadm's `ClusterConfiguration`, `KubeletConfiguration`, `KubeProxyConfiguration`, and the
//! `ConfigMap`s of kubeadm that hold them.
//!
//! They say what a component is started with, not what runs. A value that the component would refuse is kept as its refusal,
//! never mended (k8s.io/kubernetes `cmd/kubeadm/app/apis/kubeadm/v1beta3`, `v1beta4`, 1.37). Of a `ConfigMap` nothing else is read.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::component::{
    ComponentKind, ComponentName, ComponentVersion, Document, Settings, Statement, Told,
};
use crate::model::fact::Content;
use crate::model::version::Release;
use crate::source::component::flags;
use crate::source::document;

/// Keys of kubeadm's `ConfigMap`s that hold a document.
const KEYS: [&str; 3] = ["ClusterConfiguration", "kubelet", "config.conf"];

/// Names of `ConfigMap`s in kube-system that hold them: kubeadm's, and the older one with a version.
const NAMES: [&str; 3] = ["kubeadm-config", "kubelet-config", "kube-proxy"];

#[derive(Deserialize)]
struct ConfigMap {
    metadata: super::Metadata,
    #[serde(default)]
    data: Option<Documents>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Documents {
    #[serde(rename = "ClusterConfiguration")]
    cluster: Option<String>,
    kubelet: Option<String>,
    #[serde(rename = "config.conf")]
    proxy: Option<String>,
}

pub(super) fn config_map(json: &str) -> Result<Content, serde_json::Error> {
    let map: ConfigMap = serde_json::from_str(json)?;
    let is_kubeadms = map.metadata.namespace.as_deref() == Some("kube-system")
        && NAMES.iter().any(|name| map.metadata.name.starts_with(name));
    let mut statements = Vec::new();
    if let (true, Some(data)) = (is_kubeadms, map.data) {
        let texts = KEYS
            .into_iter()
            .zip([data.cluster, data.kubelet, data.proxy]);
        for (key, text) in texts.filter_map(|(key, text)| Some((key, text?))) {
            let reading = document::read(text.as_bytes());
            if let Some(fault) = reading.faults.first() {
                return Err(serde_json::Error::custom(format!("its key {key}: {fault}")));
            }
            for content in reading.contents {
                if let Content::Statements(told) = content {
                    statements.extend(told);
                }
            }
        }
    }
    Ok(Content::Statements(statements))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterConfiguration {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    api_server: ControlPlaneComponent,
    #[serde(default)]
    controller_manager: ControlPlaneComponent,
    #[serde(default)]
    scheduler: ControlPlaneComponent,
    #[serde(default)]
    kubernetes_version: Option<String>,
    /// kubeadm's own.
    #[serde(default)]
    feature_gates: Option<BTreeMap<String, bool>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ControlPlaneComponent {
    extra_args: Option<ExtraArgs>,
}

/// Flags without their dashes: v1beta3 has a map, v1beta4 a list.
enum ExtraArgs {
    Map(Vec<(String, String)>),
    List(Vec<(String, String)>),
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    #[serde(default)]
    value: String,
}

impl<'de> Deserialize<'de> for ExtraArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExtraArgsVisitor)
    }
}

struct ExtraArgsVisitor;

impl<'de> Visitor<'de> for ExtraArgsVisitor {
    type Value = ExtraArgs;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("flags as a map (v1beta3) or a list (v1beta4)")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ExtraArgs, A::Error> {
        let mut list = Vec::new();
        while let Some(Argument { name, value }) = items.next_element()? {
            list.push((name, value));
        }
        Ok(ExtraArgs::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ExtraArgs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(ExtraArgs::Map(pairs))
    }
}

pub(super) fn cluster_configuration(json: &str) -> Result<Content, serde_json::Error> {
    let cluster: ClusterConfiguration = serde_json::from_str(json)?;
    let is_list = !["v1beta1", "v1beta2", "v1beta3"]
        .iter()
        .any(|old| cluster.api_version.ends_with(old));
    let version = cluster.kubernetes_version;
    let version = version.filter(|version| Release::parse(version).is_some());
    let parts = [
        (
            ComponentKind::KubeApiserver,
            "apiServer",
            cluster.api_server,
        ),
        (
            ComponentKind::KubeControllerManager,
            "controllerManager",
            cluster.controller_manager,
        ),
        (ComponentKind::KubeScheduler, "scheduler", cluster.scheduler),
    ];
    let mut statements = Vec::new();
    for (kind, part, component) in parts {
        let pairs = match (component.extra_args, is_list) {
            (None, _) => Vec::new(),
            (Some(ExtraArgs::Map(pairs)), false) | (Some(ExtraArgs::List(pairs)), true) => pairs,
            // In the words of kubeadm, which refuses the document.
            (Some(ExtraArgs::List(_)), false) => {
                return Err(serde_json::Error::custom(format!(
                    "json: cannot unmarshal array into Go struct field of {part}.extraArgs of type map[string]string; a list is of kubeadm.k8s.io/v1beta4"
                )));
            }
            (Some(ExtraArgs::Map(_)), true) => {
                return Err(serde_json::Error::custom(format!(
                    "json: cannot unmarshal object into Go struct field of {part}.extraArgs of type []v1beta4.Arg; a map is of kubeadm.k8s.io/v1beta3"
                )));
            }
        };
        // kubeadm writes the manifest's flags sorted by their text.
        let mut words: Vec<String> = pairs
            .into_iter()
            .map(|(name, value)| format!("--{name}={value}"))
            .collect();
        words.sort();
        let git = version.clone().map(|git| {
            Told::Version(ComponentVersion {
                git: Some(git),
                ..ComponentVersion::default()
            })
        });
        let told = flags::told(kind, &words).into_iter().chain(git);
        statements.extend(told.map(|told| of_all(kind, told)));
    }
    let own = cluster.feature_gates.filter(|gates| !gates.is_empty());
    let own = own.map(|gates| of_all(ComponentKind::KubeApiserver, Told::OfKubeadm(gates)));
    statements.extend(own);
    Ok(Content::Statements(statements))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComponentConfiguration {
    kind: String,
    #[serde(default)]
    feature_gates: Option<BTreeMap<String, Value>>,
}

pub(super) fn component_configuration(json: &str) -> Result<Content, serde_json::Error> {
    let configuration: ComponentConfiguration = serde_json::from_str(json)?;
    let kind = if configuration.kind == "KubeletConfiguration" {
        ComponentKind::Kubelet
    } else {
        ComponentKind::KubeProxy
    };
    let mut settings = Settings::default();
    for (name, value) in configuration.feature_gates.unwrap_or_default() {
        match value {
            Value::Bool(value) => {
                settings.gates.insert(name, value);
            }
            other => settings.refused.push(format!(
                "json: cannot unmarshal {} into Go struct field {}.featureGates of type bool ({name})",
                word(&other),
                configuration.kind
            )),
        }
    }
    let statement = of_all(kind, Told::Set(settings));
    Ok(Content::Statements(vec![statement]))
}

/// Go's word for what JSON has there.
fn word(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Bool(_) | Value::Null => "null",
    }
}

/// A statement about every component of a kind, as far as nothing closer is known.
fn of_all(kind: ComponentKind, told: Told) -> Statement {
    Statement {
        component: ComponentName::new(kind, ""),
        document: Document::Configuration,
        told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(yaml: &str, kind: ComponentKind) -> Result<Settings, String> {
        let reading = document::read(yaml.as_bytes());
        if let Some(fault) = reading.faults.into_iter().next() {
            return Err(fault);
        }
        let statements = reading
            .contents
            .into_iter()
            .flat_map(|content| match content {
                Content::Statements(statements) => statements,
                other => panic!("{other:?}"),
            });
        statements
            .filter(|statement| statement.component.kind == kind)
            .find_map(|statement| match statement.told {
                Told::Set(settings) => Some(settings),
                _ => None,
            })
            .ok_or_else(|| "nothing was told".to_owned())
    }

    fn gates(pairs: &[(&str, bool)]) -> Settings {
        let owned = pairs.iter().map(|(name, on)| ((*name).to_owned(), *on));
        Settings {
            gates: owned.collect(),
            refused: Vec::new(),
        }
    }

    #[test]
    fn kubeadm_has_a_map_or_a_list_by_its_version() {
        let list = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\napiServer:\n  extraArgs:\n  - {name: feature-gates, value: \"A=true\"}\n  - {name: feature-gates, value: \"B=true,A=false\"}\n";
        let map = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\napiServer: {extraArgs: {feature-gates: \"A=false,B=true\"}}\n";
        let server = ComponentKind::KubeApiserver;
        let due = gates(&[("A", false), ("B", true)]);
        assert_eq!(settings(list, server), Ok(due.clone()));
        assert_eq!(settings(map, server), Ok(due));
        assert_eq!(settings(map, ComponentKind::KubeScheduler), Ok(gates(&[])));
        let refused = settings(&list.replace("v1beta4", "v1beta3"), server);
        assert!(refused.is_err_and(|fault| fault.contains("cannot unmarshal array")));
        let refused = settings(&map.replace("v1beta3", "v1beta4"), server);
        assert!(refused.is_err_and(|fault| fault.contains("cannot unmarshal object")));
    }

    #[test]
    fn a_text_is_no_boolean_to_a_kubelet() {
        let kubelet = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {A: true, B: \"true\"}\n";
        let told = settings(kubelet, ComponentKind::Kubelet).expect("it is a configuration");
        assert_eq!(told.gates, gates(&[("A", true)]).gates);
        assert!(told.refused[0].contains("cannot unmarshal string into Go struct field"));
    }

    #[test]
    fn only_kubeadms_config_maps_are_read() {
        let map = |name: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\ndata:\n  kubelet: |\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    kind: KubeletConfiguration\n    featureGates: {{A: false}}\n"
            )
        };
        let kubelet = ComponentKind::Kubelet;
        let due = Ok(gates(&[("A", false)]));
        assert_eq!(settings(&map("kubelet-config"), kubelet), due);
        assert_eq!(settings(&map("kubelet-config-1.23"), kubelet), due);
        assert!(settings(&map("mine"), kubelet).is_err());
    }
}
