//! Bound, and no trace of a nomination is left: an ordinary binding, as most are.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    let whole = story.is_accounted_for();
    let (certainty, why) = if whole {
        (
            Certainty::Proven,
            "audit log: no write since its creation set status.nominatedNodeName",
        )
    } else {
        (
            Certainty::Inferred,
            "managedFields: nobody owns status.nominatedNodeName; from 1.35 on a server leaves the owner of a nomination that stood, unless its gate ClearingNominatedNodeNameAfterBinding is off",
        )
    };
    Some(Verdict {
        kind: VerdictKind::NotNominated,
        cause: None,
        certainty,
        overdue: false,
        summary: format!(
            "It is bound to {}; no nomination stood at binding.",
            binding.node
        ),
        evidence: vec![
            story.evidence(binding.at, format!("spec.nodeName is {}", binding.node)),
            story.evidence(None, why),
        ],
        advice: Vec::new(),
    })
}
