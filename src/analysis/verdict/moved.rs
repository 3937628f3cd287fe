//! Bound to another node than the nominated one, and why, if that can be shown.

use super::Story;
use crate::analysis::attempts::Hint;
use crate::analysis::story::event_evidence;
use crate::answer::nomination_explanation::{
    Certainty, Ended, Evidence, Nomination, NominationKind, Verdict, VerdictKind,
};

/// How the nominated node of a bound Pod is known; the field itself is empty by then.
pub(super) struct Whence {
    pub(super) by: String,
    pub(super) cause: Option<&'static str>,
    pub(super) certainty: Certainty,
    pub(super) evidence: Vec<Evidence>,
}

pub(super) fn whence(story: &Story<'_>, last: &Nomination) -> Whence {
    let mut evidence = Vec::new();
    let by = match &last.by.user {
        Some(user) => format!("by the user {user}"),
        None => by_its_claim(last),
    };
    evidence.extend(story.witnessed().iter().cloned());
    let is_witnessed = !evidence.is_empty();
    if let Some(decision) = &last.decision {
        let claim = format!(
            "the decision annotation {:?} of {:?} names {} (the writer's own claim)",
            decision.id, decision.recommender, decision.node
        );
        evidence.push(story.evidence(decision.written_at, claim));
    }
    for (event, note) in story.preemptions() {
        if note.node == last.node && last.kind == NominationKind::Preemption {
            evidence.push(event_evidence(event, "event on the victim"));
        }
    }
    if last.kind == NominationKind::Expectation {
        evidence.push(story.evidence(None, "a claim of it has the annotation volume.kubernetes.io/selected-node, which PreBind wrote"));
    }
    if let Some(node) = last.node.as_deref().filter(|_| last.by.scheduler.is_some()) {
        evidence.extend(story.attempts.nominating_evidence(node));
    }
    evidence.extend(
        story
            .attempts
            .binding()
            .iter()
            .flat_map(|attempt| attempt.evidence().collect::<Vec<_>>()),
    );
    let owner = story.nominator();
    let stated = story.pod.nominated_node.is_some();
    if is_witnessed {
        // The log tells more than the owner's entry does.
    } else if stated {
        evidence.push(story.evidence(None, "status.nominatedNodeName is still set"));
    } else if let Some(owner) = owner {
        let text = format!(
            "managedFields: {:?} still owns status.nominatedNodeName, so a nomination stood at binding",
            owner.manager
        );
        evidence.push(story.evidence(owner.time, text));
    } else if let Some(why) = story.traceless() {
        let text = format!(
            "the server: {why}; there the kubelet wipes the owner, and whether it stood until the binding cannot be seen"
        );
        evidence.push(story.evidence(None, text));
    } else if story.pod.managed_fields.is_some() {
        evidence.push(story.evidence(None, "managedFields: nobody owns status.nominatedNodeName, so the nomination was taken back before the binding"));
    } else {
        evidence.push(story.evidence(None, "managedFields are missing: whether the nomination stood until the binding cannot be seen"));
    }
    let cleared = if is_witnessed {
        last.ended == Some(Ended::Cleared)
    } else {
        !stated
            && owner.is_none()
            && story.pod.managed_fields.is_some()
            && story.traceless().is_none()
    };
    Whence {
        by,
        cause: cleared.then_some("cleared-before-binding"),
        // The object keeps who and when, not where: the node comes from a note or from the writer's own record.
        certainty: if stated {
            Certainty::Proven
        } else {
            story.certainty()
        },
        evidence,
    }
}

/// Who nominated, where no audit log proves the user.
fn by_its_claim(last: &Nomination) -> String {
    match (last.kind, &last.by.scheduler, &last.by.manager) {
        (NominationKind::Preemption, Some(scheduler), _) => {
            format!("by {scheduler} (which preempted Pods there)")
        }
        (_, Some(scheduler), _) => format!("by {scheduler}"),
        (_, None, Some(manager)) => format!("by a writer that calls itself {manager:?}"),
        (_, None, None) => "by a writer that is not recorded".to_owned(),
    }
}

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let binding = story.binding.as_ref()?;
    let last = story.last_nomination()?;
    let nominated = last.node.as_ref()?;
    let whence = whence(story, last);
    let mut evidence =
        vec![story.evidence(binding.at, format!("spec.nodeName is {}", binding.node))];
    evidence.extend(whence.evidence);
    let mut cause = whence.cause;
    let mut why = String::new();
    let known = story
        .scheduler_events()
        .filter(|event| event.reason == "Scheduled")
        .last();
    let version = known.and_then(|event| event.regarding.as_ref()?.resource_version);
    if let Some(version) = version {
        evidence.push(story.evidence(
            known.and_then(|event| event.last),
            format!(
                "event Scheduled: the scheduler knew version {} of the Pod",
                version.0
            ),
        ));
    }
    let mut certainty = whence.certainty;
    if cause.is_none() && last.kind == NominationKind::External {
        let passed_over = passed_over(story, last);
        cause = Some(passed_over.cause);
        passed_over.why.clone_into(&mut why);
        if !passed_over.is_stated {
            certainty = Certainty::Inferred;
        }
    }
    Some(Verdict {
        kind: VerdictKind::Moved,
        cause,
        certainty,
        overdue: false,
        summary: format!(
            "It was nominated to {nominated} {}, but is bound to {}.{why}",
            whence.by, binding.node
        ),
        evidence,
        advice: Vec::new(),
    })
}

/// Why a hint was passed over.
struct PassedOver {
    cause: &'static str,
    why: &'static str,
    /// Whether it is what was seen, and not concluded from times of two clocks.
    is_stated: bool,
}

/// What the scheduler's log shows of the hint in the attempt that bound the Pod.
fn passed_over(story: &Story<'_>, last: &Nomination) -> PassedOver {
    let told = |cause, why, is_stated| PassedOver {
        cause,
        why,
        is_stated,
    };
    let attempt = story.attempts.binding();
    let failed = attempt.and_then(|attempt| attempt.failed_node());
    if failed.is_some() && failed == last.node.as_deref() {
        return told(
            "outside-hint-infeasible",
            " The scheduler tried that node first and could not evaluate it.",
            true,
        );
    }
    let evaluated = attempt
        .and_then(|attempt| attempt.bound())
        .map(|(_, evaluated)| evaluated);
    match attempt.map_or(Hint::Unknown, |attempt| attempt.hint(last.from)) {
        Hint::Late => told(
            "outside-hint-late",
            " The attempt that bound it had begun before the hint was written.",
            false,
        ),
        Hint::InTime if evaluated.is_some_and(|evaluated| evaluated > 1) => told(
            "outside-hint-infeasible",
            " The hint was there when the attempt began that bound it: that node was tried first, and failed the scheduler's filters.",
            false,
        ),
        Hint::InTime | Hint::Unknown => told(
            "outside-hint-ignored",
            " A hint is tried first; a node that fails the scheduler's filters, or a hint that comes late, is passed over without an event.",
            true,
        ),
    }
}
