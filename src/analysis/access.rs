//! `nominate explain --show-access`: the rights that an explanation may come to need, and what the server says of them.
//!
//! The reads are those of `explain`, so that the list cannot differ from what is read (a property test compares them).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::explain;
use super::select::Request;
use crate::answer::access_report::{AccessReport, AccessRight};
use crate::answer::{API_VERSION, Header};
use crate::model::access::{Allowed, Permission, Right};
use crate::model::change::Change;
use crate::model::coverage::Source;
use crate::model::want::Want;

/// A right to be asked for, with those that would do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// The first is used where it is granted, else the next.
    pub(crate) rights: Vec<Right>,
    /// Reasons of all reads that need it.
    whys: Vec<&'static str>,
}

/// Why a right to watch is wanted, where the read itself says what for.
const TO_FOLLOW: &str =
    "to hear of its changes at once; without it they are looked for again and again";

/// Why a right to the way is wanted, where the read itself says what for.
const ON_THE_WAY: &str = "to reach schedulers and controller managers through their Pods";

/// All rights that an explanation may need, the most needed first; then those that following it needs.
pub(crate) fn questions(request: &Request, follows: bool) -> Vec<Question> {
    of_wants(&explain::possible(request), follows)
}

/// The rights that reads need, in their order.
pub(crate) fn of_wants(wants: &[Want], follows: bool) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    let mut ask = |rights: Vec<Right>, why: &'static str| match questions
        .iter_mut()
        .find(|question| question.rights == rights)
    {
        _ if rights.is_empty() => {}
        Some(question) if question.whys.contains(&why) => {}
        Some(question) => question.whys.push(why),
        None => questions.push(Question {
            rights,
            whys: vec![why],
        }),
    };
    for want in wants {
        for right in want.rights_on_the_way() {
            ask(vec![right], ON_THE_WAY);
        }
        ask(want.rights(), want.why());
    }
    for want in wants.iter().filter(|_| follows) {
        ask(want.watch_rights(), TO_FOLLOW);
    }
    questions
}

/// The rights that changes need, whatever the objects are called.
pub(crate) fn of_changes<'c>(
    changes: impl IntoIterator<Item = &'c Change>,
    why: &'static str,
) -> Vec<Question> {
    let removals = |change: &Change| {
        [
            Some(change.right.clone()),
            change.removal().map(|it| it.right),
        ]
    };
    let rights = changes.into_iter().flat_map(removals).flatten();
    let rights: BTreeSet<Right> = rights
        .map(|right| Right {
            name: None,
            ..right
        })
        .collect();
    let question = |right| Question {
        rights: vec![right],
        whys: vec![why],
    };
    rights.into_iter().map(question).collect()
}

/// The report of what the server said of each right. Nothing in it is judged by a clock.
pub(crate) fn report(
    questions: &[Question],
    permissions: &BTreeMap<Right, Permission>,
    source: Source,
    generated_at: Timestamp,
) -> AccessReport {
    AccessReport {
        header: Header {
            api_version: API_VERSION,
            kind: "AccessReport",
            generated_at,
            now: generated_at,
            sources: vec![source],
            coverage: Vec::new(),
        },
        rights: questions
            .iter()
            .filter_map(|question| row(question, permissions))
            .collect(),
    }
}

/// The right that is granted, else the one that would be tried first.
fn row(question: &Question, permissions: &BTreeMap<Right, Permission>) -> Option<AccessRight> {
    let answers: Vec<(&Right, &Permission)> = question
        .rights
        .iter()
        .filter_map(|right| permissions.get_key_value(right))
        .collect();
    let granted = answers
        .iter()
        .find(|(_, permission)| permission.allowed == Allowed::Yes);
    // A refusal of one leaves the question open while another is unknown.
    let open = answers
        .iter()
        .find(|(_, permission)| permission.allowed == Allowed::Unknown);
    let (right, permission) = granted.or(open).or(answers.first())?;
    Some(AccessRight {
        verb: right.verb,
        resource: right.resource,
        group: right.group,
        namespace: right.namespace.clone(),
        name: right.name.clone(),
        why: question.whys.join("; "),
        allowed: permission.allowed,
        detail: permission.detail.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Allowed::{No, Unknown, Yes};

    #[test]
    fn one_of_the_event_apis_is_enough() {
        let question = Question {
            rights: vec![
                Right::list("", "events", None),
                Right::list("events.k8s.io", "events", None),
            ],
            whys: vec!["a", "b"],
        };
        let of = |core: Allowed, other: Allowed| {
            let permission = |allowed| Permission {
                allowed,
                detail: None,
            };
            let permissions = question
                .rights
                .iter()
                .cloned()
                .zip([core, other].map(permission))
                .collect();
            row(&question, &permissions).map(|row| (row.group, row.allowed))
        };
        assert_eq!(of(Yes, Yes), Some(("", Yes)));
        assert_eq!(of(No, Yes), Some(("events.k8s.io", Yes)));
        assert_eq!(of(Unknown, Yes), Some(("events.k8s.io", Yes)));
        assert_eq!(of(No, Unknown), Some(("events.k8s.io", Unknown)));
        assert_eq!(of(No, No), Some(("", No)));
    }
}
