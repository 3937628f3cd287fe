//! Bound, then failed at the node: the kubelet counts for itself and refused the Pod.
//!
//! The kubelet then replaces the whole status, conditions included (observed on 1.37.2), so a missing
//! `PodScheduled` proves nothing here. Reasons: pkg/kubelet/lifecycle/predicate.go, 1.37.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::pod::OwnedField;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let node = &story.binding.as_ref()?.node;
    let pod = story.pod;
    let reason = pod
        .reason
        .as_deref()
        .filter(|_| pod.phase.as_deref() == Some("Failed"))?;
    let message = pod.message.as_deref().unwrap_or_default();
    let cause = match reason {
        // OutOfcpu, OutOfmemory, OutOfpods, OutOfephemeral-storage, and extended resources.
        _ if reason.starts_with("OutOf") => "node-resources",
        "NodeAffinity" | "NodeSelector" => "node-affinity",
        "PodFeatureUnsupported" => "feature-unsupported",
        _ if message.starts_with("Pod was rejected") || reason == "UnexpectedAdmissionError" => {
            "admission-other"
        }
        _ => return None,
    };
    let preset = pod
        .managed_fields
        .iter()
        .flatten()
        .find(|owner| owner.owns(OwnedField::NodeName));
    let how = if preset.is_some() {
        "put by its creator on"
    } else {
        "bound to"
    };
    let replace = match &pod.controller {
        Some(controller) => {
            format!("nothing retries this Pod; its controller {controller} makes another one")
        }
        None => "nothing retries this Pod, and it has no controller: create it again".to_owned(),
    };
    Some(Verdict {
        kind: VerdictKind::RefusedByKubelet,
        cause: Some(cause),
        certainty: Certainty::Proven,
        overdue: false,
        summary: format!("It was {how} {node}, and the kubelet there refused it: {reason}."),
        evidence: vec![story.evidence(pod.start, format!("status: Failed, {reason}: {message}"))],
        advice: vec![replace],
    })
}
