//! `ExtendWebSocketsToKubelet`: no Pod requires it. The API server reads it to pass exec, attach and port-forward on (1.36.3,
//! `pkg/registry/core/pod/rest/subresources.go`).
//! Source: component-helpers `nodedeclaredfeatures/features/extendwebsocketstokubelet/feature.go` (0.36.3, 0.37.2).

use super::{Feature, never, never_updated};
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "ExtendWebSocketsToKubelet",
    since: Minor(36),
    until: None,
    max_version: None,
    gates: &["ExtendWebSocketsToKubelet"],
    declared: |kubelet| kubelet.gate("ExtendWebSocketsToKubelet"),
    scheduling: never,
    update: never_updated,
};
