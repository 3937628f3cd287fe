//! No gates, and no scheduler has reported on it.
//!
//! A failed attempt leaves a condition that does not expire, so a missing one is strong evidence even where
//! events are gone. It is worded as "has not reported": nobody can see that nothing runs.

use jiff::SignedDuration;

use super::Story;
use crate::analysis::story::event_evidence;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};

/// Younger Pods may simply be next.
pub(in crate::analysis) const YOUNG: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let pod = story.pod;
    let has_reported = pod.scheduled().is_some() || story.scheduler_events().next().is_some();
    if has_reported || story.attempts.is_tried() || pod.finished() {
        return None;
    }
    let scheduler = &pod.scheduler_name;
    let alive = story.index.latest_by(scheduler);
    let young = story.age(pod.created).is_some_and(|age| age < YOUNG);
    let mut evidence = vec![story.evidence(
        None,
        "the Pod has no condition PodScheduled, and no event by a scheduler was seen",
    )];
    let inspect =
        "a scheduler that serves this name may not exist, may not run, or may have no such profile";
    let (cause, summary) = if young {
        (
            "just-created",
            format!("It was created moments ago, and {scheduler} has not reported on it yet."),
        )
    } else if let Some(group) = &pod.group {
        evidence.push(story.evidence(None, format!("spec.schedulingGroup: {group}")));
        (
            "waiting-for-group",
            format!("No scheduler has reported on it: its group {group} may not be complete."),
        )
    } else if let Some(event) = alive {
        evidence.push(event_evidence(event, "event on another object"));
        (
            "scheduler-silent",
            format!("{scheduler} has reported on others, and not on this one."),
        )
    } else {
        (
            "no-scheduler",
            format!("No scheduler has reported on it: {inspect}. It asks for {scheduler:?}."),
        )
    };
    let advice = if young {
        vec!["ask again in half a minute".to_owned()]
    } else if let Some(group) = &pod.group {
        vec![format!(
            "compare its minCount with the Pods that are there: kubectl get podgroup {} -n {} -o yaml",
            crate::analysis::story::shell(group),
            crate::analysis::story::shell(&pod.name.namespace)
        )]
    } else {
        vec![
            format!(
                "check whether a scheduler serves {scheduler:?}: kubectl get events -A --field-selector reportingComponent={}",
                crate::analysis::story::shell(scheduler)
            ),
            "kubectl get pods -n kube-system -l component=kube-scheduler".to_owned(),
        ]
    };
    Some(Verdict {
        kind: VerdictKind::NeverAttempted,
        cause: Some(cause),
        certainty: Certainty::Inferred,
        overdue: false,
        summary,
        evidence,
        advice,
    })
}
