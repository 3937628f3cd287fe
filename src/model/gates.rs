//! The feature gates that a component really runs with, as it tells them itself.

use std::collections::BTreeMap;

/// Gates of one component by name, from its metric `kubernetes_feature_enabled` (KEP-3466).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateTable {
    /// `kube-apiserver`, `kube-scheduler`, `kubelet`, …
    pub(crate) component: String,
    pub(crate) enabled: BTreeMap<String, bool>,
}
