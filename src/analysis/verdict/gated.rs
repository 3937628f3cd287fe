//! Scheduling gates keep the scheduler from looking; a hint, if any, waits with it.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::want::Want;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    if story.pod.gates.is_empty() || story.pod.node.is_some() {
        return None;
    }
    let gates = story.pod.gates.join(", ");
    let mut evidence =
        vec![story.evidence(story.pod.created, format!("spec.schedulingGates: {gates}"))];
    let mut summary =
        format!("The scheduler does not look at it: its scheduling gates are {gates}.");
    let mut advice = vec![format!(
        "find who removes the gate; it is listed by: kubectl get pod {} -o jsonpath='{{.spec.schedulingGates}}'",
        story.pod_argument()
    )];
    if let Some(standing) = story.standing() {
        let node = standing.node.as_deref().unwrap_or_default();
        let by = standing
            .by
            .manager
            .as_deref()
            .unwrap_or("a writer that is not recorded");
        evidence.push(story.evidence(standing.from, format!("status.nominatedNodeName is {node}")));
        let absent = story.world.node(node).is_none()
            && story.world.is_complete(&Want::Node(node.to_owned()));
        if absent {
            // Observed on 1.35.4, 1.36.3 and 1.37.2: it is bound elsewhere, without a word of the hint.
            evidence.push(story.evidence(None, format!("there is no Node {node}")));
            summary = format!(
                "{summary} It is nominated to {node} by {by:?}, a node that does not exist (yet): such a hint is passed over."
            );
        } else {
            summary = format!(
                "{summary} It is nominated to {node} by {by:?}; the first attempt after the gates are gone tries that node first."
            );
        }
        // Observed on 1.35.4, 1.36.3 and 1.37.2: the claim holds while the Pod is gated.
        advice.extend((!absent).then(|| format!(
            "until then the nomination reserves room on {node} against Pods of equal or lower priority; list such claims with: kubectl get pods -A --field-selector status.nominatedNodeName={}",
            crate::analysis::story::shell(node)
        )));
    }
    Some(Verdict {
        kind: VerdictKind::Gated,
        cause: Some("scheduling-gates"),
        certainty: Certainty::Proven,
        overdue: false,
        summary,
        evidence,
        advice,
    })
}
