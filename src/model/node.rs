//! A Node, as far as a nomination to it and its declared features go, and the Lease that its kubelet renews.
//! Fields follow core/v1 Node and coordination.k8s.io/v1 Lease (1.37).

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
    /// `status.nodeInfo.containerRuntimeVersion`, e.g. `containerd://2.1.0`.
    pub(crate) container_runtime: Option<String>,
    /// Where the kubelet listens: its internal address and its port.
    pub(crate) kubelet_endpoint: Option<(String, u16)>,
    pub(crate) unschedulable: bool,
    pub(crate) taints: Vec<Taint>,
    /// Empty where the Node does not report it.
    pub(crate) allocatable: Resources,
    /// Condition Ready: null where the Node does not report it.
    pub(crate) ready: Option<Ready>,
    /// When Ready last changed.
    pub(crate) ready_since: Option<Timestamp>,
    /// When the kubelet last wrote Ready: a controller that finds the kubelet silent leaves this time as it is.
    pub(crate) heartbeat: Option<Timestamp>,
    pub(crate) declared: Declared,
    /// Newest time of the Node's own changes.
    pub(crate) newest_observation: Option<Timestamp>,
}

impl Node {
    /// Whether it is known not to be ready: its kubelet says so, or says nothing any more.
    pub(crate) fn is_unready(&self) -> bool {
        matches!(self.ready, Some(Ready::False | Ready::Unknown))
    }
}

/// Status of the condition Ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ready {
    True,
    False,
    /// The kubelet was not heard of (set by the node lifecycle controller), or the word is none of the API's.
    Unknown,
}

/// `status.declaredFeatures` (KEP-5328), as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    /// Order and duplicates are kept. Null where the Node has no such field: kubelets never write an empty list (observed on
    /// 1.35.4, 1.36.3, 1.37.2).
    pub(crate) features: Option<Vec<String>>,
    /// Whom managedFields call an owner of the list; null where they were stripped. Nobody owns a list that came with the
    /// creation of the Node, and a kubelet takes over what it did not write: an owner is a claim, and its time dates no list.
    pub(crate) owners: Option<Vec<ListOwner>>,
}

/// One managedFields entry that owns the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListOwner {
    pub(crate) manager: String,
    pub(crate) subresource: Option<String>,
    /// The entry's last change, of any of its fields.
    pub(crate) time: Option<Timestamp>,
    /// It owns the heartbeat of the condition Ready, too, which nobody but the node's kubelet writes, whatever its manager is called.
    pub(crate) is_of_kubelet: bool,
}

/// The Lease in `kube-node-lease` that a kubelet renews while it lives: a sign of life, and no more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeLease {
    /// Name of the Lease, which is the node's.
    pub(crate) node: String,
    pub(crate) renewed: Option<Timestamp>,
    /// Seconds that it holds after it was renewed.
    pub(crate) seconds: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taint {
    pub(crate) key: String,
    pub(crate) value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub(crate) effect: String,
}
