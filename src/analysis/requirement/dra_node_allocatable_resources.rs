//! `DRANodeAllocatableResources` (KEP-5517): no Pod requires it. The API server asks for it where a `ResourceSlice` has devices with
//! node allocatable resources (1.37.2, `plugin/pkg/admission/nodedeclaredfeatures/admission.go`), which is no rule of a Pod.
//! Source: component-helpers `nodedeclaredfeatures/features/dranodeallocatableresources/feature.go` (0.37.2).

use super::{Feature, never, never_updated};
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "DRANodeAllocatableResources",
    since: Minor(37),
    until: None,
    max_version: None,
    gates: &["DRANodeAllocatableResources"],
    declared: |kubelet| kubelet.gate("DRANodeAllocatableResources"),
    scheduling: never,
    update: never_updated,
};
