//! Decodes kind's `Cluster`: gates of all its components, what its API servers are told to serve, and the version of its images.
//!
//! kind writes `featureGates` into every component's flags or configuration, and `runtimeConfig` into the API server's flags (kind
//! `pkg/cluster/internal/kubeadm/config.go`). `kubeadmConfigPatches` are not read: one that speaks of gates is a fault.

use super::configuration::{gates, of, silent, version};
use crate::model::component::{
    ComponentKind, ComponentName, Document, RuntimeConfig, Statement, Told,
};
use crate::source::component::version_of_image;
use crate::source::located::{Node, Tree};

pub(super) fn cluster(cluster: &Node) -> Result<Vec<Statement>, String> {
    let set = gates(cluster, "Cluster")?;
    let nodes = cluster.get("nodes").map(Node::items).unwrap_or_default();
    for part in [cluster].into_iter().chain(nodes) {
        for key in ["kubeadmConfigPatches", "kubeadmConfigPatchesJSON6902"] {
            silent(part.get(key), key)?;
        }
    }
    let mut images = nodes.iter().filter_map(|node| node.get("image")?.text());
    let git = images.find_map(version_of_image);
    let statements = ComponentKind::ALL.into_iter().flat_map(|kind| {
        let told = [set.clone()].into_iter().chain(version(git));
        of(&ComponentName::new(kind, ""), Document::Configuration, told).collect::<Vec<_>>()
    });
    let mut statements: Vec<Statement> = statements.collect();
    let server = ComponentName::new(ComponentKind::KubeApiserver, "");
    let entries = cluster
        .get("runtimeConfig")
        .map(Node::entries)
        .unwrap_or_default();
    for statement in statements.iter_mut().filter(|it| it.component == server) {
        if let Told::Set(settings) = &mut statement.told {
            let places = entries
                .iter()
                .filter_map(|it| Some((it.key.clone(), it.at?)));
            let places = places.map(|(key, at)| (key, (at.line, at.column)));
            settings.places.at.extend(places);
        }
    }
    let entries = entries.iter().map(|it| {
        let value = match &it.value.tree {
            Tree::Bool(on) => on.to_string(),
            _ => it.value.text().unwrap_or_default().to_owned(),
        };
        (it.key.clone(), value)
    });
    let config = Told::RuntimeConfig(RuntimeConfig(entries.collect()));
    statements.extend(of(&server, Document::Configuration, [config]));
    Ok(statements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::located::documents;

    #[test]
    fn every_component_has_the_gates_and_patches_are_not_passed_over() {
        let text = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nfeatureGates: {A: true}\nnodes:\n- role: worker\n  image: kindest/node:v1.37.2\n  kubeadmConfigPatches:\n  - |\n    kind: JoinConfiguration\n";
        let read = cluster(&documents(text)[0]).expect("it is read");
        assert_eq!(read.len(), 2 * ComponentKind::ALL.len() + 1);
        let hidden = format!(
            "{text}    nodeRegistration: {{kubeletExtraArgs: {{feature-gates: A=false}}}}\n"
        );
        let fault = cluster(&documents(&hidden)[0]).expect_err("it hides a gate");
        assert!(fault.starts_with("kubeadmConfigPatches speaks"), "{fault}");
    }
}
