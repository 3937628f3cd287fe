//! For a watch: until when an answer holds by itself, and whether anything more can become of the Pod.
//!
//! Rules compare times with "now"; each such comparison has its time in [`next`]. A property test looks at every moment
//! in between.

use jiff::{SignedDuration, Timestamp};

use super::explain::EVENTS_ARE_KEPT;
use super::story::Story;
use super::verdict::{never_attempted, waiting_for_victims};
use super::victims::OVERDUE_AFTER;
use crate::answer::nomination_explanation::{Verdict, VerdictKind};

/// The first moment after now at which the answer may be another one though nothing changed in the cluster.
pub(super) fn next(story: &Story<'_>) -> Option<Timestamp> {
    let pod = story.pod;
    let after = |from: Option<Timestamp>, time| from?.checked_add(time).ok();
    let youth = [
        after(pod.created, never_attempted::YOUNG),
        after(pod.created, EVENTS_ARE_KEPT),
        after(
            story.standing().and_then(|standing| standing.from),
            waiting_for_victims::YOUNG,
        ),
    ];
    let decisions = story
        .nominations
        .iter()
        .filter_map(|nomination| nomination.decision.as_ref()?.expires_at);
    // One is overdue when more than that has passed.
    let overdue = OVERDUE_AFTER + SignedDuration::from_nanos(1);
    let victims = story
        .victims
        .iter()
        .filter_map(|victim| after(victim.deletion_timestamp, overdue));
    youth
        .into_iter()
        .flatten()
        .chain(decisions)
        .chain(victims)
        .filter(|at| *at > story.now)
        .min()
}

/// Whether nothing more can become of the Pod's placement: its kubelet has taken it up or refused it, or it has gone.
///
/// A bound Pod that no kubelet has taken up may still be refused.
pub(super) fn is_settled(story: &Story<'_>, verdict: &Verdict) -> bool {
    match verdict.kind {
        VerdictKind::RefusedByKubelet | VerdictKind::Bypassed | VerdictKind::Deleted => true,
        _ => {
            let taken_up = story.binding.is_some() && story.pod.start.is_some();
            taken_up || story.pod.finished() || story.is_gone()
        }
    }
}
