//! Bound, without the managedFields that would tell whether a nomination came before.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    if story.is_accounted_for() {
        return None;
    }
    if story.pod.managed_fields.is_some() {
        return None;
    }
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some("managed-fields-stripped"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!(
            "It is bound to {}; whether it was nominated before cannot be seen, since managedFields are missing.",
            binding.node
        ),
        evidence: vec![story.evidence(binding.at, format!("spec.nodeName is {}", binding.node))],
        advice: vec![format!(
            "read it again with: kubectl get pod {} -o yaml --show-managed-fields",
            story.pod_argument()
        )],
    })
}
