//! The field stands, nothing terminates for it any more, and still it is not bound.

use super::Story;
use crate::analysis::room::{Count, shortages};
use crate::analysis::story::shell;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    let fits = shortages(story, node, Count::Bound).is_some_and(|lacking| lacking.is_empty());
    let (cause, what) = if fits {
        (
            "not-retried",
            "its requests fit there, and the scheduler has not come back to it",
        )
    } else {
        ("no-room", "the room did not come, or went to another Pod")
    };
    Some(Verdict {
        kind: VerdictKind::Stale,
        cause: Some(cause),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("It is nominated to {node}, where nothing terminates for it any more, and it is still not bound: {what}."),
        evidence: vec![
            story.evidence(standing.from, format!("status.nominatedNodeName is {node}")),
            story.evidence(None, format!("no Pod on {node} is terminating")),
        ],
        advice: vec![
            "the scheduler looks again when something wakes the Pod, at the latest after some minutes; any change of the Pod's labels does not, a change of a node or a deleted Pod does".to_owned(),
            format!("see what runs there: kubectl get pods -A --field-selector spec.nodeName={}", shell(node)),
        ],
    })
}
