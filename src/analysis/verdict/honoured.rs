//! Bound to the nominated node.

use super::Story;
use super::moved::whence;
use crate::answer::nomination_explanation::{Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    let last = story.last_nomination()?;
    if last.node.as_ref()? != &binding.node {
        return None;
    }
    let whence = whence(story, last);
    let mut evidence =
        vec![story.evidence(binding.at, format!("spec.nodeName is {}", binding.node))];
    evidence.extend(whence.evidence);
    Some(Verdict {
        kind: VerdictKind::Honoured,
        cause: whence.cause,
        certainty: whence.certainty,
        overdue: false,
        summary: format!(
            "It was nominated to {} {} and is bound there.",
            binding.node, whence.by
        ),
        evidence,
        advice: Vec::new(),
    })
}
