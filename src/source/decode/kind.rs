//! Decodes kind's `Cluster`: gates of all its components, and the version of its images.
//!
//! kind writes `featureGates` into every component's flags or configuration (kind `pkg/cluster/internal/kubeadm/config.go`). What
//! `kubeadmConfigPatches` change is not read, and is told by nobody.

use super::configuration::{gates, of, version};
use crate::model::component::{ComponentKind, ComponentName, Document, Statement};
use crate::source::component::version_of_image;
use crate::source::located::Node;

pub(super) fn cluster(cluster: &Node) -> Result<Vec<Statement>, String> {
    let set = gates(cluster, "Cluster")?;
    let nodes = cluster.get("nodes").map(Node::items).unwrap_or_default();
    let mut images = nodes.iter().filter_map(|node| node.get("image")?.text());
    let git = images.find_map(version_of_image);
    let statements = ComponentKind::ALL.into_iter().flat_map(|kind| {
        let told = [set.clone()].into_iter().chain(version(git));
        of(&ComponentName::new(kind, ""), Document::Configuration, told).collect::<Vec<_>>()
    });
    Ok(statements.collect())
}
