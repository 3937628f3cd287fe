//! No nomination stands and none left a trace; the scheduler tried and says why. Always applies.

use super::Story;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::want::Want;

#[expect(clippy::unnecessary_wraps, reason = "the shape of a rule")]
pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let condition = story
        .pod
        .scheduled()
        .filter(|condition| condition.status == "False");
    let mut evidence = vec![story.evidence(None, "status.nominatedNodeName is empty")];
    if let Some(condition) = condition {
        let reason = condition.reason.as_deref().unwrap_or("False");
        evidence.push(story.evidence(
            condition.last_transition,
            format!(
                "PodScheduled=False, {reason}: {}",
                condition.message.as_deref().unwrap_or_default()
            ),
        ));
    }
    let raw = story.report.raw.as_deref().unwrap_or_default();
    let assigned = story
        .scheduler_events()
        .find(|event| event.reason == "Scheduled");
    let predicted = story.predictions().last();
    let why = story
        .report
        .reasons
        .iter()
        .max_by_key(|reason| reason.nodes)
        .map(|reason| match reason.nodes {
            Some(nodes) => format!("most often {:?} ({nodes} nodes)", reason.text),
            None => format!("{:?}", reason.text),
        });
    let why = why.unwrap_or_else(|| "it gave no reason".to_owned());
    let (cause, summary) = if let Some(event) = assigned {
        evidence.push(story.evidence(event.last, format!("event Scheduled: {}", event.note)));
        (
            "bind-unconfirmed",
            "It is not nominated: an event says that it was assigned, and the Pod itself does not."
                .to_owned(),
        )
    } else if raw.contains("running Bind plugin") {
        (
            "bind-refused",
            "It is not nominated: a node was chosen, and the binding was refused.".to_owned(),
        )
    } else if raw.contains("running PreBind plugin") || raw.contains("prebind plugin") {
        (
            "volume-binding",
            "It is not nominated now: a node was chosen, and what must be ready before the binding (a volume, a device) was not.".to_owned(),
        )
    } else if let Some(event) = predicted {
        // Karpenter's "Nominated" is its own forecast, and reserves nothing with the scheduler.
        evidence.push(story.evidence(event.last, format!("event Nominated of {}: {} (a forecast of an autoscaler, not status.nominatedNodeName)", event.reporter, event.note)));
        (
            "autoscaler-only",
            format!(
                "It is not nominated: {} forecast a place for it, which is no nomination; the scheduler found no node: {why}.",
                event.reporter
            ),
        )
    } else {
        (
            "unschedulable",
            format!("It is not nominated: the scheduler tried and found no node for it: {why}."),
        )
    };
    let seen =
        story.world.is_complete(&Want::PreemptedEvents) && story.pod.managed_fields.is_some();
    Some(Verdict {
        kind: VerdictKind::NotNominated,
        cause: Some(cause),
        certainty: if seen {
            Certainty::Proven
        } else {
            Certainty::Inferred
        },
        overdue: false,
        summary,
        evidence,
        advice: vec![format!("kubectl describe pod {}", story.pod_argument())],
    })
}
