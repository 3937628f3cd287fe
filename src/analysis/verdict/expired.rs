//! The last nomination was a recommender's recorded decision, and its time ran out.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let last = story.last_nomination()?;
    let decision = last.decision.as_ref()?;
    let expires = decision
        .expires_at
        .filter(|expires| *expires <= story.now)?;
    let (cause, now, advice) = if last.ended.is_none() {
        let advice = format!(
            "the field still reserves room on {}; its writer should withdraw it, or clear it with: kubectl patch pod {} --subresource=status --type=merge -p '{{\"status\":{{\"nominatedNodeName\":null}}}}'",
            decision.node,
            story.pod_argument()
        );
        ("expired-standing", "the field still stands", vec![advice])
    } else {
        ("expired-removed", "the field is empty", Vec::new())
    };
    Some(Verdict {
        kind: VerdictKind::Expired,
        cause: Some(cause),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!(
            "{:?} nominated it to {} until {expires}; that time is past, and {now}.",
            decision.recommender, decision.node
        ),
        evidence: vec![story.evidence(
            decision.written_at,
            format!(
                "the decision annotation {:?} expires at {expires} (the writer's own claim)",
                decision.id
            ),
        )],
        advice,
    })
}
