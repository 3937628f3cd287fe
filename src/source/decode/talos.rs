//! Decodes Talos' configuration of a machine, and patches of it: flags of components and a kubelet's `extraConfig`.
//!
//! It has no kind; it is known by its keys `machine` and `cluster` (docs.siderolabs.com, `v1alpha1.Config` 1.11). Nothing else of it is
//! kept: it holds the keys of the cluster.

use super::configuration::{Flags, gates, of, version};
use crate::model::component::{ComponentKind, ComponentName, Document, Statement, Told};
use crate::source::component::version_of_image;
use crate::source::located::Node;

const PARTS: [(ComponentKind, &[&str]); 5] = [
    (ComponentKind::KubeApiserver, &["cluster", "apiServer"]),
    (
        ComponentKind::KubeControllerManager,
        &["cluster", "controllerManager"],
    ),
    (ComponentKind::KubeProxy, &["cluster", "proxy"]),
    (ComponentKind::KubeScheduler, &["cluster", "scheduler"]),
    (ComponentKind::Kubelet, &["machine", "kubelet"]),
];

pub(super) fn machine(config: &Node) -> Result<Vec<Statement>, String> {
    let mut told = Vec::new();
    for (kind, keys) in PARTS {
        let Some(part) = config.find(keys) else {
            continue;
        };
        let component = ComponentName::new(kind, "");
        let image = part.get("image").and_then(Node::text);
        let git = version(image.and_then(version_of_image));
        // Of a worker's machine the parts of the control plane tell nothing.
        if let Some(arguments) = part.get("extraArgs") {
            let set = Flags::of_arguments(arguments).told(kind);
            told.extend(of(&component, Document::Flags, set));
        }
        if let Some(extra) = part.get("extraConfig") {
            let set: Told = gates(extra, "KubeletConfiguration")?;
            told.extend(of(&component, Document::Configuration, [set]));
        }
        told.extend(of(&component, Document::Configuration, git));
    }
    Ok(told)
}
