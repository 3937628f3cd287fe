//! Which nominations the Pod had: the one that stands, and the traces of those that ended.
//!
//! Sources of the rules: observed on 1.35.4, 1.36.3 and 1.37.2. The field alone tells where; managedFields tell
//! who and when and outlive the binding; a `Preempted` note or a decision tells where after the field is gone.

use jiff::Timestamp;
use serde::Deserialize;

use super::attempts::Hint;
use super::story::Story;
use crate::answer::nomination_explanation::{Decision, Ended, Nomination, NominationKind, Writer};
use crate::model::pod::{FieldOwner, OwnedField};

/// The annotation's JSON; a recommender's own claim.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Annotation {
    id: String,
    node: String,
    recommender: String,
    algorithm: String,
    algorithm_version: String,
    reason: String,
    written_at: Option<String>,
    expires_at: Option<String>,
    withdrawn_at: Option<String>,
}

pub(super) fn find(story: &Story<'_>) -> Vec<Nomination> {
    match &story.account {
        // Who saw each write knows more than what the writes left behind.
        Some(account) => account.nominations.clone(),
        None => of_object(story),
    }
}

/// Those that the object and the events tell of.
pub(super) fn of_object(story: &Story<'_>) -> Vec<Nomination> {
    let pod = story.pod;
    let decision = decision(pod.decision.as_deref());
    let owner = story.nominator();
    let preemption = story.preemptions().pop();
    let mut found = Vec::new();

    // What a Preempted note tells of: a nomination to that node, made at that time.
    let noted = preemption.and_then(|(event, note)| {
        let node = note.node.clone()?;
        Some(Nomination {
            node: Some(node),
            kind: NominationKind::Preemption,
            by: Writer {
                manager: event.value.manager.clone(),
                user: None,
                scheduler: Some(event.value.reporter.clone()),
            },
            from: event.value.first,
            until: None,
            ended: None,
            ended_by: None,
            decision: None,
        })
    });

    if let (Some(node), None) = (&pod.nominated_node, &pod.node) {
        let noted_from = noted
            .as_ref()
            .filter(|noted| noted.node.as_deref() == Some(node))
            .and_then(|noted| noted.from);
        let mut standing = standing(story, node, owner, noted.is_some(), decision.as_ref());
        // Any later patch of the same manager moves the entry's time; the victim's event does not move.
        standing.from = match (standing.from, noted_from) {
            (Some(entry), Some(event)) => Some(entry.min(event)),
            (entry, event) => entry.or(event),
        };
        if pod.deletion.is_some() || story.is_gone() {
            standing.ended = Some(Ended::Deleted);
            standing.until = None;
        }
        if let Some(mut earlier) = noted.filter(|earlier| earlier.node != standing.node) {
            earlier.ended = Some(Ended::Replaced);
            earlier.until = standing.from;
            found.push(earlier);
        }
        if standing.decision.is_none() {
            found.extend(decision.map(|decision| replaced(story, decision, &standing)));
        }
        found.push(standing);
        return found;
    }

    let by_scheduler = owner.is_some_and(|owner| story.is_scheduler(owner));
    let overwritten = decision.clone().filter(|_| by_scheduler);
    let mut last = match (owner, noted, decision) {
        // An outsider was the last to write; its decision, if it left one, says where.
        (Some(owner), noted, decision) if !by_scheduler => {
            let decision = decision
                .filter(|_| owner.owns(OwnedField::Decision) || wrote_decision(story, owner));
            if let Some(mut earlier) = noted {
                earlier.ended = Some(Ended::Replaced);
                earlier.until = owner.time;
                found.push(earlier);
            }
            Some(Nomination {
                node: decision
                    .as_ref()
                    .map(|decision| decision.node.clone())
                    .or_else(|| hinted(story, owner.time)),
                kind: NominationKind::External,
                by: Writer {
                    manager: Some(owner.manager.clone()),
                    user: None,
                    scheduler: None,
                },
                from: owner.time,
                until: None,
                ended: None,
                ended_by: None,
                decision,
            })
        }
        (Some(owner), Some(mut noted), _) => {
            noted.by.manager = Some(owner.manager.clone());
            Some(noted)
        }
        (Some(owner), None, _) => {
            // PreBind leaves the node on the claim, also after the binding.
            let prepared = story.claims().find_map(|claim| claim.selected_node.clone());
            let logged = story.attempts.nominated_before_binding();
            let expected = prepared.is_some() || !owner.owns(OwnedField::ScheduledMessage);
            Some(Nomination {
                node: prepared.or_else(|| logged.map(str::to_owned)),
                kind: if expected {
                    NominationKind::Expectation
                } else {
                    NominationKind::Unknown
                },
                by: Writer {
                    manager: Some(owner.manager.clone()),
                    user: None,
                    scheduler: Some(pod.scheduler_name.clone()),
                },
                from: owner.time,
                until: None,
                ended: None,
                ended_by: None,
                decision: None,
            })
        }
        (None, Some(noted), _) => Some(noted),
        (None, None, Some(decision)) => Some(Nomination {
            node: Some(decision.node.clone()),
            kind: NominationKind::External,
            by: Writer {
                manager: decision_writer(story),
                user: None,
                scheduler: None,
            },
            from: decision.written_at,
            until: None,
            ended: None,
            ended_by: None,
            decision: Some(decision),
        }),
        (None, None, None) => None,
    };
    // A server that does not empty the field with the binding (before 1.35, or with the gate off) leaves it to the kubelet.
    if let Some(node) = &pod.nominated_node {
        let known = last
            .take()
            .filter(|last| last.node.is_none() || last.node.as_ref() == Some(node));
        last = Some(Nomination {
            node: Some(node.clone()),
            ..known.unwrap_or_else(|| standing(story, node, owner, false, None))
        });
    }
    if let Some(last) = &mut last {
        end(story, last, owner.is_some() || pod.nominated_node.is_some());
        found.extend(overwritten.map(|decision| replaced(story, decision, last)));
    }
    found.extend(last);
    found
}

