//! A node has room, but a nomination of another Pod reserves it; the scheduler's message does not say so.
//!
//! Nominations of equal or higher priority count, even of a gated Pod, even by an outsider
//! (observed on 1.35.4, 1.36.3 and 1.37.2: the message is "Insufficient cpu" alone).

use super::Story;
use crate::analysis::room::{Count, Shortage, reserved_nodes, reserves, shortages};
use crate::analysis::story::shell;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::coverage::State;
use crate::model::want::Want;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    story
        .pod
        .scheduled()
        .filter(|condition| condition.reason.as_deref() == Some("Unschedulable"))?;
    if story.pod.nominated_node.is_some()
        || !story
            .report
            .reasons
            .iter()
            .any(|reason| reason.text.starts_with("Insufficient "))
    {
        return None;
    }
    let mut evidence = Vec::new();
    let mut advice = Vec::new();
    let mut nodes = Vec::new();
    for node in reserved_nodes(story.index, story.pod) {
        let usable =
            story.world.node(node).is_some_and(|known| {
                !known.value.is_unready()
                    && !known.value.unschedulable
                    && !known.value.taints.iter().any(|taint| {
                        taint.effect != "PreferNoSchedule" && !story.pod.tolerates(taint)
                    })
            });
        let seen = |want: Want| {
            matches!(
                story.world.state_of(&want),
                Some(State::Complete | State::Partial)
            )
        };
        let readable = seen(Want::PodsOnNode(node.to_owned())) && seen(Want::NominatedPods);
        let fits = shortages(story, node, Count::Bound).is_some_and(|lacking| lacking.is_empty());
        let blocked = shortages(story, node, Count::BoundAndReserved).unwrap_or_default();
        if !usable || !readable || !fits || blocked.is_empty() {
            continue;
        }
        let reserving = story.index.nominated_to(node).iter();
        for pod in reserving.filter(|pod| reserves(pod, story.pod)) {
            let text = format!(
                "Pod {}/{} of priority {} is nominated to {node}, where this Pod would fit",
                pod.name.namespace,
                pod.name.name,
                pod.priority.unwrap_or(0)
            );
            evidence.push(story.evidence(None, text));
            advice.push(format!(
                "kubectl nominate explain {} -n {}",
                shell(&pod.name.name),
                shell(&pod.name.namespace)
            ));
        }
        evidence.extend(blocked.iter().map(Shortage::words).map(|words| {
            story.evidence(None, format!("{node}, its reservations counted, {words}"))
        }));
        nodes.push(node);
    }
    let all_seen = nodes.iter().all(|node| {
        story
            .world
            .is_complete(&Want::PodsOnNode((*node).to_owned()))
    });
    let so_far = if all_seen {
        ""
    } else {
        "as far as the Pods tell that were seen, "
    };
    (!nodes.is_empty()).then(|| Verdict {
        kind: VerdictKind::NotNominated,
        cause: Some("blocked-by-reservation"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("It is not nominated: {so_far}it would fit on {}, but nominations of other Pods reserve the room there.", nodes.join(", ")),
        evidence,
        advice,
    })
}
