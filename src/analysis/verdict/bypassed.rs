//! `spec.nodeName` was written by someone other than a scheduler: no scheduler was asked.
//!
//! A real binding leaves no owner of `f:nodeName`; an owner is the creator that set it (observed on 1.37.2).

use super::Story;
use crate::analysis::explain::EVENTS_ARE_KEPT;
use crate::analysis::story::write_evidence;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::pod::OwnedField;
use crate::model::want::Want;
use crate::model::write::Action;

const ADVICE: &str = "no resources were checked before the kubelet's own admission; let a scheduler place it by leaving spec.nodeName out";

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
    if let Some(verdict) = by_the_log(story) {
        return Some(verdict);
    }
    let Some(creator) = story
        .pod
        .managed_fields
        .iter()
        .flatten()
        .find(|owner| owner.owns(OwnedField::NodeName))
    else {
        return by_silence(story);
    };
    Some(Verdict {
        kind: VerdictKind::Bypassed,
        cause: None,
        certainty: Certainty::Proven,
        overdue: false,
        summary: format!(
            "spec.nodeName was set to {} without a scheduler, by a writer that calls itself {:?}.",
            binding.node, creator.manager
        ),
        evidence: vec![story.evidence(
            creator.time,
            format!(
                "managedFields: {:?} owns spec.nodeName; a binding leaves no owner",
                creator.manager
            ),
        )],
        advice: vec![ADVICE.to_owned()],
    })
}

/// The audit log has the creation: what its creator wrote, and who that is.
fn by_the_log(story: &Story<'_>) -> Option<Verdict> {
    let writes = story.index.writes(story.pod);
    let (write, node) = writes
        .into_iter()
        .find_map(|write| match &write.value.action {
            Action::Create { node: Some(node) } if write.value.is_accepted() => Some((write, node)),
            _ => None,
        })?;
    let user = write.value.actor();
    Some(Verdict {
        kind: VerdictKind::Bypassed,
        cause: None,
        certainty: Certainty::Proven,
        overdue: false,
        summary: format!(
            "spec.nodeName was set to {node} without a scheduler, by the user {user}."
        ),
        evidence: vec![write_evidence(
            write,
            &format!("created it with spec.nodeName {node}"),
        )],
        advice: vec![ADVICE.to_owned()],
    })
}

/// Without managedFields: no event says that it was assigned, though events go back to its creation.
fn by_silence(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    let about = Want::events_about(story.pod);
    let kept = story
        .age(story.pod.created)
        .is_some_and(|age| age < EVENTS_ARE_KEPT);
    // An empty history proves nothing: it may never have been collected.
    let others = !story.events().is_empty();
    let reported = story
        .scheduler_events()
        .any(|event| event.reason == "Scheduled");
    if story.pod.managed_fields.is_some()
        || !story.world.is_complete(&about)
        || !kept
        || reported
        || !others
        || story.nominator().is_some()
    {
        return None;
    }
    Some(Verdict {
        kind: VerdictKind::Bypassed,
        cause: None,
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("It is on {}, and no scheduler reported that it assigned it: spec.nodeName was most likely set by its creator.", binding.node),
        evidence: vec![
            story.evidence(binding.at, format!("spec.nodeName is {}; PodScheduled=True is no proof, the kubelet writes it as well", binding.node)),
            story.evidence(story.pod.created, "events reach back to its creation, and none has the reason Scheduled"),
        ],
        advice: vec![
            "a Pod that names its node gets no filters, no preemption and no late-binding volumes; use node affinity instead".to_owned(),
            format!("see who wrote spec.nodeName: kubectl get pod {} -o yaml --show-managed-fields", story.pod_argument()),
        ],
    })
}
