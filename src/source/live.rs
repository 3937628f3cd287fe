//! The live API server: requests, and what its refusals mean.
//!
//! It only reads (GET); the one POST is the review in `access.rs`, which stores nothing. Each request has its own time limit,
//! which its few retries (`retry.rs`) share, so that an answer is quick.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::connect::{self, ConnectError};
use super::failure::{Failure, Peer, refusal};
use super::kubeconfig::Connection;
use super::{Reply, document, retry};
use crate::model::access::Right;
use crate::model::coverage::{Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::want::Want;

/// Items a page, as kubectl's `--chunk-size`.
const PAGE: usize = 500;

/// Requests under way at a time.
pub(super) const AT_ONCE: usize = 16;

/// More bytes than any page has; an answer without end must not fill the memory.
const MAX_BODY: usize = 256 << 20;

/// A million objects: a bound against a list that never ends.
const MAX_PAGES: usize = 2_000;

pub(crate) struct Live {
    access: Mutex<Access>,
    connection: Connection,
    server: String,
    context: Option<String>,
    namespace: String,
    timeout: Option<Duration>,
    peer: Peer,
    /// Version of the Pod that was read: later lists must not be older than it.
    not_older_than: AtomicU64,
}

/// The client, and how it came to be.
#[derive(Clone)]
struct Access {
    client: Client,
    is_renewable: bool,
    /// How often credentials were got anew.
    renewals: u32,
}

pub(super) struct Page {
    pub(super) bytes: Vec<u8>,
    pub(super) clock: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Continuation {
    metadata: ListMetadata,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue", default)]
    token: String,
}

impl Live {
    /// Makes a client; sends nothing yet.
    pub(crate) async fn connect(connection: &Connection) -> Result<Self, ConnectError> {
        let connected = connect::connect(connection).await?;
        let server = connected.server.to_string();
        Ok(Self {
            access: Mutex::new(Access {
                client: connected.client,
                is_renewable: connected.is_renewable,
                renewals: 0,
            }),
            connection: connection.clone(),
            server: server.trim_end_matches('/').to_owned(),
            context: connected.context,
            namespace: connected.namespace,
            timeout: connection.request_timeout,
            peer: connected.peer,
            not_older_than: AtomicU64::new(0),
        })
    }

    pub(crate) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Namespace of the context.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn source(&self) -> Source {
        Source {
            name: self.server.clone(),
            kind: "live".to_owned(),
        }
    }

    /// Sends the requests of one round together, a bounded number at a time.
    pub(super) async fn ask(&self, wants: &[Want]) -> Vec<Reply> {
        stream::iter(wants)
            .map(|want| self.ask_one(want))
            .buffered(AT_ONCE)
            .collect()
            .await
    }

    async fn ask_one(&self, want: &Want) -> Reply {
        let rights = want.rights();
        let mut paths = rights.iter().map(|right| path(want, right));
        let mut reply = self.read_all(want, &paths.next().unwrap_or_default()).await;
        for other in paths {
            if reply.state != State::Denied {
                break;
            }
            let second = self.read_all(want, &other).await;
            if second.state == State::Complete {
                reply = second;
            }
        }
        if let (Want::Node(_) | Want::Victim(_), State::Absent) = (want, reply.state) {
            // The server answered in full: there is no such object.
            reply.state = State::Complete;
        }
        if let Want::Pod(_) | Want::Pods { .. } | Want::PodOfUid { .. } = want {
            for fact in &reply.facts {
                if let Content::Pod(pod) = &fact.content {
                    self.not_older_than.fetch_max(
                        pod.resource_version.map_or(0, |version| version.0),
                        Ordering::Relaxed,
                    );
                }
            }
        }
        reply
    }

    /// Reads all pages. What was read before a page failed is kept, and the state says so.
    async fn read_all(&self, want: &Want, path: &str) -> Reply {
        let mut reply = Reply {
            want: want.clone(),
            facts: Vec::new(),
            state: State::Complete,
            detail: None,
            clock: None,
        };
        let source = self.source().name;
        let mut token = String::new();
        for _ in 0..MAX_PAGES {
            let page = match self.page(want, path, &token).await {
                Ok(page) => page,
                Err(failure) => {
                    reply.state = if token.is_empty() {
                        failure.state
                    } else {
                        State::Partial
                    };
                    reply.detail = Some(failure.detail);
                    return reply;
                }
            };
            reply.clock = reply.clock.max(page.clock);
            let reading = document::read(&page.bytes);
            reply.facts.extend(
                reading
                    .contents
                    .into_iter()
                    .filter(|content| keeps(want, content))
                    .map(|content| Fact {
                        source: source.clone(),
                        content,
                    }),
            );
            if !reading.faults.is_empty() {
                reply.state = if reply.facts.is_empty() {
                    State::Unreadable
                } else {
                    State::Partial
                };
                reply.detail = Some(format!(
                    "the server's answer is not what was asked for: {}",
                    reading.faults.join("; ")
                ));
                return reply;
            }
            token = serde_json::from_slice::<Continuation>(&page.bytes)
                .map(|list| list.metadata.token)
                .unwrap_or_default();
            // One is all that was asked for, however many there are.
            if token.is_empty() || matches!(want, Want::AnyEventBy(_)) {
                return reply;
            }
        }
        reply.state = State::Partial;
        reply.detail = Some(format!(
            "only the first {} objects were read",
            PAGE * MAX_PAGES
        ));
        reply
    }

    async fn page(&self, want: &Want, path: &str, token: &str) -> Result<Page, Failure> {
        let floor = self.not_older_than.load(Ordering::Relaxed);
        // The cache answers an indexed list at once; the floor keeps it from telling of the past.
        let cached = matches!(want, Want::PodsOnNode(_)) && token.is_empty() && floor > 0;
        if cached {
            let from_cache =
                format!("{path}&resourceVersion={floor}&resourceVersionMatch=NotOlderThan");
            match self.get(&from_cache).await {
                // "Too large resource version": the cache lags; the consistent read below does not.
                Err(failure) if failure.state == State::Expired => {}
                other => return other,
            }
        }
        if token.is_empty() {
            self.get(path).await
        } else {
            self.get(&format!("{path}&continue={}", encode(token)))
                .await
        }
    }

    /// One GET, within the time limit.
    async fn get(&self, path: &str) -> Result<Page, Failure> {
        let unusable = |error: http::Error| Failure {
            state: State::Unreadable,
            detail: error.to_string(),
        };
        let request = Request::get(path)
            .header("Accept", "application/json")
            .body(Vec::new())
            .map_err(unusable)?;
        self.send(request).await
    }

    /// One request, sent again while the server is busy, all within the time limit; anything but a success is a failure.
    pub(super) async fn send(&self, request: Request<Vec<u8>>) -> Result<Page, Failure> {
        tracing::debug!(path = %request.uri(), "{}", request.method());
        let answered = Cell::new(false);
        let deadline = self.timeout.map(|limit| Instant::now() + limit);
        let mut tried = 0;
        let mut renewed = false;
        let exchange = async {
            loop {
                let access = self.access.lock().await.clone();
                let (status, headers, bytes) =
                    self.exchange(&access.client, &request, &answered).await?;
                if status == StatusCode::UNAUTHORIZED && access.is_renewable && !renewed {
                    renewed = true;
                    self.renew(access.renewals).await?;
                    continue;
                }
                tried += 1;
                if status.is_success() {
                    let clock = clock(&headers);
                    return Ok(Page { bytes, clock });
                }
                let pause = retry::pause(tried, status, &headers)
                    .filter(|pause| deadline.is_none_or(|end| Instant::now() + *pause < end));
                let Some(pause) = pause else {
                    return Err(refusal(status, &headers, &bytes));
                };
                tracing::debug!(status = status.as_u16(), "sent again in {pause:?}");
                tokio::time::sleep(pause).await;
            }
        };
        match self.timeout {
            Some(limit) => tokio::time::timeout(limit, exchange)
                .await
                .unwrap_or_else(|_| Err(self.peer.late(limit, answered.get()))),
            None => exchange.await,
        }
    }

    /// Gets credentials anew, unless another request has done so since; an expired token is no reason to end a watch.
    async fn renew(&self, renewals: u32) -> Result<(), Failure> {
        let mut access = self.access.lock().await;
        if access.renewals > renewals {
            return Ok(());
        }
        let denied = |error: ConnectError| Failure {
            state: State::Denied,
            detail: format!("error: You must be logged in to the server: {error}"),
        };
        let connected = connect::connect(&self.connection).await.map_err(denied)?;
        access.client = connected.client;
        access.renewals += 1;
        Ok(())
    }

    /// Sends once and reads the whole answer, within bounds.
    async fn exchange(
        &self,
        client: &Client,
        request: &Request<Vec<u8>>,
        answered: &Cell<bool>,
    ) -> Result<(StatusCode, HeaderMap, Vec<u8>), Failure> {
        let (parts, body) = request.clone().into_parts();
        let request = Request::from_parts(parts, Body::from(body));
        answered.set(false);
        let response = client
            .send(request)
            .await
            .map_err(|error| self.peer.unreachable(&error))?;
        answered.set(true);
        let (parts, body) = response.into_parts();
        let bytes = Limited::new(body, MAX_BODY).collect().await;
        let bytes = bytes.map_err(|error| self.peer.unreachable(error.as_ref()))?;
        Ok((parts.status, parts.headers, bytes.to_bytes().to_vec()))
    }
}

/// The server's own time.
fn clock(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(http::header::DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::parse(date).ok()?;
    Some(date.timestamp())
}

/// The request for a want by one of its rights.
fn path(want: &Want, right: &Right) -> String {
    let events = right.group == "events.k8s.io";
    let about = if events {
        "regarding"
    } else {
        "involvedObject"
    };
    let query = match want {
        Want::Pod(_)
        | Want::Victim(_)
        | Want::Workload(..)
        | Want::Node(_)
        | Want::Claim(_)
        | Want::ServerVersion => String::new(),
        Want::Pods { labels, fields, .. } => {
            let of = |name: &str, selector: String| {
                if selector.is_empty() {
                    selector
                } else {
                    format!("{name}={}&", encode(&selector))
                }
            };
            let labels = of("labelSelector", labels.to_string());
            let fields = of("fieldSelector", fields.to_string());
            format!("?{labels}{fields}limit={PAGE}")
        }
        Want::PodOfUid { .. } => format!("?limit={PAGE}"),
        Want::EventsAboutPods { .. } => {
            format!("?fieldSelector={about}.kind%3DPod&limit={PAGE}")
        }
        Want::EventsAbout { uid, .. } => {
            format!(
                "?fieldSelector={about}.uid%3D{}&limit={PAGE}",
                encode(&uid.0)
            )
        }
        Want::NominatedPods => {
            format!("?fieldSelector=status.nominatedNodeName%21%3D&limit={PAGE}")
        }
        // Without a limit the cache answers from its index.
        Want::PodsOnNode(name) => format!("?fieldSelector=spec.nodeName%3D{}", encode(name)),
        Want::AnyEventBy(scheduler) => {
            let by = if events {
                "reportingController"
            } else {
                "reportingComponent"
            };
            format!("?fieldSelector={by}%3D{}&limit=1", encode(scheduler))
        }
        Want::PreemptedEvents => {
            format!("?fieldSelector=reason%3DPreempted%2C{about}.kind%3DPod&limit={PAGE}")
        }
    };
    place(right) + &query
}

/// Whether an object is what was asked for: the server cannot select by every question.
fn keeps(want: &Want, content: &Content) -> bool {
    match (want, content) {
        (Want::PodOfUid { uid, .. }, Content::Pod(pod)) => pod.uid == *uid,
        _ => true,
    }
}

/// Where the objects of a right are.
fn place(right: &Right) -> String {
    if right.is_path() {
        return right.resource.to_owned();
    }
    let root = match right.group {
        "" => "/api/v1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    let part = |word: &str, value: Option<&String>| {
        value.map_or_else(String::new, |value| format!("/{word}{}", encode(value)))
    };
    [
        root,
        part("namespaces/", right.namespace.as_ref()),
        format!("/{}", right.resource),
        part("", right.name.as_ref()),
    ]
    .concat()
}

/// Percent-encodes what may not stand in a path segment or query value, so that no name can change the request.
fn encode(text: &str) -> String {
    use std::fmt::Write;
    text.bytes()
        .fold(String::with_capacity(text.len()), |mut encoded, byte| {
            if byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'_' | b'~')
                || (byte == b'.' && text.len() > 2)
            {
                encoded.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                write!(encoded, "%{byte:02X}").unwrap_or_default();
            }
            encoded
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pod::PodName;

    #[test]
    fn no_name_can_change_the_request() {
        let hostile = Want::Pod(PodName {
            namespace: "..".to_owned(),
            name: "a/status?x=1&y#z".to_owned(),
        });
        let first = |want: &Want| path(want, &want.rights()[0]);
        assert_eq!(
            first(&hostile),
            "/api/v1/namespaces/%2E%2E/pods/a%2Fstatus%3Fx%3D1%26y%23z"
        );
        assert_eq!(
            first(&Want::Node("ip-10-0-0-1.example".to_owned())),
            "/api/v1/nodes/ip-10-0-0-1.example"
        );
    }
}
