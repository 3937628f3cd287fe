//! A `PersistentVolumeClaim`, as far as it tells where a scheduler prepares a binding. Fields: core/v1 (1.37).

use super::pod::PodName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Namespace and name of the claim.
    pub(crate) name: PodName,
    /// Annotation `volume.kubernetes.io/selected-node`: the node that `PreBind` chose; kept after a timeout.
    pub(crate) selected_node: Option<String>,
    /// `Bound`, `Pending` or `Lost`.
    pub(crate) phase: Option<String>,
}
