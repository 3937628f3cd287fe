//! The field stands, and even when all that terminates is gone the node has no room: who took it, with the subtraction.
//!
//! A Pod of higher priority may take the room without preempting (kubernetes/kubernetes#106780); the field is then
//! cleared only with the next failed attempt.

use super::Story;
use crate::analysis::room::{Count, Shortage, shortages};
use crate::analysis::story::shell;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::pod::Pod;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    let standing = story.standing()?;
    let node = standing.node.as_deref()?;
    let lacking = shortages(story, node, Count::Staying).filter(|lacking| !lacking.is_empty())?;
    let since = standing.from.or(story.pod.created);
    let takers: Vec<&Pod> = story
        .index
        .on_node(node)
        .iter()
        .copied()
        .filter(|pod| pod.deletion.is_none() && !pod.finished())
        .filter(|pod| pod.priority.unwrap_or(0) > story.pod.priority.unwrap_or(0))
        .filter(|pod| {
            since.is_some_and(|since| pod.created.is_some_and(|created| created >= since))
        })
        .filter(|pod| {
            lacking
                .iter()
                .any(|shortage| pod.requests.contains_key(&shortage.resource))
        })
        .collect();
    let mut evidence =
        vec![story.evidence(standing.from, format!("status.nominatedNodeName is {node}"))];
    evidence.extend(
        lacking
            .iter()
            .map(Shortage::words)
            .map(|words| story.evidence(None, format!("{node}, {words}"))),
    );
    for pod in &takers {
        let priority = pod.priority.unwrap_or(0);
        let text = format!(
            "Pod {}/{} of priority {priority} came to {node} after the nomination",
            pod.name.namespace, pod.name.name
        );
        evidence.push(story.evidence(pod.created, text));
    }
    let names: Vec<String> = takers
        .iter()
        .map(|pod| format!("{}/{}", pod.name.namespace, pod.name.name))
        .collect();
    let (cause, who) = if names.is_empty() {
        ("no-room", String::new())
    } else {
        (
            "room-taken",
            format!("; {} of higher priority took it", names.join(", ")),
        )
    };
    Some(Verdict {
        kind: VerdictKind::Stale,
        cause: Some(cause),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: format!("It is nominated to {node}, and there is no room for it there, even when all that terminates is gone{who}."),
        evidence,
        advice: vec![
            "the scheduler clears the field with its next failed attempt, from 1.24 on, unless preemptionPolicy is Never".to_owned(),
            format!("until then it reserves room on {node} against Pods of equal or lower priority; see what runs there: kubectl get pods -A --field-selector spec.nodeName={}", shell(node)),
        ],
    })
}
