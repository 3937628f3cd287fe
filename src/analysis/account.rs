//! The nominations of a Pod as an audit log witnessed them: who set, changed and cleared the field, and who bound the Pod.
//!
//! The log proves the user; it knows only what its level and its rotation kept. What it does not tell, the objects may.

use super::nominations;
use super::story::{Story, write_evidence};
use crate::answer::nomination_explanation::{Ended, Evidence, Nomination, NominationKind, Writer};
use crate::model::world::Sourced;
use crate::model::write::{Action, After, Asked, Write};

/// The user that kube-scheduler authenticates as in every cluster that was seen.
const SCHEDULER: &str = "system:kube-scheduler";

/// What an audit log tells of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    /// Oldest first.
    pub(super) nominations: Vec<Nomination>,
    /// What set the last nomination and what ended it.
    pub(super) evidence: Vec<Evidence>,
    /// Whether every write since the Pod's creation was seen with what it asked for: then "none" means none.
    pub(super) is_whole: bool,
    /// Whether no write after the last that is told of may have changed the field unseen.
    pub(super) is_sure: bool,
}

/// Follows the field through the log. Null where the log tells nothing of nominations.
pub(super) fn of(story: &Story<'_>) -> Option<Account> {
    let pod = story.pod;
    let writes = story.index.writes(pod);
    if writes.is_empty() {
        return None;
    }
    let mut account = Account {
        nominations: Vec::new(),
        evidence: Vec::new(),
        is_whole: false,
        is_sure: true,
    };
    let mut current: Option<Nomination> = None;
    let mut gap = false;
    let mut bound = false;
    let mut last_version = None;
    for write in writes {
        let Sourced { value, .. } = write;
        if !value.is_accepted() {
            continue;
        }
        last_version = last_version.max(value.version);
        match &value.action {
            Action::Create { .. } => account.is_whole = true,
            Action::Bind { node } => {
                bound = true;
                let node = node.as_ref().or(pod.node.as_ref());
                if let Some(mut bound) = current.take() {
                    let how = Ended::by_binding(bound.node.as_ref(), node);
                    end(&mut bound, write, how);
                    account.nominations.push(bound);
                }
                let node = node.map_or("a node", String::as_str);
                account
                    .evidence
                    .push(evidence(write, &format!("bound it to {node}")));
                continue;
            }
            // A binding empties the field, and nobody can set it afterwards (422).
            Action::Change if bound => continue,
            Action::Delete if !bound && pod.node.is_none() => {
                if let Some(mut gone) = current.take() {
                    end(&mut gone, write, Ended::Deleted);
                    account.nominations.push(gone);
                }
                account.evidence.push(evidence(write, "deleted it"));
                continue;
            }
            Action::Delete | Action::Change => {}
        }
        let after = match (&value.after, &value.asked) {
            (After::Node(node), _) | (After::Unlogged, Asked::Set(node)) => Some(node.clone()),
            (After::Empty, _) | (After::Unlogged, Asked::Clear) => None,
            (After::Unlogged, Asked::Keep) => continue,
            (After::Unlogged, Asked::Unknown) => {
                gap = true;
                account.is_sure = false;
                continue;
            }
        };
        account.is_sure = true;
        let before = current.as_ref().and_then(|current| current.node.clone());
        if after == before {
            continue;
        }
        if let Some(mut ended) = current.take() {
            let how = match &after {
                Some(_) => Ended::Replaced,
                None if is_withdrawn(&ended) => Ended::Withdrawn,
                None => Ended::Cleared,
            };
            end(&mut ended, write, how);
            account.nominations.push(ended);
            if after.is_none() {
                account
                    .evidence
                    .push(evidence(write, "emptied status.nominatedNodeName"));
            }
        }
        if let Some(node) = after {
            account.evidence = vec![evidence(
                write,
                &format!("set status.nominatedNodeName to {node}"),
            )];
            // Put back after somebody else's change: the condition stands already, so the patch has the field alone.
            let again = account.nominations.iter().any(|earlier| {
                earlier.kind == NominationKind::Preemption && earlier.node.as_ref() == Some(&node)
            });
            current = Some(nomination(story, value, node, again));
        }
    }
    account.is_whole &= !gap;
    // What the object shows beyond the log's end.
    let is_newer = pod.resource_version > last_version;
    if let Some(mut open) = current {
        match (&pod.node, &pod.nominated_node) {
            (Some(node), _) => {
                open.ended = Some(Ended::by_binding(open.node.as_ref(), Some(node)));
                open.until = story.binding.as_ref().and_then(|binding| binding.at);
            }
            (None, stands) if is_newer && *stands != open.node => {
                open.ended = Some(if stands.is_some() {
                    Ended::Replaced
                } else {
                    Ended::Cleared
                });
            }
            (None, _) if pod.deletion.is_some() => open.ended = Some(Ended::Deleted),
            (None, _) => {}
        }
        account.nominations.push(open);
    }
    let stands = account
        .nominations
        .last()
        .filter(|last| last.ended.is_none());
    if is_newer
        && pod.node.is_none()
        && pod.nominated_node.is_some()
        && stands.is_none_or(|last| last.node != pod.nominated_node)
    {
        // Set after the log ended: the object alone tells.
        account
            .nominations
            .extend(nominations::of_object(story).pop());
        account.evidence.clear();
    }
    (account.is_whole || !account.nominations.is_empty()).then_some(account)
}

fn nomination(story: &Story<'_>, write: &Write, node: String, again: bool) -> Nomination {
    let by_scheduler = write.reports
        || write.user == SCHEDULER
        || story.index.is_placer(write)
        || story
            .index
            .reports_as(&story.pod.scheduler_name, write.manager());
    let kind = match (write.reports, by_scheduler) {
        // Preemption writes condition and field in one patch, an expectation the field alone.
        (true, _) => NominationKind::Preemption,
        (false, true) if again => NominationKind::Preemption,
        (false, true) => NominationKind::Expectation,
        (false, false) => NominationKind::External,
    };
    let decision = nominations::decision(story.pod.decision.as_deref())
        .filter(|decision| kind == NominationKind::External && decision.node == node);
    Nomination {
        node: Some(node),
        kind,
        by: Writer {
            manager: Some(write.manager().to_owned()),
            user: Some(write.user.clone()),
            scheduler: by_scheduler.then(|| story.pod.scheduler_name.clone()),
        },
        from: write.at,
        until: None,
        ended: None,
        ended_by: None,
        decision,
    }
}

fn end(nomination: &mut Nomination, write: &Sourced<Write>, how: Ended) {
    nomination.ended = Some(how);
    nomination.until = write.value.at;
    nomination.ended_by = Some(write.value.user.clone());
}

/// Whether the record of the nomination says that its writer took it back.
fn is_withdrawn(nomination: &Nomination) -> bool {
    let decision = nomination.decision.as_ref();
    decision.is_some_and(|decision| decision.withdrawn_at.is_some())
}

/// What a line of the log states, with the user that the server authenticated.
fn evidence(write: &Sourced<Write>, what: &str) -> Evidence {
    let agent = write.value.manager();
    write_evidence(write, &format!("{what} (agent {agent:?})"))
}
