//! A Pod, as far as its nomination and placement go.
//!
//! It must not hold what is not needed: no environment values, commands or volumes' contents,
//! so that no secret can be printed from here. Fields follow core/v1 Pod (1.37).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use jiff::Timestamp;

use super::component::{ComponentKind, Told};
use super::needs::PodNeeds;
use super::node::{Node, Taint};
use super::node_choice::NodeChoice;
use super::quantity::Resources;

/// UID of an object; the only safe identity of a Pod, since names are used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Uid(pub(crate) Arc<str>);

/// Namespace and name of a Pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl PodName {
    /// Its text, byte by byte: to order many names as they are shown, without making a text of each.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        let (namespace, name) = (self.namespace.bytes(), self.name.bytes());
        namespace.chain([b'/']).chain(name)
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Version of an object. Comparable within one resource (KEP-5504, stable from 1.35).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ResourceVersion(pub(crate) u64);

/// What is each Pod's own. The rest is read as if it stood here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pod {
    pub(crate) name: PodName,
    pub(crate) uid: Uid,
    pub(crate) resource_version: Option<ResourceVersion>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) node: Option<String>,
    /// Owner that controls this Pod, as `Kind/name`.
    pub(crate) controller: Option<Arc<str>>,
    pub(crate) traits: Arc<Traits>,
}

/// What many Pods may have alike, so that it can be held once for all of them (`check/reduced.rs`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) controller_uid: Option<Uid>,
    /// Time at which the grace period ends, not the time of the request.
    pub(crate) deletion: Option<Timestamp>,
    pub(crate) deletion_grace_seconds: Option<i64>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    /// Static and mirror Pods: `kubernetes.io/config.source` or `config.mirror` is set.
    pub(crate) from_kubelet: bool,
    /// Raw text of `nominate.kube-placement.dev/decision`.
    pub(crate) decision: Option<String>,
    /// Null where the source stripped managedFields.
    pub(crate) managed_fields: Option<Vec<FieldOwner>>,
    pub(crate) scheduler_name: String,
    pub(crate) priority: Option<i64>,
    pub(crate) preemption_policy: Option<String>,
    pub(crate) gates: Vec<String>,
    /// What the scheduler counts: containers, init containers and overhead together.
    pub(crate) requests: Resources,
    pub(crate) tolerations: Vec<Toleration>,
    /// Which nodes its own words allow; null where they allow any.
    pub(crate) choice: Option<Box<NodeChoice>>,
    /// Names of its `PersistentVolumeClaim`s, in its own namespace.
    pub(crate) claims: Vec<String>,
    /// Name of the PodGroup (`spec.schedulingGroup`, 1.37 with GenericWorkload).
    pub(crate) group: Option<String>,
    /// What of its specification may need a feature of a node; null where nobody showed the specification.
    pub(crate) needs: Option<Box<PodNeeds>>,
    /// Where it runs a component of the cluster itself.
    pub(crate) component: Option<Box<ComponentPod>>,
    pub(crate) phase: Option<String>,
    /// `status.reason`, e.g. `OutOfcpu` after a refusal by the kubelet.
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) start: Option<Timestamp>,
    pub(crate) nominated_node: Option<String>,
    pub(crate) conditions: Vec<Condition>,
}

impl Deref for Pod {
    type Target = Traits;

    fn deref(&self) -> &Traits {
        &self.traits
    }
}

impl DerefMut for Pod {
    /// Those of this Pod alone, whoever shared them before.
    fn deref_mut(&mut self) -> &mut Traits {
        Arc::make_mut(&mut self.traits)
    }
}

/// What a Pod tells of the component that it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentPod {
    pub(crate) kind: ComponentKind,
    /// `IP:PORT` that an API server tells others of itself.
    pub(crate) address: Option<String>,
    /// The port that it serves by TLS, where a flag sets it; 0 is none.
    pub(crate) port: Option<u16>,
    /// From its command line and the tag of its image.
    pub(crate) told: Vec<Told>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toleration {
    /// Null tolerates every key.
    pub(crate) key: Option<String>,
    pub(crate) exists: bool,
    pub(crate) value: String,
    /// Null tolerates every effect.
    pub(crate) effect: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: String,
    /// `True`, `False` or `Unknown`.
    pub(crate) status: String,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) last_transition: Option<Timestamp>,
}

/// One managedFields entry, reduced to the paths that tell a placement's story.
///
/// The binding subresource bypasses managedFields: nobody owns `spec.nodeName` after a real binding,
/// and an owner of `nominatedNodeName` stays behind (observed on 1.35.4, 1.36.3, 1.37.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldOwner {
    pub(crate) manager: String,
    pub(crate) subresource: Option<String>,
    /// The entry's last change, of any of its fields; one second fine.
    pub(crate) time: Option<Timestamp>,
    pub(crate) owns: BTreeSet<OwnedField>,
}

/// A field whose owner tells something of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnedField {
    /// `status.nominatedNodeName`.
    NominatedNode,
    /// The message of the condition `PodScheduled`.
    ScheduledMessage,
    /// `spec.nodeName`.
    NodeName,
    /// The annotation of a recommender's decision.
    Decision,
}

impl FieldOwner {
    pub(crate) fn owns(&self, field: OwnedField) -> bool {
        self.owns.contains(&field)
    }
}

impl Pod {
    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }

    /// The condition that a scheduler (or, for gates, the API server) writes.
    pub(crate) fn scheduled(&self) -> Option<&Condition> {
        self.condition("PodScheduled")
    }

    /// Whether its own words leave a node open to it.
    pub(crate) fn may_choose(&self, node: &Node) -> bool {
        let choice = self.choice.as_ref();
        choice.is_none_or(|choice| choice.allows(node))
    }

    /// Whether a taint leaves the Pod alone. Operators `Gt` and `Lt` (alpha) are taken as not tolerating.
    pub(crate) fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| {
            toleration
                .effect
                .as_ref()
                .is_none_or(|effect| *effect == taint.effect)
                && match &toleration.key {
                    None => toleration.exists,
                    Some(key) => {
                        *key == taint.key && (toleration.exists || toleration.value == taint.value)
                    }
                }
        })
    }

    /// Newest time at which this object was certainly observed to change.
    ///
    /// Never deletionTimestamp: it lies in the future while a Pod terminates.
    pub(crate) fn newest_observation(&self) -> Option<Timestamp> {
        let fields = self
            .managed_fields
            .iter()
            .flatten()
            .filter_map(|owner| owner.time);
        let conditions = self
            .conditions
            .iter()
            .filter_map(|condition| condition.last_transition);
        fields
            .chain(conditions)
            .chain(self.created)
            .chain(self.start)
            .max()
    }

    /// Whether its UID is not known; the decoder puts its name there.
    pub(crate) fn is_unidentified(&self) -> bool {
        let PodName { namespace, name } = &self.name;
        *self.uid.0 == *format!("{namespace}/{name}")
    }

    /// Whether the kubelet or somebody else ended it for good.
    pub(crate) fn finished(&self) -> bool {
        matches!(self.phase.as_deref(), Some("Succeeded" | "Failed"))
    }
}
