//! API servers behind one address: connections one after the other, and who was reached by each.
//!
//! An answer does not say which replica gave it. The start of its process and the gates that it runs with tell replicas apart;
//! two that started in one second with the same gates cannot be. Requests of one connection may still reach several, where
//! a balancer looks into them, so the start is looked at again. It must not guess how many there are.

use std::collections::BTreeMap;

use http::Request;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;

use super::connect::Fresh;
use super::failure::{Failure, Peer};
use super::live::Live;
use super::served::request;
use super::{Reply, decode};
use crate::model::component::{ComponentKind, ComponentName, Document, GateTable, Statement, Told};
use crate::model::coverage::State;
use crate::model::fact::{Content, Fact};
use crate::model::want::{Want, path};

const KIND: ComponentKind = ComponentKind::KubeApiserver;

/// Connections that are made at least, and for each replica that is expected.
const LEAST: usize = 8;
const FOR_EACH: usize = 4;

/// More replicas than any cluster has; leases are only objects, and somebody may write many.
const MOST: usize = 64;

/// Connections that may fail before no more are made.
const FAILURES: usize = 3;

/// What tells a replica from another: its start, to the second, and its gates.
type Mark = (Option<Timestamp>, Option<GateTable>);

/// What each replica told.
type Seen = BTreeMap<Mark, Vec<(Document, Told)>>;

impl Live {
    /// Connects again and again, and reads each replica that was not read before.
    pub(super) async fn sampled(&self, want: &Want, expected: Option<usize>) -> Reply {
        let mut reply = Reply::new(want);
        let fresh = match Fresh::of(self.connection()).await {
            Ok(fresh) => fresh,
            Err(error) => {
                reply.state = State::Unreachable;
                reply.detail = Some(error.to_string());
                return reply;
            }
        };
        let mut seen = Seen::new();
        let mut failures = Vec::new();
        let mut tried = 0;
        let bound = LEAST.max(FOR_EACH * expected.unwrap_or_default().min(MOST));
        while tried < bound && failures.len() < FAILURES {
            if tried >= LEAST && expected.is_some_and(|expected| seen.len() >= expected) {
                break;
            }
            tried += 1;
            match self.sample(&fresh, &mut seen).await {
                Ok(()) => {}
                Err(failure) => {
                    let is_denied = failure.state == State::Denied;
                    failures.push(failure);
                    if is_denied {
                        break;
                    }
                }
            }
        }
        (reply.state, reply.detail) = outcome(&seen, &failures, tried, expected);
        for (component, told) in named(seen) {
            let statements: Vec<Statement> = told
                .into_iter()
                .map(|(document, told)| Statement {
                    component: component.clone(),
                    document,
                    told,
                })
                .collect();
            if self.tape().is_some() {
                reply.kept.push(decode::statements::object(&statements));
            }
            reply.facts.push(Fact {
                source: self.source().name.into(),
                content: Content::Statements(statements),
            });
        }
        reply
    }

    /// One connection: whom it reaches, and, where that is somebody new, what else they tell.
    async fn sample(&self, fresh: &Fresh, seen: &mut Seen) -> Result<(), Failure> {
        let client = fresh.client().map_err(|error| Failure {
            state: State::Unreachable,
            detail: error.to_string(),
        })?;
        let ask = async |document: Document, is_short: bool| {
            let request = request(document, path(document))?;
            let send = async || sent(&client, &fresh.peer, &request).await;
            self.exchange(send, KIND, document, is_short).await
        };
        let answer = ask(Document::Metrics, false).await?;
        let started = answer.started;
        let told = answer.told();
        let gates = told.iter().find_map(|told| match told {
            Told::Runs(gates) => Some(gates.clone()),
            _ => None,
        });
        let mark = (started, gates);
        if seen.contains_key(&mark) {
            return Ok(());
        }
        let mut all: Vec<(Document, Told)> = told
            .into_iter()
            .map(|told| (Document::Metrics, told))
            .collect();
        let mut others = Vec::new();
        for document in [Document::Flagz, Document::Statusz, Document::Version] {
            // Who does not serve it, or may not be asked, is known by metrics all the same.
            let Ok(answer) = ask(document, false).await else {
                continue;
            };
            others.extend(answer.told().into_iter().map(|told| (document, told)));
        }
        let again = ask(Document::Metrics, true).await?.started;
        if again == started {
            all.extend(others);
        }
        seen.insert(mark, all);
        Ok(())
    }
}

