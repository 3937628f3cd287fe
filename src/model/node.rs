//! A Node, as far as a nomination to it goes. Fields follow core/v1 Node (1.37).

use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) created: Option<Timestamp>,
    pub(crate) unschedulable: bool,
    /// Condition Ready: null where the Node does not report it.
    pub(crate) ready: Option<bool>,
    /// When Ready last changed.
    pub(crate) ready_since: Option<Timestamp>,
    /// Newest time of the Node's own changes.
    pub(crate) newest_observation: Option<Timestamp>,
}
