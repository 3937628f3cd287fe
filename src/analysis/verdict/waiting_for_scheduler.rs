//! An outside hint that the scheduler has not acted on.
//!
//! Setting an empty field wakes nobody (observed on 1.35.4, 1.36.3 and 1.37.2).

use super::Story;
use crate::analysis::attempts::Hint;
use crate::analysis::room::{Count, shortages};
use crate::answer::nomination_explanation::{Certainty, NominationKind, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story
        .standing()
        .filter(|standing| standing.kind == NominationKind::External)?;
    let node = standing.node.as_deref()?;
    let by = standing.by.manager.as_deref().unwrap_or("not recorded");
    let unschedulable = story
        .pod
        .scheduled()
        .filter(|condition| condition.status == "False");
    let mut evidence = vec![story.evidence(
        standing.from,
        format!("status.nominatedNodeName is {node}, written by {by:?} (its own claim)"),
    )];
    // An unseen Node may be gone, and the hint with it.
    let node_seen = story.world.node(node).is_some();
    if !node_seen {
        evidence.push(story.evidence(
            None,
            format!("Node {node} was not seen: whether it can take the Pod was not judged"),
        ));
    }
    // A claim that was not seen, or that is prepared, may mean that a binding goes on elsewhere.
    let claims_settled =
        story.claims().count() == story.pod.claims.len() && story.prepared_node().is_none();
    if !claims_settled {
        evidence.push(story.evidence(
            None,
            "its claims were not all seen as settled: a binding may be prepared for another node",
        ));
    }
    for shortage in shortages(story, node, Count::Bound).unwrap_or_default() {
        evidence.push(story.evidence(None, format!("{node}, {}", shortage.words())));
    }
    let attempt = story.attempts.last();
    let is_tried = attempt.is_some_and(|attempt| attempt.hint(standing.from) == Hint::InTime);
    evidence.extend(
        attempt
            .iter()
            .flat_map(|attempt| attempt.evidence().collect::<Vec<_>>()),
    );
    let (cause, what) = if is_tried {
        (
            "outside-hint-tried",
            "the scheduler's log tells of an attempt after that, and no object shows what came of it",
        )
    } else if let Some(condition) = unschedulable {
        evidence.push(story.evidence(
            condition.last_transition,
            format!(
                "PodScheduled=False: {}",
                condition.message.as_deref().unwrap_or_default()
            ),
        ));
        (
            "outside-hint-no-wake",
            "a hint wakes nobody: the scheduler tries it with its next attempt, which something else must cause",
        )
    } else if let Some(group) = &story.pod.group {
        evidence.push(story.evidence(None, format!("spec.schedulingGroup: {group}")));
        ("waiting-for-group", "its group is not complete yet")
    } else {
        ("no-attempt-yet", "no scheduler has reported an attempt")
    };
    Some(Verdict {
        kind: VerdictKind::WaitingForScheduler,
        cause: Some(cause),
        certainty: if story.nominator().is_some() && node_seen && claims_settled && !is_tried {
            Certainty::Proven
        } else {
            Certainty::Inferred
        },
        overdue: false,
        summary: format!("A writer that is not the scheduler nominated it to {node}; {what}."),
        evidence,
        advice: vec![format!(
            "until then the hint reserves room on {node} against Pods of equal or lower priority; see: kubectl get pods -A --field-selector status.nominatedNodeName={}",
            crate::analysis::story::shell(node)
        )],
    })
}
