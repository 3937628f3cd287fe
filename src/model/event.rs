//! An Event, the same whether read from core/v1 or events.k8s.io/v1.
//!
//! Both APIs show one stored object; times and writers have other names in each (KEP-383).

use jiff::Timestamp;

use super::pod::{PodName, ResourceVersion, Uid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// UID of the Event object; both APIs show the same one.
    pub(crate) uid: Option<Uid>,
    pub(crate) name: String,
    pub(crate) regarding: Option<Regarding>,
    /// The second object: a group that preempted, a preemptor up to 1.35.
    pub(crate) related: Option<Related>,
    pub(crate) reason: String,
    pub(crate) note: String,
    pub(crate) warning: bool,
    /// `reportingController`, else `source.component`.
    pub(crate) reporter: String,
    /// Manager that wrote the Event, where managedFields were kept.
    pub(crate) manager: Option<String>,
    /// First occurrence.
    pub(crate) first: Option<Timestamp>,
    /// Last occurrence: series, lastTimestamp, eventTime, firstTimestamp, creationTimestamp, in this order.
    pub(crate) last: Option<Timestamp>,
    pub(crate) count: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Regarding {
    pub(crate) kind: String,
    pub(crate) name: PodName,
    pub(crate) uid: Option<Uid>,
    /// Version that the writer knew; for `Scheduled` the one popped from the queue.
    pub(crate) resource_version: Option<ResourceVersion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Related {
    pub(crate) kind: String,
    pub(crate) name: PodName,
}

impl Event {
    pub(crate) fn is_about(&self, uid: &Uid) -> bool {
        self.regarding
            .as_ref()
            .is_some_and(|regarding| regarding.uid.as_ref() == Some(uid))
    }
}
