//! What an analysis still wants to read, as a value.
//!
//! `wants` is pure and `gather` obeys it; `collect` and printed rights use the same words.

use super::access::Right;
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

    /// What the read needs: the first right, or the next one where that is refused. Requests are made from it.
    pub(crate) fn rights(&self) -> Vec<Right> {
        let events = |namespace: Option<&str>| {
            ["", "events.k8s.io"]
                .map(|group| Right::list(group, "events", namespace))
                .to_vec()
        };
        match self {
            Self::Pod(pod) => vec![Right::get("", "pods", Some(&pod.namespace), &pod.name)],
            Self::EventsAbout { namespace, .. } => events(Some(namespace)),
            Self::Node(name) => vec![Right::get("", "nodes", None, name)],
            Self::PodsOnNode(_) | Self::NominatedPods => vec![Right::list("", "pods", None)],
            Self::Claim(claim) => vec![Right::get(
                "",
                "persistentvolumeclaims",
                Some(&claim.namespace),
                &claim.name,
            )],
            Self::ServerVersion => vec![Right::get("", "/version", None, "")],
            Self::PreemptedEvents => events(None),
        }
    }

    /// Why it is read.
    pub(crate) fn why(&self) -> &'static str {
        match self {
            Self::Pod(_) => "the Pod itself; without it there is no answer",
            Self::EventsAbout { .. } => "what schedulers and autoscalers said of the Pod",
            Self::Node(_) => "whether the nominated node can take the Pod",
            Self::PodsOnNode(_) => {
                "who still terminates on the nominated node, and what room is left"
            }
            Self::NominatedPods => "whose nominations reserve room against the Pod",
            Self::Claim(_) => "for which node a volume of the Pod was prepared",
            Self::ServerVersion => "how a scheduler of this version leaves a binding that failed",
            Self::PreemptedEvents => "which Pods of any namespace had to go for the Pod",
        }
    }
}