async fn sent(
    client: &Client,
    peer: &Peer,
    request: &Request<Vec<u8>>,
) -> Result<http::Response<Body>, Failure> {
    let (parts, body) = request.clone().into_parts();
    let sent = client.send(Request::from_parts(parts, Body::from(body)));
    sent.await.map_err(|error| peer.unreachable(&error))
}

/// A name for each: its start, and a number where several started in one second.
fn named(seen: Seen) -> Vec<(ComponentName, Vec<(Document, Told)>)> {
    let mut of_second: BTreeMap<Option<Timestamp>, usize> = BTreeMap::new();
    for (started, _) in seen.keys() {
        *of_second.entry(*started).or_default() += 1;
    }
    let mut numbers: BTreeMap<Option<Timestamp>, usize> = BTreeMap::new();
    seen.into_iter()
        .map(|((started, _), told)| {
            let number = numbers.entry(started).or_default();
            *number += 1;
            let at = started.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
            let identity = match of_second.get(&started) {
                Some(1) | None => format!("started-{at}"),
                Some(_) => format!("started-{at}-{number}"),
            };
            (ComponentName::new(KIND, identity), told)
        })
        .collect()
}

/// What came of it, in a sentence where not all is well.
fn outcome(
    seen: &Seen,
    failures: &[Failure],
    tried: usize,
    expected: Option<usize>,
) -> (State, Option<String>) {
    let last = failures.last();
    if let (true, Some(last)) = (seen.is_empty(), last) {
        return (last.state, Some(last.detail.clone()));
    }
    let reached = format!("{tried} connections reached {}", replicas(seen.len()));
    let unsure = match expected {
        Some(expected) if seen.len() >= expected => None,
        Some(expected) => Some(format!(
            "{reached}, and leases and addresses tell of {expected}: a balancer may keep to one, two that started in one \
             second with the same gates look like one, and one that is gone keeps its lease for an hour"
        )),
        None => Some(format!(
            "{reached}; how many there are is not known: neither leases nor addresses could be read"
        )),
    };
    let failed = last.map(|last| {
        let count = failures.len();
        format!("{count} of {tried} connections failed: {}", last.detail)
    });
    let details: Vec<String> = unsure.into_iter().chain(failed).collect();
    if details.is_empty() {
        (State::Complete, None)
    } else {
        (State::Partial, Some(details.join("; ")))
    }
}

fn replicas(count: usize) -> String {
    match count {
        1 => "1 API server".to_owned(),
        count => format!("{count} API servers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(marks: &[(Option<i64>, bool)]) -> Seen {
        let mark = |(second, on): &(Option<i64>, bool)| {
            let started = second.map(|second| Timestamp::from_second(second).expect("a time"));
            (
                (
                    started,
                    Some(BTreeMap::from([("A".to_owned(), *on)]).into()),
                ),
                Vec::new(),
            )
        };
        marks.iter().map(mark).collect()
    }

    #[test]
    fn those_of_one_second_are_told_apart_by_their_gates() {
        let seen = seen(&[
            (Some(0), true),
            (Some(0), false),
            (Some(1), true),
            (None, true),
        ]);
        let names: Vec<String> = named(seen)
            .into_iter()
            .map(|(name, _)| name.to_string())
            .collect();
        assert_eq!(
            names,
            [
                "kube-apiserver/started-unknown",
                "kube-apiserver/started-1970-01-01T00:00:00Z-1",
                "kube-apiserver/started-1970-01-01T00:00:00Z-2",
                "kube-apiserver/started-1970-01-01T00:00:01Z",
            ]
        );
    }

    #[test]
    fn fewer_than_expected_or_an_unknown_number_is_not_all() {
        let one = seen(&[(Some(0), true)]);
        let state = |expected| outcome(&one, &[], 8, expected).0;
        assert_eq!(state(Some(1)), State::Complete);
        assert_eq!(state(Some(2)), State::Partial);
        assert_eq!(state(None), State::Partial);
        let gone = || Failure {
            state: State::Unreachable,
            detail: "gone".to_owned(),
        };
        assert_eq!(outcome(&one, &[gone()], 8, Some(1)).0, State::Partial);
        assert_eq!(
            outcome(&Seen::new(), &[gone()], 8, Some(1)).0,
            State::Unreachable
        );
    }
}
