//! Who was preempted for this Pod, and whether they are gone.
//!
//! deletionTimestamp already contains the grace period: it is the time at which a victim is due.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::story::Story;
use crate::answer::nomination_explanation::Victim;
use crate::model::pod::{Pod, Uid};
use crate::model::want::Want;

/// How long after its due time a victim counts as overdue.
pub(super) const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// Causes of a victim, beside those of a verdict.
pub(super) const TERMINATING: &str = "victim-terminating";
pub(super) const OVERDUE: &str = "victim-overdue";
pub(super) const NOT_A_VICTIM: &str = "not-a-victim";
/// Its controller made another one on the same node.
const REPLACED: &str = "victim-replaced";
pub(super) const GONE: &str = "victim-gone";
const NOT_OBSERVED: &str = "victim-not-observed";
/// Its event says preempted; the object shows no deletion (yet).
const STILL_THERE: &str = "victim-not-deleted";
/// It was being bound: the scheduler dropped its reservation in memory, and deleted nothing.
const UNRESERVED: &str = "victim-unreserved";

pub(super) fn find(story: &Story<'_>) -> Vec<Victim> {
    let mut victims = Vec::new();
    let mut known: BTreeSet<Uid> = BTreeSet::new();
    // Those that an event ties to this Pod by UID.
    for (event, note) in story.preemptions() {
        let Some(regarding) = &event.value.regarding else {
            continue;
        };
        let Some(uid) = &regarding.uid else { continue };
        if !known.insert(uid.clone()) {
            continue;
        }
        if let Some(pod) = story.world.pod(uid) {
            let cause = match (pod.value.finished(), pod.value.deletion) {
                // Its containers have ended, so it takes no room; a finalizer may still hold the object.
                (true, _) => GONE,
                (false, Some(_)) => TERMINATING,
                (false, None) if note.in_memory => UNRESERVED,
                (false, None) => STILL_THERE,
            };
            victims.push(of_pod(story, &pod.value, cause));
            continue;
        }
        let list = note.node.clone().map(Want::PodsOnNode);
        let asked = Want::Victim(regarding.name.clone());
        let gone = list.is_some_and(|list| story.world.is_complete(&list))
            || story.world.is_complete(&asked)
            || story.index.is_named(&regarding.name);
        let since = event.value.first;
        let replaced = since.is_some_and(|since| story.index.came_after(&regarding.name, since));
        victims.push(Victim {
            namespace: regarding.name.namespace.clone(),
            name: regarding.name.name.clone(),
            uid: Some(uid.0.to_string()),
            node: note.node.clone(),
            priority: None,
            deletion_timestamp: None,
            grace_period_seconds: None,
            overdue: false,
            cause: match (gone, replaced) {
                (_, true) => REPLACED,
                (true, false) => GONE,
                (false, false) => NOT_OBSERVED,
            },
        });
    }
    // While a nomination stands: everything that terminates on its node may be what it waits for.
    if let Some(node) = story
        .standing()
        .and_then(|standing| standing.node.as_deref())
    {
        let on_node = story.index.on_node(node).iter();
        for pod in on_node
            .filter(|pod| pod.deletion.is_some() && !pod.finished() && pod.uid != story.pod.uid)
        {
            if known.insert(pod.uid.clone()) {
                victims.push(of_pod(
                    story,
                    pod,
                    if is_preempted(pod) {
                        TERMINATING
                    } else {
                        NOT_A_VICTIM
                    },
                ));
            }
        }
    }
    victims.sort_by(|a, b| (&a.namespace, &a.name, &a.uid).cmp(&(&b.namespace, &b.name, &b.uid)));
    victims
}

/// The condition that a scheduler sets on a victim before it deletes it (KEP-3329).
pub(super) fn is_preempted(pod: &Pod) -> bool {
    pod.condition("DisruptionTarget").is_some_and(|condition| {
        condition.status == "True" && condition.reason.as_deref() == Some("PreemptionByScheduler")
    })
}

fn of_pod(story: &Story<'_>, pod: &Pod, cause: &'static str) -> Victim {
    let late = pod
        .deletion
        .is_some_and(|due| story.now.duration_since(due) > OVERDUE_AFTER);
    let overdue = late && !pod.finished();
    Victim {
        namespace: pod.name.namespace.clone(),
        name: pod.name.name.clone(),
        uid: Some(pod.uid.0.to_string()),
        node: pod.node.clone(),
        priority: pod.priority,
        deletion_timestamp: pod.deletion,
        grace_period_seconds: pod.deletion_grace_seconds,
        overdue,
        cause: if overdue && cause == TERMINATING {
            OVERDUE
        } else {
            cause
        },
    }
}
