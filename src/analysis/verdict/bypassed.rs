//! `spec.nodeName` was written by someone other than a scheduler: no scheduler was asked.
//!
//! A real binding leaves no owner of `f:nodeName`; an owner is the creator that set it (observed on 1.37.2).

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::pod::OwnedField;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    if story.pod.from_kubelet {
        return Some(Verdict {
            kind: VerdictKind::Bypassed,
            cause: Some("static-pod"),
            certainty: Certainty::Proven,
            overdue: false,
            summary: format!(
                "It is a static Pod of {}: its kubelet made it, and no scheduler is asked.",
                binding.node
            ),
            evidence: vec![story.evidence(
                story.pod.created,
                "the annotation kubernetes.io/config.source or config.mirror is set",
            )],
            advice: Vec::new(),
        });
    }
    let creator = story
        .pod
        .managed_fields
        .iter()
        .flatten()
        .find(|owner| owner.owns(OwnedField::NodeName))?;
    Some(Verdict {
        kind: VerdictKind::Bypassed,
        cause: None,
        certainty: Certainty::Proven,
        overdue: false,
        summary: format!("spec.nodeName was set to {} without a scheduler, by a writer that calls itself {:?}.", binding.node, creator.manager),
        evidence: vec![story.evidence(creator.time, format!("managedFields: {:?} owns spec.nodeName; a binding leaves no owner", creator.manager))],
        advice: vec!["no resources were checked before the kubelet's own admission; let a scheduler place it by leaving spec.nodeName out".to_owned()],
    })
}
