//! The field stands, by a scheduler, and whether it preempts or prepares a volume could not be seen: the claims were not read.
//!
//! An old condition Unschedulable stays while a later attempt prepares the binding; then only the claim's annotation
//! selected-node tells it from a preemption whose victims are not known (observed on 1.35.4, 1.36.3 and 1.37.2).

use super::Story;
use crate::analysis::story::shell;
use crate::analysis::victims::{OVERDUE, TERMINATING};
use crate::answer::nomination_explanation::{Certainty, NominationKind, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    let pod = story.pod;
    let has_victims = story
        .victims
        .iter()
        .any(|victim| matches!(victim.cause, TERMINATING | OVERDUE));
    let is_told = story.account.is_some() || has_victims || !story.preemptions().is_empty();
    let is_open = standing.kind == NominationKind::Unknown && standing.by.scheduler.is_some();
    if !is_open || is_told {
        return None;
    }
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some("claims-not-observed"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!(
            "It is nominated to {node}; whether it waits for victims or for a volume there cannot be said, since its claims were not read."
        ),
        evidence: vec![
            story.evidence(standing.from, format!("status.nominatedNodeName is {node}")),
            story.evidence(None, format!("it has claims: {}", pod.claims.join(", "))),
        ],
        advice: vec![format!(
            "see whether one has the annotation volume.kubernetes.io/selected-node: kubectl get pvc -n {} -o yaml",
            shell(&pod.name.namespace)
        )],
    })
}
