//! Whether a node has room for the Pod: the subtraction that the scheduler does, shown.
//!
//! Counted as the scheduler's `NodeResourcesFit` does (1.37): allocatable less the requests of what is bound there.
//! Pods that were not seen can only make the room smaller, so "no room" holds in any case, and "room" only if all were seen.

use super::index::Index;
use super::story::Story;
use crate::model::pod::Pod;
use crate::model::quantity::{Quantity, Resources};

/// A resource of which the node has too little left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shortage {
    pub(super) resource: String,
    pub(super) needs: Quantity,
    pub(super) free: Quantity,
    allocatable: Quantity,
    used: Quantity,
}

impl Shortage {
    /// The subtraction in words.
    pub(super) fn words(&self) -> String {
        let Self {
            resource,
            needs,
            free,
            allocatable,
            used,
        } = self;
        format!(
            "{resource}: {allocatable} allocatable less {used} requested there leaves {free}, and it needs {needs}"
        )
    }
}

/// What counts as taking room on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// Everything bound there.
    Bound,
    /// What will still be there when all that terminates is gone.
    Staying,
    /// Everything bound there, and the nominations that stand against this Pod.
    BoundAndReserved,
}

/// What the node lacks for the Pod; null if the node's allocatable is not known.
pub(super) fn shortages(story: &Story<'_>, node: &str, count: Count) -> Option<Vec<Shortage>> {
    let allocatable = &story.world.node(node)?.value.allocatable;
    if allocatable.is_empty() {
        return None;
    }
    let mut used = Resources::new();
    let bound = story
        .index
        .on_node(node)
        .iter()
        .filter(|pod| !(count == Count::Staying && pod.deletion.is_some()));
    let reserving = story
        .index
        .nominated_to(node)
        .iter()
        .filter(|pod| count == Count::BoundAndReserved && reserves(pod, story.pod));
    for pod in bound
        .chain(reserving)
        .filter(|pod| !pod.finished() && pod.uid != story.pod.uid)
    {
        for (name, amount) in &pod.requests {
            let known = used.entry(name.clone()).or_default();
            *known = known.plus(*amount);
        }
    }
    let lacking = story.pod.requests.iter().filter_map(|(resource, needs)| {
        let allocatable = allocatable.get(resource).copied().unwrap_or_default();
        let used = used.get(resource).copied().unwrap_or_default();
        let free = allocatable.minus(used);
        (*needs > free).then(|| Shortage {
            resource: resource.clone(),
            needs: *needs,
            free,
            allocatable,
            used,
        })
    });
    Some(lacking.collect())
}

/// Whether a pending Pod's nomination keeps room on its node from another one: equal or higher priority, gated or not.
pub(super) fn reserves(pod: &Pod, against: &Pod) -> bool {
    pod.uid != against.uid && pod.priority.unwrap_or(0) >= against.priority.unwrap_or(0)
}

/// Nodes on which other Pods' nominations reserve room against this one, in order of their names.
pub(super) fn reserved_nodes<'w>(index: &Index<'w>, pod: &Pod) -> impl Iterator<Item = &'w str> {
    index
        .nominated()
        .filter(|(_, others)| others.iter().any(|other| reserves(other, pod)))
        .map(|(node, _)| node)
}
