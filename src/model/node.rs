//! A Node, as far as a nomination to it goes. Fields follow core/v1 Node (1.37).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::quantity::Resources;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) created: Option<Timestamp>,
    pub(crate) labels: BTreeMap<String, String>,
    /// `status.nodeInfo.kubeletVersion`, as the kubelet wrote it when it started.
    pub(crate) kubelet_version: Option<String>,
    /// Where the kubelet listens: its internal address and its port.
    pub(crate) kubelet_endpoint: Option<(String, u16)>,
    pub(crate) unschedulable: bool,
    pub(crate) taints: Vec<Taint>,
    /// Empty where the Node does not report it.
    pub(crate) allocatable: Resources,
    /// Condition Ready: null where the Node does not report it.
    pub(crate) ready: Option<bool>,
    /// When Ready last changed.
    pub(crate) ready_since: Option<Timestamp>,
    /// Newest time of the Node's own changes.
    pub(crate) newest_observation: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taint {
    pub(crate) key: String,
    pub(crate) value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub(crate) effect: String,
}
