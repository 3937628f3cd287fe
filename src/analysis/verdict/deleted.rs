//! Deleted before it was bound.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let due = story.pod.deletion?;
    let held = if story.pod.finalizers.is_empty() {
        String::new()
    } else {
        format!(
            "; its finalizers hold it: {}",
            story.pod.finalizers.join(", ")
        )
    };
    Some(Verdict {
        kind: VerdictKind::Deleted,
        cause: None,
        certainty: Certainty::Proven,
        overdue: false,
        summary: "It is being deleted and was never bound.".to_owned(),
        evidence: vec![story.evidence(
            Some(due),
            format!("metadata.deletionTimestamp is set and spec.nodeName is empty{held}"),
        )],
        advice: Vec::new(),
    })
}
