//! Deleted before it was bound.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::world::Sourced;
use crate::model::write::Write;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let (summary, evidence) = if story.is_gone() {
        let text = "the object was there, was never bound as far as was seen, and is no more";
        (
            "It was deleted and was never bound.",
            story.evidence(story.pod.deletion, text),
        )
    } else if let Some(deletion) = story
        .unbound_deletion()
        .filter(|_| story.pod.deletion.is_none())
    {
        return Some(by_the_log(story, deletion));
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

/// A Pod that is bound to no node goes with the request: no object shows that it was being deleted.
fn by_the_log(story: &Story<'_>, deletion: &Sourced<Write>) -> Verdict {
    let user = deletion.value.actor();
    let mut evidence = story.evidence(
        deletion.value.at,
        format!("audit log: user {user} deleted it; no binding was logged before"),
    );
    evidence.source = deletion.source.to_string();
    Verdict {
        kind: VerdictKind::Deleted,
        cause: None,
        // The answer to the request is the Pod; without it a dry run or a binding that was not logged cannot be ruled out.
        certainty: if deletion.value.version.is_some() && !story.is_draft() {
            Certainty::Proven
        } else {
            Certainty::Inferred
        },
        overdue: false,
        summary: "It was deleted and was never bound.".to_owned(),
        evidence: vec![evidence],
        advice: Vec::new(),
    }
}
