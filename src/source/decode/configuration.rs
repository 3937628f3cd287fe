//! Decodes configuration files: kubeadm's `ClusterConfiguration`, `InitConfiguration` and `JoinConfiguration`,
//! `KubeletConfiguration`, `KubeProxyConfiguration`, and the `ConfigMap`s of kubeadm that hold them.
//!
//! They say what a component is started with, not what runs. A value that the component would refuse is kept as its refusal,
//! never mended (k8s.io/kubernetes `cmd/kubeadm/app/apis/kubeadm/v1beta3`, `v1beta4`, 1.37). Of a `ConfigMap` nothing else is read.

use serde::Deserialize;
use serde::de::Error as _;

use crate::model::component::{
    ComponentKind, ComponentName, ComponentVersion, Document, Settings, Statement, Told,
};
use crate::model::fact::Content;
use crate::model::version::Release;
use crate::source::component::flags;
use crate::source::document;
use crate::source::located::{Entry, Node, Position, Tree};

/// Keys of these `ConfigMap`s that hold a document.
pub(in crate::source) const KEYS: [&str; 4] =
    ["ClusterConfiguration", "kubelet", "config.conf", "config"];

/// Names of `ConfigMap`s in kube-system that hold them: kubeadm's, and the older one with a version.
const NAMES: [&str; 3] = ["kubeadm-config", "kubelet-config", "kube-proxy"];

/// EKS' own for its kube-proxies, under the last key (aws/containers-roadmap#143, #657).
const OF_EKS: &str = "kube-proxy-config";

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
    config: Option<String>,
}

pub(super) fn config_map(json: &str) -> Result<Content, serde_json::Error> {
    let map: ConfigMap = serde_json::from_str(json)?;
    let is_kubeadms = map.metadata.namespace.as_deref() == Some("kube-system")
        && NAMES.iter().any(|name| map.metadata.name.starts_with(name));
    let mut statements = Vec::new();
    if let (true, Some(data)) = (is_kubeadms, map.data) {
        let of_eks = data.config.filter(|_| map.metadata.name == OF_EKS);
        let texts = KEYS
            .into_iter()
            .zip([data.cluster, data.kubelet, data.proxy, of_eks]);
        for (key, text) in texts.filter_map(|(key, text)| Some((key, text?))) {
            let reading = document::read(text.as_bytes());
            if let Some(fault) = reading.faults.first() {
                return Err(serde_json::Error::custom(format!("its key {key}: {fault}")));
            }
            for content in reading.contents {
                // Lines of the text alone are none of a file.
                if let Content::Statements(told) = content {
                    statements.extend(told.into_iter().map(Statement::nowhere));
                }
            }
        }
    }
    Ok(Content::Statements(statements))
}

/// A component's flags, each a word with where it stands.
#[derive(Default)]
pub(super) struct Flags(Vec<(String, Option<Position>)>);

impl Flags {
    /// `extraArgs` of kubeadm and its like: a map of texts, or a list of names and values; null where it is not written.
    /// Of kubeadm the version says which it may be, and its error is in kubeadm's words.
    fn of_kubeadm(at: Option<&Node>, is_list: Option<bool>, field: &str) -> Result<Self, String> {
        let cannot = |found: &str, due: &str, hint: &str| {
            Err(format!(
                "json: cannot unmarshal {found} into Go struct field of {field} of type {due}{hint}"
            ))
        };
        let mut flags = match at.map(|node| (&node.tree, is_list)) {
            None => Self::default(),
            Some((Tree::List(_), Some(false))) => {
                let hint = "; a list is of kubeadm.k8s.io/v1beta4";
                return cannot("array", "map[string]string", hint);
            }
            Some((Tree::Map(_), Some(true))) => {
                let hint = "; a map is of kubeadm.k8s.io/v1beta3";
                return cannot("object", "[]v1beta4.Arg", hint);
            }
            Some((Tree::List(items), _)) => {
                let pairs = items.iter().map(|item| {
                    let name = item.get("name").map_or(Some(""), text_of)?;
                    let value = item.get("value").map_or(Some(""), text_of)?;
                    let at = item.get("value").map_or(item.at, |value| value.at);
                    Some((format!("--{name}={value}"), at))
                });
                match pairs.collect::<Option<_>>() {
                    Some(words) => Self(words),
                    None => return cannot("a value", "string", ""),
                }
            }
            Some((Tree::Map(entries), _)) => {
                let pairs = entries.iter().map(|entry| {
                    let value = text_of(&entry.value)?;
                    Some((format!("--{}={value}", entry.key), entry.value.at))
                });
                match pairs.collect::<Option<_>>() {
                    Some(words) => Self(words),
                    None => return cannot("a value", "string", ""),
                }
            }
            Some((tree, _)) => return cannot(word(tree), "map[string]string", ""),
        };
        // kubeadm writes the manifest's flags sorted by their text.
        flags.0.sort();
        Ok(flags)
    }

