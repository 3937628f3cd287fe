//! Decodes kind's `Cluster`: gates of all its components, and the version of its images.
//!
//! kind writes `featureGates` into every component's flags or configuration (kind `pkg/cluster/internal/kubeadm/config.go`).
//! `kubeadmConfigPatches` are not read: one that speaks of gates is a fault.

use super::configuration::{gates, of, silent, version};
use crate::model::component::{ComponentKind, ComponentName, Document, Statement};
use crate::source::component::version_of_image;
use crate::source::located::Node;

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
    Ok(statements.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::located::documents;

    #[test]
    fn every_component_has_the_gates_and_patches_are_not_passed_over() {
        let text = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nfeatureGates: {A: true}\nnodes:\n- role: worker\n  image: kindest/node:v1.37.2\n  kubeadmConfigPatches:\n  - |\n    kind: JoinConfiguration\n";
        let read = cluster(&documents(text)[0]).expect("it is read");
        assert_eq!(read.len(), 2 * ComponentKind::ALL.len());
        let hidden = format!(
            "{text}    nodeRegistration: {{kubeletExtraArgs: {{feature-gates: A=false}}}}\n"
        );
        let fault = cluster(&documents(&hidden)[0]).expect_err("it hides a gate");
        assert!(fault.starts_with("kubeadmConfigPatches speaks"), "{fault}");
    }
}
