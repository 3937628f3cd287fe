//! The field stands, and whether anything still terminates for it could not be seen.

use super::Story;
use crate::analysis::victims::GONE;
use crate::answer::nomination_explanation::{Certainty, NominationKind, Verdict, VerdictKind};
use crate::model::coverage::State;
use crate::model::want::Want;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    let evidence =
        vec![story.evidence(standing.from, format!("status.nominatedNodeName is {node}"))];
    let list = Want::PodsOnNode(node.to_owned());
    let stripped = standing.kind == NominationKind::Unknown && story.pod.managed_fields.is_none();
    let (cause, summary, advice) = if !story.world.is_complete(&list)
        && !all_victims_known_gone(story)
    {
        let state = story.world.state_of(&list).unwrap_or(State::Absent);
        (
            "pods-not-observed",
            format!(
                "It is nominated to {node}; whether a victim still terminates there cannot be said, since the Pods of {node} were not all seen ({state:?})."
            ),
            format!(
                "list them with: kubectl get pods -A --field-selector spec.nodeName={}",
                crate::analysis::story::shell(node)
            ),
        )
    } else if stripped {
        (
            "managed-fields-stripped",
            format!(
                "It is nominated to {node}; by whom cannot be seen, since managedFields are missing."
            ),
            format!(
                "read it again with: kubectl get pod {} -o yaml --show-managed-fields",
                story.pod_argument()
            ),
        )
    } else {
        return None;
    };
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some(cause),
        certainty: Certainty::Inferred,
        overdue: false,
        summary,
        evidence,
        advice: vec![advice],
    })
}

/// Every victim that an event names is gone: then the rest of the node's Pods does not matter.
fn all_victims_known_gone(story: &Story<'_>) -> bool {
    let linked = story.preemptions().len();
    linked > 0
        && story.world.is_complete(&Want::PreemptedEvents)
        && story.victims.iter().all(|victim| victim.cause == GONE)
}