    /// Words of a list, or one alone, before which something has to be added.
    pub(super) fn of_words(node: &Node, before: &str) -> Self {
        let alone = std::slice::from_ref(node);
        let items = match node.tree {
            Tree::List(_) => node.items(),
            _ => alone,
        };
        let words = items.iter().filter_map(|item| {
            let text = item.text()?;
            Some((format!("{before}{text}"), item.at))
        });
        Self(words.collect())
    }

    /// Flags by their names, each with a text or a list of them.
    pub(super) fn of_arguments(node: &Node) -> Self {
        let entries = node.entries().iter();
        let flags = entries.map(|it| Self::of_words(&it.value, &format!("--{}=", it.key)));
        Self(flags.flat_map(|flags| flags.0).collect())
    }

    /// What they tell of a component.
    pub(super) fn told(self, kind: ComponentKind) -> Vec<Told> {
        let (words, at): (Vec<String>, Vec<Option<Position>>) = self.0.into_iter().unzip();
        flags::told_at(kind, &words, &|number| at.get(number).copied().flatten())
    }
}

/// A text; null, which is none to Go, is empty.
fn text_of(node: &Node) -> Option<&str> {
    match &node.tree {
        Tree::Text(text) => Some(text),
        Tree::Null => Some(""),
        _ => None,
    }
}

/// The version that a text is, if it is one.
pub(super) fn version(text: Option<&str>) -> Option<Told> {
    let git = text.filter(|text| Release::parse(text).is_some())?;
    Some(Told::Version(ComponentVersion {
        git: Some(git.to_owned()),
        ..ComponentVersion::default()
    }))
}

/// Statements that a file makes of one component.
pub(super) fn of<T: IntoIterator<Item = Told>>(
    component: &ComponentName,
    document: Document,
    told: T,
) -> impl Iterator<Item = Statement> + use<'_, T> {
    let of_one = move |told| Statement {
        component: component.clone(),
        document,
        told,
    };
    told.into_iter().map(of_one)
}

/// The parts of a cluster whose flags kubeadm writes.
const PARTS: [(ComponentKind, &str); 3] = [
    (ComponentKind::KubeApiserver, "apiServer"),
    (ComponentKind::KubeControllerManager, "controllerManager"),
    (ComponentKind::KubeScheduler, "scheduler"),
];

pub(super) fn cluster_configuration(cluster: &Node) -> Result<Vec<Statement>, String> {
    let version = cluster.get("kubernetesVersion").and_then(Node::text);
    of_cluster(cluster, "", version)
}

/// A `ClusterConfiguration`, of components with this identity and version.
pub(super) fn of_cluster(
    cluster: &Node,
    identity: &str,
    git: Option<&str>,
) -> Result<Vec<Statement>, String> {
    let mut statements = Vec::new();
    for (kind, part) in PARTS {
        let args = cluster.find(&[part, "extraArgs"]);
        let field = format!("{part}.extraArgs");
        let flags = Flags::of_kubeadm(args, is_list(cluster), &field)?;
        let told = flags.told(kind).into_iter().chain(version(git));
        let component = ComponentName::new(kind, identity);
        statements.extend(of(&component, Document::Configuration, told));
    }
    // Its `featureGates` are kubeadm's own, which refuses the document as a component would refuse its own.
    if let Told::Set(Settings { gates, refused, .. }) = gates(cluster, "ClusterConfiguration")? {
        if let Some(refused) = refused.into_iter().next() {
            return Err(refused);
        }
        let own = (!gates.is_empty()).then_some(Told::OfKubeadm(gates));
        let component = ComponentName::new(ComponentKind::KubeApiserver, identity);
        statements.extend(of(&component, Document::Configuration, own));
    }
    Ok(statements)
}

/// Whether the version of a document of kubeadm has lists of flags; null where it does not say its version.
fn is_list(document: &Node) -> Option<bool> {
    let version = document.get("apiVersion")?.text()?;
    let (group, version) = version.split_once('/')?;
    let old = ["v1beta1", "v1beta2", "v1beta3"];
    (group == "kubeadm.k8s.io").then(|| !old.contains(&version))
}

