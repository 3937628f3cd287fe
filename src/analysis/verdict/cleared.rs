//! A nomination was taken back, and the Pod is still pending.

use super::Story;
use crate::analysis::story::event_evidence;
use crate::analysis::victims::GONE;
use crate::answer::nomination_explanation::{Ended, NominationKind, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let last = story
        .last_nomination()
        .filter(|last| last.ended == Some(Ended::Cleared))?;
    let node = last
        .node
        .as_deref()
        .unwrap_or("a node that is not recorded");
    let mut evidence = story.witnessed().to_vec();
    for (event, _) in story.preemptions() {
        evidence.push(event_evidence(event, "event on a victim"));
    }
    if let Some(decision) = &last.decision {
        evidence.push(story.evidence(
            decision.written_at,
            format!("the decision annotation {:?} names {node}", decision.id),
        ));
    }
    evidence.push(story.evidence(None, "status.nominatedNodeName is empty"));
    let leaving = story
        .victims
        .iter()
        .any(|victim| victim.deletion_timestamp.is_some() && victim.cause != GONE);
    let victims = match (last.kind, leaving) {
        (NominationKind::Preemption, true) => " Its victims still terminate, for nothing so far.",
        (NominationKind::Preemption, false) => " Its victims left for nothing so far.",
        _ => "",
    };
    if let Some(known) = last.node.as_deref().and_then(|node| story.world.node(node)) {
        if known.value.unschedulable {
            evidence.push(story.evidence(None, format!("Node {node} is cordoned")));
        } else if known.value.is_unready() {
            evidence
                .push(story.evidence(known.value.ready_since, format!("Node {node} is not ready")));
        }
    }
    // Who empties his own hint withdraws it; nobody overwrote it.
    let by_itself = last.by.user.is_some() && last.by.user == last.ended_by;
    let cause = if story.preempts_in_a_loop() {
        evidence.push(story.evidence(
            None,
            format!(
                "it preempted {} Pods, at different times",
                story.preemptions().len()
            ),
        ));
        Some("preemption-loop")
    } else if last.kind == NominationKind::Expectation && story.prebind_failed() {
        Some("volume-binding")
    } else {
        (last.kind == NominationKind::External && !by_itself).then_some("outside-hint-overwritten")
    };
    Some(Verdict {
        kind: VerdictKind::Cleared,
        cause,
        certainty: story.certainty(),
        overdue: false,
        summary: format!(
            "It was nominated to {node}, the nomination was taken back, and it is still pending.{victims}"
        ),
        evidence,
        advice: vec![format!(
            "see why the last attempt failed: kubectl describe pod {}",
            story.pod_argument()
        )],
    })
}
