//! `InPlacePodLevelResourcesVerticalScaling`: changed resources of the Pod as a whole (KEP-5419).
//!
//! 1.35 compares them by reflection, so that `1000m` is not `1`; from 1.36 on by worth. Resources that are an empty object are not
//! those that are absent, in all minors. Source: component-helpers
//! `nodedeclaredfeatures/features/inplacepodresize/pod_level_resource_resize.go` (0.35.4, 0.36.3, 0.37.2).

use super::{Because, Feature, Update, never};
use crate::model::needs::Requirements;
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "InPlacePodLevelResourcesVerticalScaling",
    since: Minor(35),
    until: None,
    max_version: None,
    gates: &["InPlacePodLevelResourcesVerticalScaling"],
    declared: |kubelet| kubelet.gate("InPlacePodLevelResourcesVerticalScaling"),
    scheduling: never,
    update,
};

fn update(update: &Update<'_>) -> Vec<Because> {
    let is_alike: fn(&Requirements, &Requirements) -> bool = if update.minor <= Minor(35) {
        Requirements::is_held_like
    } else {
        Requirements::is_worth
    };
    let what = match (&update.old.resources, &update.new.resources) {
        (Some(old), Some(new)) if !is_alike(old, new) => "changed",
        (None, Some(_)) => "added",
        (Some(_), None) => "removed",
        _ => return Vec::new(),
    };
    vec![Because::new("spec.resources", what)]
}