/// Where an outsider's hint pointed that stood at the binding, as the scheduler's log shows it: to the node that could not be evaluated, or to
/// the only one that was.
fn hinted(story: &Story<'_>, written: Option<Timestamp>) -> Option<String> {
    let attempt = story.attempts.binding()?;
    let alone = || {
        let (node, evaluated) = attempt.bound()?;
        (evaluated == 1 && attempt.hint(written) != Hint::Late).then_some(node)
    };
    attempt.failed_node().or_else(alone).map(str::to_owned)
}

/// An outsider's decision after which somebody else wrote the field; its own entry is gone by then (observed, 1.37.2).
fn replaced(story: &Story<'_>, decision: Decision, by: &Nomination) -> Nomination {
    Nomination {
        node: Some(decision.node.clone()),
        kind: NominationKind::External,
        by: Writer {
            manager: decision_writer(story),
            user: None,
            scheduler: None,
        },
        from: decision.written_at,
        until: by.from,
        ended: Some(Ended::Replaced),
        ended_by: by.by.scheduler.clone().or(by.by.manager.clone()),
        decision: Some(decision),
    }
}

/// The manager that owns the decision annotation; its own claim.
fn decision_writer(story: &Story<'_>) -> Option<String> {
    let owners = story.pod.managed_fields.iter().flatten();
    owners
        .filter(|owner| owner.owns(OwnedField::Decision))
        .map(|owner| owner.manager.clone())
        .next()
}

