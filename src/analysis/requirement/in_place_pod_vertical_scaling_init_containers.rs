//! `InPlacePodVerticalScalingInitContainers`: changed resources of an init container that is no sidecar.
//!
//! They are compared by reflection: `1000m` is not `1`, and an empty map is not an absent one. Whether it is a sidecar is the old
//! Pod's to say. Source: component-helpers `nodedeclaredfeatures/features/inplacepodresize/nonsidecar_initcontainers_resize.go`
//! (0.36.3, 0.37.2).

use super::{Because, Feature, Update, never};
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "InPlacePodVerticalScalingInitContainers",
    since: Minor(36),
    until: None,
    max_version: None,
    gates: &["InPlacePodVerticalScalingInitContainers"],
    declared: |kubelet| kubelet.gate("InPlacePodVerticalScalingInitContainers"),
    scheduling: never,
    update,
};

fn update(update: &Update<'_>) -> Vec<Because> {
    let pairs = update
        .old
        .init_containers
        .iter()
        .zip(&update.new.init_containers);
    pairs
        .enumerate()
        .filter(|(_, (old, new))| !old.is_sidecar && !old.resources.is_held_like(&new.resources))
        .map(|(at, _)| Because::new(format!("spec.initContainers[{at}].resources"), "changed"))
        .collect()
}
