//! `DRAOptionalNodeOperations`: no Pod requires it by itself. The scheduler's plugin `DynamicResources` looks for it where a claim
//! asks for it, which no Pod tells.
//! Source: component-helpers `nodedeclaredfeatures/features/draoptionalnodeoperations/feature.go` (0.37.2).

use super::{Feature, never, never_updated};
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "DRAOptionalNodeOperations",
    since: Minor(37),
    until: None,
    max_version: None,
    gates: &["DRAOptionalNodeOperations"],
    declared: |kubelet| kubelet.gate("DRAOptionalNodeOperations"),
    scheduling: never,
    update: never_updated,
};
