//! An expectation nomination: the scheduler chose the node and waits for Permit or PreBind work (KEP-5278).

use super::Story;
use crate::answer::nomination_explanation::{Certainty, NominationKind, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story
        .standing()
        .filter(|standing| standing.kind == NominationKind::Expectation)?;
    let node = standing.node.as_deref()?;
    let scheduler = standing.by.scheduler.as_deref().unwrap_or("the scheduler");
    Some(Verdict {
        kind: VerdictKind::WaitingForBinding,
        cause: None,
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("{scheduler} chose {node} and prepares the binding (volumes, devices or a permit are pending)."),
        evidence: vec![
            story.evidence(standing.from, format!("status.nominatedNodeName is {node}")),
            story.evidence(None, "the scheduler wrote the field without a condition Unschedulable, which preemption never does"),
        ],
        advice: vec![format!("kubectl get pvc -n {}", crate::analysis::story::shell(&story.pod.name.namespace))],
    })
}
