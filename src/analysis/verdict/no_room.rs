//! The field stands by the scheduler's preemption, nothing terminates for it any more, and still it is not bound.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    Some(Verdict {
        kind: VerdictKind::Stale,
        cause: Some("no-room"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("It is nominated to {node}, where nothing terminates for it any more, and it is still not bound: the room did not come, or went to another Pod."),
        evidence: vec![
            story.evidence(standing.from, format!("status.nominatedNodeName is {node}")),
            story.evidence(None, format!("no Pod on {node} is terminating")),
        ],
        advice: vec![
            "the scheduler clears the field with its next failed attempt (unless preemptionPolicy is Never); it still reserves room against Pods of equal or lower priority".to_owned(),
            format!("see what runs there: kubectl get pods -A --field-selector spec.nodeName={}", crate::analysis::story::shell(node)),
        ],
    })
}