/// The nomination that the field states.
fn standing(
    story: &Story<'_>,
    node: &str,
    owner: Option<&FieldOwner>,
    noted: bool,
    decision: Option<&Decision>,
) -> Nomination {
    let pod = story.pod;
    let by_scheduler = owner.is_some_and(|owner| story.is_scheduler(owner));
    let unschedulable = pod
        .scheduled()
        .is_some_and(|condition| condition.reason.as_deref() == Some("Unschedulable"));
    let kind = match owner {
        Some(_) if by_scheduler && noted => NominationKind::Preemption,
        // An old condition stays while a later attempt prepares the binding: the claim tells (observed on all minors).
        Some(_) if by_scheduler && story.prepared_node() == Some(node) => {
            NominationKind::Expectation
        }
        Some(_) if by_scheduler && unschedulable && !story.claims_are_read() => {
            NominationKind::Unknown
        }
        // Preemption writes condition and field in one patch; a binding that waits writes the field alone.
        Some(_) if by_scheduler && unschedulable => NominationKind::Preemption,
        Some(_) if by_scheduler => NominationKind::Expectation,
        Some(_) => NominationKind::External,
        None if noted => NominationKind::Preemption,
        None if decision.is_some_and(|decision| decision.node == node) => NominationKind::External,
        None => NominationKind::Unknown,
    };
    let scheduler =
        (by_scheduler || kind == NominationKind::Preemption).then(|| pod.scheduler_name.clone());
    Nomination {
        node: Some(node.to_owned()),
        kind,
        by: Writer {
            manager: owner.map(|owner| owner.manager.clone()),
            user: None,
            scheduler,
        },
        from: owner.and_then(|owner| owner.time),
        until: None,
        ended: None,
        ended_by: None,
        decision: decision
            .filter(|decision| kind == NominationKind::External && decision.node == node)
            .cloned(),
    }
}

/// Whether the manager that owns the field also owns the decision annotation, in whichever of its entries.
fn wrote_decision(story: &Story<'_>, owner: &FieldOwner) -> bool {
    story
        .pod
        .managed_fields
        .iter()
        .flatten()
        .any(|other| other.manager == owner.manager && other.owns(OwnedField::Decision))
}

/// How a nomination that no longer stands ended.
fn end(story: &Story<'_>, last: &mut Nomination, stood_at_binding: bool) {
    let Some(binding) = &story.binding else {
        let decision = last.decision.as_ref();
        let withdrawn = decision.and_then(|decision| decision.withdrawn_at);
        // That the decision's time is past by now does not say who emptied the field, or when.
        let is_past = decision
            .and_then(|decision| decision.expires_at)
            .is_some_and(|expires| expires <= story.now);
        last.until = withdrawn;
        last.ended = Some(match withdrawn {
            Some(_) => Ended::Withdrawn,
            None if is_past => Ended::Expired,
            None => Ended::Cleared,
        });
        return;
    };
    if !stood_at_binding && story.traceless().is_none() {
        // Without the owner's entry it was taken back before; when and by whom is not recorded.
        last.ended = Some(Ended::Cleared);
        return;
    }
    last.until = binding.at;
    last.ended_by.clone_from(&binding.by);
    last.ended = last
        .node
        .as_ref()
        .map(|node| Ended::by_binding(Some(node), Some(&binding.node)));
}

/// Reads the annotation; one that is not a decision is no decision.
pub(super) fn decision(annotation: Option<&str>) -> Option<Decision> {
    let read: Annotation = serde_json::from_str(annotation?).ok()?;
    let time = |text: Option<String>| text.and_then(|text| text.parse::<Timestamp>().ok());
    (!read.node.is_empty()).then_some(Decision {
        id: read.id,
        node: read.node,
        recommender: read.recommender,
        algorithm: read.algorithm,
        algorithm_version: read.algorithm_version,
        reason: read.reason,
        written_at: time(read.written_at),
        expires_at: time(read.expires_at),
        withdrawn_at: time(read.withdrawn_at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_that_is_no_decision_is_none() {
        assert_eq!(decision(None), None);
        assert_eq!(decision(Some("n1")), None);
        assert_eq!(decision(Some(r#"{"id":"1"}"#)), None);
        let read = decision(Some(
            r#"{"id":"1","node":"n1","writtenAt":"2026-11-30T08:00:00Z","expiresAt":"soon"}"#,
        ));
        let read = read.expect("it names a node");
        assert_eq!((read.node.as_str(), read.expires_at), ("n1", None));
        assert!(read.written_at.is_some());
    }
}
