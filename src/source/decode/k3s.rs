//! Decodes the configuration of k3s and RKE2, `config.yaml` and its drop-ins, and k3d's `Simple`, which gives k3s its flags.
//!
//! Flags of components are lists below `kube-apiserver-arg` and its kin, without their dashes (docs.k3s.io, "Configuration File" and
//! `k3s server`). A file without any of them tells nothing: it may be an agent's.

use super::configuration::{Flags, of, version};
use crate::model::component::{ComponentKind, ComponentName, Document, Statement};
use crate::source::component::version_of_image;
use crate::source::located::Node;

/// Keys of a file that has no kind, by which it is known.
pub(in crate::source) const KEYS: [(ComponentKind, &str); 5] = [
    (ComponentKind::KubeApiserver, "kube-apiserver-arg"),
    (
        ComponentKind::KubeControllerManager,
        "kube-controller-manager-arg",
    ),
    (ComponentKind::KubeProxy, "kube-proxy-arg"),
    (ComponentKind::KubeScheduler, "kube-scheduler-arg"),
    (ComponentKind::Kubelet, "kubelet-arg"),
];

#[expect(clippy::unnecessary_wraps, reason = "decoders are alike")]
pub(super) fn config(config: &Node) -> Result<Vec<Statement>, String> {
    let mut told = Vec::new();
    for (kind, key) in KEYS {
        // `key+` in a drop-in adds to what other files say.
        let added = format!("{key}+");
        for words in [config.get(key), config.get(&added)].into_iter().flatten() {
            let set = Flags::of_words(words, "--").told(kind);
            told.extend(of(&ComponentName::new(kind, ""), Document::Flags, set));
        }
    }
    Ok(told)
}

#[expect(clippy::unnecessary_wraps, reason = "decoders are alike")]
pub(super) fn k3d(simple: &Node) -> Result<Vec<Statement>, String> {
    let image = simple.get("image").and_then(Node::text);
    // `rancher/k3s:v1.37.2-k3s1`
    let git = image.and_then(version_of_image);
    let args = simple.find(&["options", "k3s", "extraArgs"]);
    let mut told = Vec::new();
    for (kind, key) in KEYS {
        let component = ComponentName::new(kind, "");
        let before = format!("--{key}=");
        let flags = args.map(Node::items).unwrap_or_default().iter();
        for mut arg in flags.filter_map(|item| item.get("arg")).cloned() {
            let Some(rest) = arg.text().and_then(|text| text.strip_prefix(&before)) else {
                continue;
            };
            arg.tree = crate::source::located::Tree::Text(rest.to_owned());
            let set = Flags::of_words(&arg, "--").told(kind);
            told.extend(of(&component, Document::Flags, set));
        }
        told.extend(of(&component, Document::Configuration, version(git)));
    }
    Ok(told)
}
