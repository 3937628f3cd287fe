//! Bound on a server that leaves no trace of a nomination: before 1.35 the kubelet's first status write wipes the
//! field and its owner's entry (KEP-5278; gate `ClearingNominatedNodeNameAfterBinding`, on from 1.35).

use super::Story;
use crate::analysis::explain::EVENTS_ARE_KEPT;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::want::Want;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    if story.is_accounted_for() {
        return None;
    }
    let why = story.traceless()?;
    // A young Pod's preemption would still be told by an event on a victim.
    let young = story
        .age(story.pod.created)
        .is_some_and(|age| age < EVENTS_ARE_KEPT);
    if young && story.world.is_complete(&Want::PreemptedEvents) {
        return None;
    }
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some("trace-wiped"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!(
            "It is bound to {}; on this server ({why}) the kubelet wipes every trace of a nomination, so whether there was one is not recorded.",
            binding.node
        ),
        evidence: vec![
            story.evidence(binding.at, format!("spec.nodeName is {}", binding.node)),
            story.evidence(None, format!("the server: {why}")),
        ],
        advice: vec!["look into the API server's audit log (patch of pods/status)".to_owned()],
    })
}