/// `InitConfiguration` and `JoinConfiguration`: flags of the kubelet.
pub(super) fn node_configuration(node: &Node) -> Result<Vec<Statement>, String> {
    of_node(node, "")
}

/// The same of a kubelet with this identity. Without any flag it tells nothing: the kubelet has a file beside it.
pub(super) fn of_node(node: &Node, identity: &str) -> Result<Vec<Statement>, String> {
    let Some(args) = node.find(&["nodeRegistration", "kubeletExtraArgs"]) else {
        return Ok(Vec::new());
    };
    let kind = ComponentKind::Kubelet;
    let flags = Flags::of_kubeadm(Some(args), is_list(node), "kubeletExtraArgs")?;
    let told = flags.told(kind);
    let told = told
        .into_iter()
        .filter(|told| *told != Told::Set(Settings::default()));
    let component = ComponentName::new(kind, identity);
    Ok(of(&component, Document::Flags, told).collect())
}

pub(super) fn component_configuration(configuration: &Node) -> Result<Vec<Statement>, String> {
    let name = configuration.get("kind").and_then(Node::text);
    let kind = match name {
        Some("KubeProxyConfiguration") => ComponentKind::KubeProxy,
        _ => ComponentKind::Kubelet,
    };
    let told = [gates(configuration, name.unwrap_or_default())?];
    let component = ComponentName::new(kind, "");
    Ok(of(&component, Document::Configuration, told).collect())
}

/// Refuses what is not read where it speaks of gates: nobody may take it for nothing.
pub(super) fn silent(part: Option<&Node>, name: &str) -> Result<(), String> {
    let speaks = |node: &Node| {
        let own = node.text().unwrap_or_default();
        document::mentions_settings(own.as_bytes())
    };
    let mut waiting: Vec<&Node> = part.into_iter().collect();
    while let Some(node) = waiting.pop() {
        if speaks(node) {
            return Err(format!(
                "{name} speaks of feature gates or APIs, and is not read: say them where they are read (docs/ci.md)"
            ));
        }
        waiting.extend(node.items());
        waiting.extend(node.entries().iter().map(|entry| &entry.value));
    }
    Ok(())
}

/// What `featureGates` of a configuration sets.
pub(super) fn gates(configuration: &Node, kind: &str) -> Result<Told, String> {
    let mut settings = Settings::default();
    let map = configuration.get("featureGates");
    if let Some(other) = map.filter(|map| !matches!(map.tree, Tree::Map(_))) {
        return Err(format!(
            "json: cannot unmarshal {} into Go struct field {kind}.featureGates of type map[string]bool",
            word(&other.tree)
        ));
    }
    for Entry { key, at, value } in map.map(Node::entries).unwrap_or_default() {
        let name = match value.tree {
            Tree::Bool(value) => {
                settings.gates.insert(key.clone(), value);
                key.clone()
            }
            ref other => {
                let refusal = format!(
                    "json: cannot unmarshal {} into Go struct field {kind}.featureGates of type bool ({key})",
                    word(other)
                );
                settings.refused.push(refusal.clone());
                refusal
            }
        };
        if let Some(Position { line, column }) = *at {
            settings.places.at.insert(name, (line, column));
        }
    }
    Ok(Told::Set(settings))
}

/// Go's word for what JSON has there.
fn word(tree: &Tree) -> &'static str {
    match tree {
        Tree::Text(_) => "string",
        Tree::Number => "number",
        Tree::List(_) => "array",
        Tree::Map(_) => "object",
        Tree::Bool(_) => "bool",
        Tree::Null => "null",
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
            .map(Statement::nowhere)
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
            ..Settings::default()
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

    #[test]
    fn eks_has_a_config_map_of_its_own_for_proxies() {
        let map = |name: &str, key: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\ndata:\n  {key}: |\n    apiVersion: kubeproxy.config.k8s.io/v1alpha1\n    kind: KubeProxyConfiguration\n    featureGates: {{A: false}}\n"
            )
        };
        let proxy = ComponentKind::KubeProxy;
        let due = Ok(gates(&[("A", false)]));
        assert_eq!(settings(&map("kube-proxy", "config.conf"), proxy), due);
        assert_eq!(settings(&map("kube-proxy-config", "config"), proxy), due);
        assert!(settings(&map("kube-proxy", "config"), proxy).is_err());
    }
}
