//! A preemption nomination whose victims are still terminating.
//!
//! While one terminates, the scheduler preempts nowhere else for this Pod, by design
//! (pkg/scheduler/framework/plugins/defaultpreemption, `PodEligibleToPreemptOthers`).

use jiff::SignedDuration;

use super::Story;
use crate::analysis::story::{event_evidence, shell, span};
use crate::analysis::victims::{GONE, NOT_A_VICTIM, OVERDUE_AFTER};
use crate::answer::nomination_explanation::{
    Certainty, NominationKind, Verdict, VerdictKind, Victim,
};
use crate::model::pod::Uid;

/// The victim's DELETE may come after the nomination.
pub(in crate::analysis) const YOUNG: SignedDuration = SignedDuration::from_secs(10);

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    let kind = standing.kind;
    if !matches!(kind, NominationKind::Preemption | NominationKind::Unknown) {
        return None;
    }
    let on_node = |victim: &&Victim| {
        victim.node.as_deref() == Some(node)
            && victim.deletion_timestamp.is_some()
            && victim.cause != GONE
    };
    let terminating: Vec<&Victim> = story.victims.iter().filter(on_node).collect();
    let preempted: Vec<&Victim> = terminating
        .iter()
        .copied()
        .filter(|victim| victim.cause != NOT_A_VICTIM)
        .collect();
    // A person's deletion holds the Pod up only where the scheduler says that it waits, or nominated by itself.
    let says_so = story
        .report
        .preemption
        .as_deref()
        .is_some_and(|text| text.contains("terminating pod on the nominated node"));
    let waits: Vec<&Victim> =
        if preempted.is_empty() && (says_so || kind == NominationKind::Preemption) {
            terminating
        } else {
            preempted.clone()
        };

    let mut evidence =
        vec![story.evidence(standing.from, format!("status.nominatedNodeName is {node}"))];
    if let Some(owner) = story.nominator() {
        evidence.push(story.evidence(
            owner.time,
            format!(
                "managedFields: {:?} wrote it, with the condition PodScheduled=False",
                owner.manager
            ),
        ));
    }
    let linked = story.preemptions();
    for (event, _) in &linked {
        let victim = event
            .value
            .regarding
            .as_ref()
            .map_or("the victim", |regarding| regarding.name.name.as_str());
        evidence.push(event_evidence(event, &format!("event on {victim}")));
    }
    let is_linked = |victim: &Victim| {
        linked.iter().any(|(event, _)| {
            event
                .value
                .regarding
                .as_ref()
                .and_then(|regarding| regarding.uid.as_ref())
                .is_some_and(|uid| Some(&*uid.0) == victim.uid.as_deref())
        })
    };

    let Some(last) = waits
        .iter()
        .copied()
        .max_by_key(|victim| victim.deletion_timestamp)
    else {
        let young = kind == NominationKind::Preemption
            && story.age(standing.from).is_some_and(|age| age < YOUNG);
        return young.then(|| Verdict {
            kind: VerdictKind::WaitingForVictims,
            cause: Some("just-nominated"),
            certainty: Certainty::Inferred,
            overdue: false,
            summary: format!(
                "It was nominated to {node} moments ago; its victims may not be deleted yet."
            ),
            evidence,
            advice: vec!["ask again in ten seconds".to_owned()],
        });
    };
    let overdue = waits.iter().any(|victim| victim.overdue);
    let looping = story.preempts_in_a_loop();
    let cause = match (preempted.is_empty(), overdue) {
        _ if looping => "preemption-loop",
        (true, _) => NOT_A_VICTIM,
        (false, true) => crate::analysis::victims::OVERDUE,
        (false, false) => crate::analysis::victims::TERMINATING,
    };
    for victim in &waits {
        let due = victim
            .deletion_timestamp
            .map_or_else(|| "unknown".to_owned(), |due| due.to_string());
        let what = if victim.cause == NOT_A_VICTIM {
            "without DisruptionTarget: not shown to be a victim"
        } else {
            "its grace period is in that time"
        };
        evidence.push(story.evidence(
            None,
            format!(
                "Pod {}/{} on {node} terminates, due {due} ({what})",
                victim.namespace, victim.name
            ),
        ));
    }
    for victim in &waits {
        let finalizers = victim
            .uid
            .as_ref()
            .and_then(|uid| story.world.pod(&Uid(uid.as_str().into())))
            .map(|pod| &pod.value.finalizers);
        if let Some(finalizers) = finalizers.filter(|finalizers| !finalizers.is_empty()) {
            evidence.push(story.evidence(
                None,
                format!(
                    "Pod {}/{} is held by finalizers: {}",
                    victim.namespace,
                    victim.name,
                    finalizers.join(", ")
                ),
            ));
        }
    }
    let count = waits.len();
    let pods = if count == 1 {
        format!("Pod {}/{}", last.namespace, last.name)
    } else {
        format!("{count} Pods")
    };
    let due = last
        .deletion_timestamp
        .map(|due| story.now.duration_since(due));
    let when = match due {
        Some(late) if late > OVERDUE_AFTER => format!("overdue by {}", span(late)),
        Some(late) if late.is_negative() => format!("due in {}", span(late.abs())),
        Some(_) => "due now".to_owned(),
        None => "with no time known".to_owned(),
    };
    // An unseen Node may be the reason why nothing goes on.
    let node_seen = story.world.node(node).is_some();
    if !node_seen {
        evidence.push(story.evidence(
            None,
            format!("Node {node} was not seen: whether it can take the Pod was not judged"),
        ));
    }
    let mut advice = Vec::new();
    if overdue {
        advice.push(format!(
            "the node does not finish the deletion; look at its kubelet: kubectl describe node {}",
            shell(node)
        ));
        advice.push("until then the scheduler preempts nowhere else for this Pod, by design, even if other nodes have room".to_owned());
    }
    advice.push(format!(
        "kubectl get pod {} -n {} --watch",
        shell(&last.name),
        shell(&last.namespace)
    ));
    Some(Verdict {
        kind: VerdictKind::WaitingForVictims,
        cause: Some(cause),
        certainty: if node_seen && waits.iter().any(|victim| is_linked(victim)) {
            Certainty::Proven
        } else {
            Certainty::Inferred
        },
        overdue,
        summary: format!(
            "It is nominated to {node} and waits there for {pods} to terminate, {when}."
        ),
        evidence,
        advice,
    })
}
