//! The last nomination was a recommender's recorded decision, and its writer took it back.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Ended, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let last = story
        .last_nomination()
        .filter(|last| last.ended == Some(Ended::Withdrawn))?;
    let decision = last.decision.as_ref()?;
    let at = decision.withdrawn_at?;
    Some(Verdict {
        kind: VerdictKind::Withdrawn,
        cause: None,
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("{:?} nominated it to {} and took that back; it is still pending.", decision.recommender, decision.node),
        evidence: vec![
            story.evidence(Some(at), format!("the decision annotation {:?} says that it was withdrawn (the writer's own claim)", decision.id)),
            story.evidence(None, "status.nominatedNodeName is empty"),
        ],
        advice: Vec::new(),
    })
}
