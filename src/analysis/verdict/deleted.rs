//! Deleted before it was bound.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let (summary, evidence) = if story.is_gone() {
        let text = "the object was there, was never bound as far as was seen, and is no more";
        (
            "It was deleted and was never bound.",
            story.evidence(story.pod.deletion, text),
        )
    } else {
        let due = story.pod.deletion?;
        let held = if story.pod.finalizers.is_empty() {
            String::new()
        } else {
            format!(
                "; its finalizers hold it: {}",
                story.pod.finalizers.join(", ")
            )
        };
        let text = format!("metadata.deletionTimestamp is set and spec.nodeName is empty{held}");
        (
            "It is being deleted and was never bound.",
            story.evidence(Some(due), text),
        )
    };
    Some(Verdict {
        kind: VerdictKind::Deleted,
        cause: None,
        certainty: Certainty::Proven,
        overdue: false,
        summary: summary.to_owned(),
        evidence: vec![evidence],
        advice: Vec::new(),
    })
}
