//! What an analysis still wants to read, as a value.
//!
//! `wants` is pure and `gather` obeys it; `collect` and printed rights use the same words.

use super::pod::{PodName, Uid};

/// One read. Ordered, so that a round of reads is always the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Pod(PodName),
    /// Events about one incarnation of a Pod.
    EventsAbout {
        namespace: String,
        uid: Uid,
    },
    Node(String),
    /// Every Pod bound to a node; its victims are among them.
    PodsOnNode(String),
    /// Every pending Pod that is nominated anywhere: each reserves room.
    NominatedPods,
    /// A claim of the Pod's own namespace.
    Claim(PodName),
    ServerVersion,
    /// `Preempted` events of all namespaces: their notes name the preemptor's UID.
    PreemptedEvents,
}

impl Want {
    /// Short name for coverage, in kubectl's words.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Pod(pod) => format!("pods/{} -n {}", pod.name, pod.namespace),
            Self::EventsAbout { namespace, uid } => {
                format!("events about uid {} -n {namespace}", uid.0)
            }
            Self::Node(name) => format!("nodes/{name}"),
            Self::PodsOnNode(name) => format!("pods on node {name}"),
            Self::NominatedPods => "nominated pods".to_owned(),
            Self::Claim(claim) => format!(
                "persistentvolumeclaims/{} -n {}",
                claim.name, claim.namespace
            ),
            Self::ServerVersion => "version".to_owned(),
            Self::PreemptedEvents => "events with reason Preempted".to_owned(),
        }
    }
}
