//! What happened to the Pod, in order of time: creation, conditions, managedFields, logs and events.
//!
//! Order of an event's times: series, lastTimestamp, eventTime, firstTimestamp, creationTimestamp.

use super::story::Story;
use crate::answer::nomination_explanation::Moment;
use crate::model::pod::OwnedField;
use crate::model::world::Sourced;
use crate::model::write::{Action, Asked, Write};

pub(super) fn of(story: &Story<'_>) -> Vec<Moment> {
    let pod = story.pod;
    let moment = |at, actor: &str, what: &str, detail: String| Moment {
        at,
        source: story.source.to_owned(),
        actor: actor.to_owned(),
        what: what.to_owned(),
        detail,
    };
    let mut moments = vec![moment(
        pod.created,
        "kube-apiserver",
        "Created",
        String::new(),
    )];
    for condition in &pod.conditions {
        if matches!(condition.kind.as_str(), "PodScheduled" | "DisruptionTarget") {
            let what = format!("{}={}", condition.kind, condition.status);
            let words: Vec<&str> = [condition.reason.as_deref(), condition.message.as_deref()]
                .into_iter()
                .flatten()
                .collect();
            moments.push(moment(
                condition.last_transition,
                "condition",
                &what,
                words.join(": "),
            ));
        }
    }
    for owner in pod.managed_fields.iter().flatten() {
        // The log has the write itself.
        if owner.owns(OwnedField::NominatedNode) && story.account.is_none() {
            let detail = match (&pod.nominated_node, &pod.node) {
                (Some(node), None) => format!("to {node}, at the latest at this time"),
                _ => "to a node that is not recorded, at the latest at this time".to_owned(),
            };
            moments.push(moment(owner.time, &owner.manager, "Nominated", detail));
        }
        if owner.owns(OwnedField::NodeName) {
            moments.push(moment(
                owner.time,
                &owner.manager,
                "WroteNodeName",
                "spec.nodeName written without a binding".to_owned(),
            ));
        }
    }
    moments.extend(story.attempts.moments());
    moments.extend(story.index.writes(pod).into_iter().filter_map(audited));
    for event in story.events() {
        let value = &event.value;
        let detail = if value.count > 1 {
            format!("{} (x{})", value.note, value.count)
        } else {
            value.note.clone()
        };
        moments.push(Moment {
            source: event.source.to_string(),
            ..moment(value.last, &value.reporter, &value.reason, detail)
        });
    }
    for (event, _) in story.preemptions() {
        let victim = event
            .value
            .regarding
            .as_ref()
            .map_or_else(String::new, |regarding| {
                format!(
                    "victim {}/{}: ",
                    regarding.name.namespace, regarding.name.name
                )
            });
        let detail = format!("{victim}{}", event.value.note);
        moments.push(Moment {
            source: event.source.to_string(),
            ..moment(event.value.last, &event.value.reporter, "Preempted", detail)
        });
    }
    if let Some(due) = pod.deletion {
        moments.push(moment(
            Some(due),
            "kube-apiserver",
            "DueToBeDeleted",
            "the grace period ends".to_owned(),
        ));
    }
    if story.is_gone() {
        let detail = "the object is no more".to_owned();
        moments.push(moment(Some(story.now), "kube-apiserver", "Gone", detail));
    }
    // A Pod that the kubelet refuses gets a start time as well, and loses its conditions.
    let refused = pod.finished() && pod.conditions.is_empty();
    if let Some(start) = pod.start.filter(|_| !refused) {
        moments.push(moment(
            Some(start),
            "kubelet",
            "Started",
            "the kubelet took it up".to_owned(),
        ));
    }
    // Times of objects are one second fine, those of events a microsecond: the sort is stable, causes stand before effects.
    moments.sort_by(|a, b| (a.at, &a.what).cmp(&(b.at, &b.what)));
    moments
}

/// What an audited write did, if it tells something of a placement.
fn audited(write: &Sourced<Write>) -> Option<Moment> {
    let value = &write.value;
    let (what, detail) = match (&value.refusal, &value.action, &value.asked) {
        (Some(words), Action::Bind { node }, _) => (
            "BindingRefused",
            format!("{}: {words}", node.as_deref().unwrap_or("a node")),
        ),
        (Some(words), _, Asked::Set(node)) => ("NominationRefused", format!("to {node}: {words}")),
        (Some(words), _, Asked::Clear) => ("ClearingRefused", words.clone()),
        (Some(words), Action::Delete, _) => ("DeletionRefused", words.clone()),
        (None, Action::Bind { node }, _) => (
            "Bound",
            format!("to {}", node.as_deref().unwrap_or("a node")),
        ),
        (None, Action::Create { node: Some(node) }, _) => {
            ("CreatedOnNode", format!("spec.nodeName {node}"))
        }
        (None, Action::Delete, _) => ("Deleted", "asked for".to_owned()),
        (None, Action::Change, Asked::Set(node)) => ("Nominated", format!("to {node}")),
        (None, Action::Change, Asked::Clear) => ("NominationCleared", String::new()),
        _ => return None,
    };
    Some(Moment {
        at: value.at,
        source: write.source.to_string(),
        actor: value.actor(),
        what: what.to_owned(),
        detail,
    })
}
