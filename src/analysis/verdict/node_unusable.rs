//! The field stands, and its node is gone, not ready or cordoned.
//!
//! Nobody but the scheduler ever clears the field, and it looks again only when something wakes the Pod
//! (observed on 1.37.2: cordon, kubelet killed, Node deleted).

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::want::Want;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let name = standing.node.as_deref()?;
    let (cause, at, what) = if let Some(node) = story.world.node(name) {
        if node.value.is_unready() {
            (
                "node-not-ready",
                node.value.ready_since,
                format!("Node {name} is not ready"),
            )
        } else if node.value.unschedulable {
            (
                "node-unschedulable",
                None,
                format!("Node {name} is cordoned"),
            )
        } else {
            let taint =
                node.value.taints.iter().find(|taint| {
                    taint.effect != "PreferNoSchedule" && !story.pod.tolerates(taint)
                })?;
            (
                "node-tainted",
                None,
                format!(
                    "Node {name} has the taint {}:{}, which the Pod does not tolerate",
                    taint.key, taint.effect
                ),
            )
        }
    } else if story.world.is_complete(&Want::Node(name.to_owned())) {
        (
            "node-gone",
            None,
            format!("there is no Node {name}: it is gone, or has not registered yet"),
        )
    } else {
        return None;
    };
    let mut advice = vec![format!(
        "kubectl get node {} -o wide",
        crate::analysis::story::shell(name)
    )];
    if cause == "node-gone" {
        advice.push(
            "Karpenter and the cluster autoscaler add no node for a Pod that is nominated"
                .to_owned(),
        );
        advice.push(format!(
            "if the node will not come, clear the field: kubectl patch pod {} --subresource=status --type=merge -p '{{\"status\":{{\"nominatedNodeName\":null}}}}'",
            story.pod_argument()
        ));
    }
    Some(Verdict {
        kind: VerdictKind::Stale,
        cause: Some(cause),
        certainty: Certainty::Proven,
        overdue: story.victims.iter().any(|victim| victim.overdue),
        summary: format!("It is nominated to {name}, which cannot take it: {what}."),
        evidence: vec![
            story.evidence(standing.from, format!("status.nominatedNodeName is {name}")),
            story.evidence(at, what),
        ],
        advice,
    })
}
