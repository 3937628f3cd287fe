//! What makes a Pod, or an update of it, need a declared feature; a feature a file.
//!
//! The rules of who needs what are `requirement`'s; here is the smallest thing that does. Adding one is a file and its line here.

mod in_place_pod_level_resources_vertical_scaling;
mod in_place_pod_vertical_scaling_init_containers;
mod in_place_pod_vertical_scaling_memory_backed_volumes;
pub(crate) mod restart_all_containers_on_container_exits;
mod user_namespaces_host_network_support;
mod volume_bind_mount_options;

use serde_json::Value;

use crate::analysis::requirement;

/// A way to need a feature.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) feature: &'static str,
    /// Where the need stands in a Pod: a server whose gate is off takes it away.
    pointer: &'static str,
    /// Puts it into a specification.
    add: fn(&mut Value),
    /// A patch of the Pod as the server has it, by its resize subresource; null where the Pod itself is in need.
    pub(super) update: Option<fn(&Value) -> Value>,
    /// No restricted namespace takes such a Pod.
    pub(crate) is_privileged: bool,
    /// Its last container never gets to run.
    pub(super) is_for_ever_starting: bool,
}

/// All of them, sorted.
const NEEDS: &[&Need] = &[
    &in_place_pod_level_resources_vertical_scaling::NEED,
    &in_place_pod_vertical_scaling_init_containers::NEED,
    &in_place_pod_vertical_scaling_memory_backed_volumes::NEED,
    &restart_all_containers_on_container_exits::NEED,
    &user_namespaces_host_network_support::NEED,
    &volume_bind_mount_options::NEED,
];

impl Need {
    pub(super) const NONE: Self = Self {
        feature: "",
        pointer: "",
        add: |_| {},
        update: None,
        is_privileged: false,
        is_for_ever_starting: false,
    };

    pub(crate) fn add_to(&self, spec: &mut Value) {
        (self.add)(spec);
    }

    /// Whether the server left it in the Pod.
    pub(super) fn is_in(&self, pod: &Value) -> bool {
        pod.pointer(self.pointer).is_some()
    }
}

/// Why no Pod can be made that needs a feature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoNeed {
    #[error(
        "from 1.36 on no field of a Pod, and no update of one, needs {0}: there is no Pod to try it with"
    )]
    NotOfPods(&'static str),
    #[error("{0:?} is no feature that nodes declare, in any version that is known")]
    Unknown(String),
}

/// The need of a feature.
pub(crate) fn find(feature: &str) -> Result<&'static Need, NoNeed> {
    let known = NEEDS.iter().find(|need| need.feature == feature);
    known
        .copied()
        .ok_or_else(|| match requirement::find(feature) {
            Some(other) => NoNeed::NotOfPods(other.name),
            None => NoNeed::Unknown(feature.to_owned()),
        })
}

/// The features that a need is known of.
pub(crate) fn features() -> impl Iterator<Item = &'static str> {
    NEEDS.iter().map(|need| need.feature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        let files = registry::files("analysis/probe/need", &["mod"]);
        let files: Vec<String> = files.iter().map(|file| plain(file)).collect();
        let lines: Vec<String> = features().map(plain).collect();
        assert_eq!(files, lines, "sorted, one a file");
    }

    #[test]
    fn a_feature_without_a_need_says_why() {
        for feature in features() {
            assert!(requirement::find(feature).is_some(), "{feature}");
            assert!(find(feature).is_ok());
        }
        let of = |feature| find(feature).map(|need| need.feature);
        let none = NoNeed::NotOfPods("ExtendWebSocketsToKubelet");
        assert_eq!(of("ExtendWebSocketsToKubelet"), Err(none));
        assert_eq!(of("x"), Err(NoNeed::Unknown("x".to_owned())));
    }
}
