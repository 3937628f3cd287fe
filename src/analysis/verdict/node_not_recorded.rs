//! Bound after a nomination whose node is not recorded anywhere.
//!
//! The binding empties the field and leaves its owner's managedFields entry (1.35 on, observed): who and when, never where.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    if story.is_accounted_for() {
        return None;
    }
    let owner = story.nominator()?;
    let who = if story.is_scheduler(owner) {
        "A scheduler"
    } else {
        "A writer other than the scheduler"
    };
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some("node-not-recorded"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("{who} that calls itself {:?} nominated it before it was bound to {}; to which node is not recorded.", owner.manager, binding.node),
        evidence: vec![
            story.evidence(owner.time, format!("managedFields: {:?} still owns status.nominatedNodeName", owner.manager)),
            story.evidence(binding.at, format!("spec.nodeName is {}; the binding emptied status.nominatedNodeName", binding.node)),
        ],
        advice: vec!["look for the node in the API server's audit log (patch of pods/status), or in the writer's own record".to_owned()],
    })
}
