//! Decodes what Cluster API starts nodes with by kubeadm: `KubeadmControlPlane`, `KubeadmConfig`, `KubeadmConfigTemplate`, and of a
//! `MachineDeployment` the version of its nodes.
//!
//! Each is one group of nodes, and its name is the name of its components (cluster-api 1.11 `api/bootstrap/kubeadm`, v1beta1 with maps
//! of flags and v1beta2 with lists). Files and commands of a node are not read: one that speaks of gates is a fault.

use super::configuration::{of, of_cluster, of_node, silent, version};
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
    for key in ["files", "preKubeadmCommands", "postKubeadmCommands"] {
        silent(spec.get(key), key)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::component::Told;
    use crate::source::located::documents;

    const CONTROL_PLANE: &str = "kind: KubeadmControlPlane\nmetadata: {name: cp}\nspec:\n  version: v1.36.3\n  kubeadmConfigSpec:\n    clusterConfiguration: {apiServer: {extraArgs: [{name: feature-gates, value: A=true}]}}\n    joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {feature-gates: B=true}}}\n    files:\n    - path: /x\n      content: ''\n";

    #[test]
    fn a_group_of_nodes_has_the_name_of_its_object() {
        let read = kubeadm_control_plane(&documents(CONTROL_PLANE)[0]).expect("it is read");
        assert!(read.iter().all(|it| it.component.identity == "cp"));
        let set = |kind| {
            let of_kind = read.iter().filter(move |it| it.component.kind == kind);
            let gates = of_kind.filter_map(|it| match &it.told {
                Told::Set(settings) => Some(settings.gates.clone()),
                _ => None,
            });
            gates.flatten().collect::<Vec<_>>()
        };
        assert_eq!(set(ComponentKind::KubeApiserver), [("A".to_owned(), true)]);
        assert_eq!(set(ComponentKind::Kubelet), [("B".to_owned(), true)]);
    }

    #[test]
    fn files_of_a_node_are_not_passed_over() {
        let hidden = CONTROL_PLANE.replace("content: ''", "content: 'featureGates: {A: true}'");
        let fault = kubeadm_control_plane(&documents(&hidden)[0]).expect_err("it hides a gate");
        assert!(fault.starts_with("files speaks"), "{fault}");
    }
}
