//! An expectation nomination: the scheduler chose the node and waits for Permit or PreBind work (KEP-5278).
//!
//! An outsider's overwrite during that time is not corrected, and the Pod is bound where the scheduler prepared it
//! (observed on 1.37.2): the claim's selected-node tells where that is.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, NominationKind, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    let overwritten = story.overwritten_expectation();
    let prepared = story.prepared_node().or(overwritten);
    let tried_and_failed = story
        .pod
        .scheduled()
        .is_some_and(|condition| condition.reason.as_deref() == Some("Unschedulable"));
    let goes_on = match standing.kind {
        NominationKind::Expectation => true,
        NominationKind::External => prepared.is_some() && !tried_and_failed,
        // The victims are gone (an earlier rule), and the volumes are being prepared.
        NominationKind::Preemption | NominationKind::Unknown => prepared == Some(node),
    };
    if !goes_on {
        return None;
    }
    let scheduler = &story.pod.scheduler_name;
    let mut evidence =
        vec![story.evidence(standing.from, format!("status.nominatedNodeName is {node}"))];
    if standing.kind == NominationKind::Expectation {
        evidence.push(story.evidence(None, "the scheduler wrote the field without a condition Unschedulable, which preemption never does"));
    }
    if overwritten.is_some() {
        evidence.extend(story.witnessed().iter().cloned());
    } else if let Some(prepared) = prepared {
        evidence.push(story.evidence(None, format!("an unbound claim of it has the annotation volume.kubernetes.io/selected-node={prepared}")));
    }
    let elsewhere = prepared.filter(|prepared| *prepared != node);
    let (cause, summary) = match elsewhere {
        Some(prepared) => (
            Some("binding-elsewhere"),
            format!(
                "{scheduler} prepares its binding to {prepared}, though the field says {node}: somebody overwrote it, and it will be bound to {prepared}."
            ),
        ),
        None => (
            prepared.is_some().then_some("volume-binding"),
            format!(
                "{scheduler} chose {node} and prepares the binding (volumes, devices or a permit are pending)."
            ),
        ),
    };
    Some(Verdict {
        kind: VerdictKind::WaitingForBinding,
        cause,
        certainty: Certainty::Inferred,
        overdue: false,
        summary,
        evidence,
        advice: vec![format!(
            "kubectl get pvc -n {}",
            crate::analysis::story::shell(&story.pod.name.namespace)
        )],
    })
}
