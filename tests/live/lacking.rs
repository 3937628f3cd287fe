//! Where a layout of support data lacks what the verdict at a moment rests on, and the verdict that is due then.
//!
//! What may be lacking is a closed list, and the answer's own coverage has to tell it. The live trials and the plain tests over
//! recorded moments both read it.

/// What a layout may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Only a claim tells for which node a volume was prepared.
    Claims,
    /// Nodes as single objects do not say that there is no other.
    OtherNodes,
}

impl Lack {
    /// How coverage tells it: the beginning of a subject, and its state.
    pub(crate) fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Claims => ("persistentvolumeclaims", "Absent"),
            Self::OtherNodes => ("nodes/", "Absent"),
        }
    }
}

/// Layouts, scenario, moment, verdict, what lacks.
type Row = (
    &'static [&'static str],
    &'static str,
    &'static str,
    [&'static str; 3],
    Lack,
);

pub(crate) const LACKING: &[Row] = &[
    (
        GATHER,
        "5b-node-deleted-wait",
        "node-gone",
        ["WaitingForVictims", "victim-terminating", "Inferred"],
        Lack::OtherNodes,
    ),
    (
        GATHER,
        "hint-to-absent-node",
        "standing",
        ["WaitingForScheduler", "outside-hint-no-wake", "Inferred"],
        Lack::OtherNodes,
    ),
    (
        GATHER,
        "kubelet-killed-while-waiting",
        "node-gone",
        ["WaitingForVictims", "victim-terminating", "Inferred"],
        Lack::OtherNodes,
    ),
    (
        DUMPS,
        "prebind-wait",
        "preparing",
        ["WaitingForBinding", "", "Inferred"],
        Lack::Claims,
    ),
    (
        DUMPS,
        "prebind-wait",
        "overwritten",
        ["WaitingForScheduler", "no-attempt-yet", "Inferred"],
        Lack::Claims,
    ),
    (
        DUMPS,
        "prebind-wait",
        "preparing-after-failure",
        ["Unknown", "claims-not-observed", "Inferred"],
        Lack::Claims,
    ),
    (
        DUMPS,
        "prebind-wait",
        "bound",
        ["Unknown", "node-not-recorded", "Inferred"],
        Lack::Claims,
    ),
];

const GATHER: &[&str] = &["gather"];
const DUMPS: &[&str] = &["dump", "printed"];
