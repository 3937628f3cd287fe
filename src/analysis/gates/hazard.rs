//! Gates of which a difference is known to do harm, and to whom.
//!
//! Each entry has its public report as its source. What is not here is not known to be harmless.

use crate::model::version::Minor;

/// A gate that harms some kubelets while it differs from the API server's, or is switched there.
#[derive(Debug)]
pub(super) struct Hazard {
    pub(super) gate: &'static str,
    /// Kubelets of older minors are harmed.
    pub(super) before: Minor,
    pub(super) harm: &'static str,
}

/// All of them, sorted by gate.
const HAZARDS: &[Hazard] = &[
    // kubernetes/kubernetes#126328, #122028, #119187; the kubelet of 1.31 has the fix (PR #124220).
    Hazard {
        gate: "InPlacePodVerticalScaling",
        before: Minor(31),
        harm: "the API server writes resizePolicy into every container while the gate is on, and a kubelet before 1.31 takes that for a changed container: it restarts all of them at once, when the gate is turned on and when it is turned off again",
    },
];

pub(super) fn of(gate: &str) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| hazard.gate == gate)
}
