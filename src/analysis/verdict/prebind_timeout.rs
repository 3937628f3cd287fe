//! `PreBind` failed, and the field was kept: it points where nothing goes on.
//!
//! 1.35.4 keeps the field with the failure; 1.36.3 and 1.37.2 clear it in the same patch, so there a field that
//! stands beside an old failure is a new attempt (observed).

use super::Story;
use crate::answer::nomination_explanation::{Certainty, NominationKind, Verdict, VerdictKind};
use crate::model::version::Minor;

/// The first minor that clears the field when a binding cycle fails.
const CLEARS: Minor = Minor(36);

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story
        .standing()
        .filter(|standing| standing.kind == NominationKind::Expectation)?;
    let node = standing.node.as_deref()?;
    let failure = story
        .pod
        .scheduled()
        .filter(|condition| condition.reason.as_deref() == Some("SchedulerError"))?;
    let message = failure.message.as_deref().unwrap_or_default();
    if !message.contains("PreBind") {
        return None;
    }
    let kept = match story.world.version() {
        Some(version) => version < CLEARS,
        // Without a version the times tell: a nomination of a new attempt is younger than the failure.
        None => standing.from <= failure.last_transition,
    };
    let how = match story.world.version() {
        Some(version) => format!(
            "the server is 1.{}, whose scheduler keeps the field after a failed PreBind",
            version.0
        ),
        None => "the server's version was not seen; the field was not written after the failure"
            .to_owned(),
    };
    kept.then(|| Verdict {
        kind: VerdictKind::Stale,
        cause: Some("prebind-timeout"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("It is nominated to {node}, but what had to be ready before the binding there was not, and the attempt ended; a retry would look the same."),
        evidence: vec![
            story.evidence(failure.last_transition, format!("PodScheduled=False, SchedulerError: {message}")),
            story.evidence(standing.from, format!("status.nominatedNodeName is {node}")),
            story.evidence(None, how),
        ],
        advice: vec![format!("kubectl describe pvc -n {}", crate::analysis::story::shell(&story.pod.name.namespace))],
    })
}
