//! No nomination stands and none left a trace; the scheduler tried and says why. Always applies.

use super::Story;
use crate::analysis::message;
use crate::answer::nomination_explanation::{Certainty, Evidence, Verdict, VerdictKind};

/// What the plugin `VolumeBinding` says of a node that a bound volume is not on: up to 1.36, and on 1.37 (observed).
const PINNED: &[&str] = &[
    "volume node affinity conflict",
    "didn't match PersistentVolume's node affinity",
];

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
    let why = most_frequent(story);
    if let Some(joined) = joined(story) {
        evidence.push(joined);
    }
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
    } else if story.prebind_failed() {
        (
            "volume-binding",
            "It is not nominated now: a node was chosen, and what must be ready before the binding (a volume, a device) was not.".to_owned(),
        )
    } else if raw.starts_with("minCount") || raw.starts_with("pod group") {
        (
            "waiting-for-group",
            "It is not nominated: its group cannot be placed as a whole, so none of it is."
                .to_owned(),
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
    } else if PINNED.iter().any(|words| raw.contains(words)) {
        (
            "volume-pinned",
            format!(
                "It is not nominated: the scheduler found no node for it ({why}), and its volume rules out nodes of other places; more nodes there do not help."
            ),
        )
    } else {
        (
            "unschedulable",
            format!("It is not nominated: the scheduler tried and found no node for it: {why}."),
        )
    };
    Some(Verdict {
        kind: VerdictKind::NotNominated,
        cause: Some(cause),
        // A hint that was cleared leaves no trace in any object (observed on 1.35.4, 1.36.3 and 1.37.2).
        certainty: Certainty::Inferred,
        overdue: false,
        summary,
        evidence,
        advice: vec![format!("kubectl describe pod {}", story.pod_argument())],
    })
}

/// The reason that rules out most nodes, in words.
fn most_frequent(story: &Story<'_>) -> String {
    let report = &story.report;
    let Some(reason) = report.reasons.iter().max_by_key(|reason| reason.nodes) else {
        return "it gave no reason".to_owned();
    };
    match (reason.nodes, report.nodes_total) {
        (Some(nodes), Some(total)) => {
            format!("most often {:?}, on {nodes} of {total} nodes", reason.text)
        }
        (Some(nodes), None) => format!("{:?}, {nodes} times", reason.text),
        (None, _) => format!("{:?}", reason.text),
    }
}

/// What a message that counts more nodes than the one before says of those that joined: the reason that is new.
fn joined(story: &Story<'_>) -> Option<Evidence> {
    let messages: Vec<_> = story
        .scheduler_events()
        .filter(|event| event.reason == "FailedScheduling")
        .collect();
    let (before, after) = messages.iter().zip(messages.iter().skip(1)).next_back()?;
    let (old, new) = (message::parse(&before.note), message::parse(&after.note));
    let (from, to) = (old.nodes_total?, new.nodes_total?);
    let added: Vec<String> = new
        .reasons
        .iter()
        .filter(|reason| old.reasons.iter().all(|known| known.text != reason.text))
        .filter_map(|reason| Some(format!("{:?} ({})", reason.text, reason.nodes?)))
        .collect();
    (to > from && !added.is_empty()).then(|| {
        story.evidence(
            after.last,
            format!(
                "the nodes grew from {from} to {to}, and what is new among the reasons is {}",
                added.join(", ")
            ),
        )
    })
}
