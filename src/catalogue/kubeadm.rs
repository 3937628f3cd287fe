//! Gates of kubeadm itself, which no component has.
//!
//! kubernetes 1.34.4, 1.35.4, 1.36.3 and 1.37.2, `cmd/kubeadm/app/features/features.go`, `InitFeatureGates`.

use crate::model::version::Minor;

/// Each with the last minor whose kubeadm knows it; the newest one that is known may know it further on. Sorted.
const GATES: &[(&str, Minor)] = &[
    ("ControlPlaneKubeletLocalMode", Minor(35)),
    ("NodeLocalCRISocket", Minor(36)),
    ("PublicKeysECDSA", Minor(36)),
    ("RootlessControlPlane", Minor(37)),
    ("WaitForAllControlPlaneComponents", Minor(34)),
];

/// The last minor whose kubeadm knows the gate; null where it is none of kubeadm's.
pub(crate) fn last_with(gate: &str) -> Option<Minor> {
    let mut gates = GATES.iter();
    gates.find_map(|(name, last)| (*name == gate).then_some(*last))
}
