//! Decodes what Cluster API starts nodes with by kubeadm: `KubeadmControlPlane`, `KubeadmConfig`, `KubeadmConfigTemplate`, and of a
//! `MachineDeployment` the version of its nodes.
//!
//! Each is one group of nodes, and its name is the name of its components (cluster-api 1.11 `api/bootstrap/kubeadm`, v1beta1 with maps
//! of flags and v1beta2 with lists). Files that it writes to a node (`files`) are not looked into.

use super::configuration::{of, of_cluster, of_node, version};
use crate::model::component::{ComponentKind, ComponentName, Document, Statement};
use crate::source::located::Node;

fn name(object: &Node) -> &str {
    let name = object.find(&["metadata", "name"]).and_then(Node::text);
    name.unwrap_or_default()
}

pub(super) fn kubeadm_control_plane(object: &Node) -> Result<Vec<Statement>, String> {
    let git = object.find(&["spec", "version"]).and_then(Node::text);
    let spec = object.find(&["spec", "kubeadmConfigSpec"]);
    spec.map_or(Ok(Vec::new()), |spec| {
        let cluster = spec.get("clusterConfiguration").cloned();
        let cluster = cluster.unwrap_or_else(|| serde_json::json!({}).into());
        let mut told = of_cluster(&cluster, name(object), git)?;
        told.extend(of_kubelets(spec, name(object), git)?);
        Ok(told)
    })
}

pub(super) fn kubeadm_config(object: &Node) -> Result<Vec<Statement>, String> {
    let spec = object.get("spec");
    spec.map_or(Ok(Vec::new()), |spec| of_kubelets(spec, name(object), None))
}

pub(super) fn kubeadm_config_template(object: &Node) -> Result<Vec<Statement>, String> {
    let spec = object.find(&["spec", "template", "spec"]);
    spec.map_or(Ok(Vec::new()), |spec| of_kubelets(spec, name(object), None))
}

/// The version of the nodes that a template of kubelets is for.
#[expect(clippy::unnecessary_wraps, reason = "decoders are alike")]
pub(super) fn machine_deployment(object: &Node) -> Result<Vec<Statement>, String> {
    let spec = object.find(&["spec", "template", "spec"]);
    let text = |keys: &[&str]| spec.and_then(|spec| spec.find(keys)?.text());
    let Some(template) = text(&["bootstrap", "configRef", "name"]) else {
        return Ok(Vec::new());
    };
    let kubelet = ComponentName::new(ComponentKind::Kubelet, template);
    let told = version(text(&["version"]));
    Ok(of(&kubelet, Document::Configuration, told).collect())
}

/// Kubelets of the first node and of those that join, which are started alike in a sound file.
fn of_kubelets(spec: &Node, name: &str, git: Option<&str>) -> Result<Vec<Statement>, String> {
    let mut told = Vec::new();
    for key in ["initConfiguration", "joinConfiguration"] {
        if let Some(configuration) = spec.get(key) {
            told.extend(of_node(configuration, name)?);
        }
    }
    let kubelet = ComponentName::new(ComponentKind::Kubelet, name);
    told.extend(of(&kubelet, Document::Configuration, version(git)));
    Ok(told)
}
