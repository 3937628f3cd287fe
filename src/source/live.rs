//! The live API server: requests, and what its refusals mean.
//!
//! It only reads (GET); the one POST is the review in `access.rs`, which stores nothing. Each request has its own time limit; nothing is retried, so that an answer is quick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use http::{Request, StatusCode};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;

use super::kubeconfig::{self, ConnectError, Connection};
use super::{Reply, document};
use crate::model::access::Right;
use crate::model::coverage::{Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::want::Want;

/// Items a page, as kubectl's `--chunk-size`.
const PAGE: usize = 500;

/// Requests under way at a time.
pub(super) const AT_ONCE: usize = 16;

/// More pages than any list that is asked for here needs.
const MAX_PAGES: usize = 40;

pub(crate) struct Live {
    client: Client,
    server: String,
    context: Option<String>,
    namespace: String,
    timeout: Option<Duration>,
    /// Version of the Pod that was read: later lists must not be older than it.
    not_older_than: AtomicU64,
}

/// A request that gave no object.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) state: State,
    pub(super) detail: String,
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

/// The server's Status object (meta/v1), as far as its refusals need it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
}

impl Live {
    /// Makes a client; sends nothing yet.
    pub(crate) async fn connect(
        connection: &Connection,
        in_cluster: bool,
    ) -> Result<Self, ConnectError> {
        let chosen = kubeconfig::choose(connection, in_cluster).await?;
        let mut config = chosen.config;
        // kube's own retries are made for controllers: a command would sit on a 503 for minutes.
        config.default_retry = false;
        config.connect_timeout = connection.request_timeout;
        let server = config
            .cluster_url
            .to_string()
            .trim_end_matches('/')
            .to_owned();
        let namespace = config.default_namespace.clone();
        let client = Client::try_from(config).map_err(ConnectError::Client)?;
        Ok(Self {
            client,
            server,
            context: chosen.context,
            namespace,
            timeout: connection.request_timeout,
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
        if let (Want::Node(_), State::Absent) = (want, reply.state) {
            // The server answered in full: there is no such Node.
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
            if token.is_empty() {
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
            .body(Body::empty())
            .map_err(unusable)?;
        self.send(request).await
    }

    /// One request, within the time limit; anything but a success is a failure.
    pub(super) async fn send(&self, request: Request<Body>) -> Result<Page, Failure> {
        tracing::debug!(path = %request.uri(), "{}", request.method());
        let exchange = async {
            let response = self.client.send(request).await?;
            let status = response.status();
            let clock = response
                .headers()
                .get(http::header::DATE)
                .and_then(|date| date.to_str().ok())
                .and_then(|date| jiff::fmt::rfc2822::parse(date).ok())
                .map(|date| date.timestamp());
            let bytes = response.into_body().collect_bytes().await?.to_vec();
            Ok::<_, kube::Error>((status, clock, bytes))
        };
        let (status, clock, bytes) = self.in_time(exchange).await?;
        if status.is_success() {
            return Ok(Page { bytes, clock });
        }
        Err(refusal(status, &bytes))
    }

    /// Sends a request whose answer goes on and on; the time limit is for its beginning.
    pub(super) async fn open(&self, request: Request<Body>) -> Result<Body, Failure> {
        tracing::debug!(path = %request.uri(), "WATCH");
        let response = self.in_time(self.client.send(request)).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let bytes = self.in_time(response.into_body().collect_bytes()).await?;
        Err(refusal(status, &bytes))
    }

    /// Does what is asked within the time limit.
    async fn in_time<T>(
        &self,
        exchange: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        let Some(limit) = self.timeout else {
            return exchange.await.map_err(|error| self.unreachable(&error));
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(outcome) => outcome.map_err(|error| self.unreachable(&error)),
            Err(_) => Err(Failure {
                state: State::Unreachable,
                detail: format!(
                    "Unable to connect to the server: {} gave no answer within {}s",
                    self.server,
                    limit.as_secs_f64()
                ),
            }),
        }
    }

    /// The time limit of a request.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// A failed connection in kubectl's words.
    fn unreachable(&self, error: &kube::Error) -> Failure {
        let mut deepest = error.to_string();
        let mut next: Option<&dyn std::error::Error> = Some(error);
        let mut refused = false;
        while let Some(cause) = next {
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                refused |= io.kind() == std::io::ErrorKind::ConnectionRefused;
            }
            deepest = cause.to_string();
            next = cause.source();
        }
        let server = self.server.split("://").last().unwrap_or(&self.server);
        let detail = if refused {
            format!(
                "The connection to the server {server} was refused - did you specify the right host or port?"
            )
        } else {
            format!("Unable to connect to the server {server}: {deepest}")
        };
        Failure {
            state: State::Unreachable,
            detail,
        }
    }
}

/// What an HTTP status means, in kubectl's sentence.
fn refusal(status: StatusCode, body: &[u8]) -> Failure {
    let answer: Status = serde_json::from_slice(body).unwrap_or_default();
    let state = match status {
        StatusCode::NOT_FOUND => State::Absent,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => State::Denied,
        StatusCode::GONE => State::Expired,
        StatusCode::GATEWAY_TIMEOUT if answer.message.contains("Too large resource version") => {
            State::Expired
        }
        // The server is there, and does not understand us.
        StatusCode::BAD_REQUEST | StatusCode::NOT_ACCEPTABLE | StatusCode::UNPROCESSABLE_ENTITY => {
            State::Unreadable
        }
        _ => State::Unreachable,
    };
    let reason = if answer.reason.is_empty() {
        status
            .canonical_reason()
            .unwrap_or("Unknown")
            .replace(' ', "")
    } else {
        answer.reason
    };
    let detail = if status == StatusCode::UNAUTHORIZED {
        "error: You must be logged in to the server (Unauthorized)".to_owned()
    } else if answer.message.is_empty() {
        format!(
            "Error from server ({reason}): the server answered {} without a message",
            status.as_u16()
        )
    } else {
        format!("Error from server ({reason}): {}", answer.message)
    };
    Failure { state, detail }
}

/// The request for a want by one of its rights.
fn path(want: &Want, right: &Right) -> String {
    let mut query = selectors(want, right);
    // Without a limit the cache answers the Pods of a node from its index.
    if right.verb == "list" && !matches!(want, Want::PodsOnNode(_)) {
        query.push(format!("limit={PAGE}"));
    }
    place(right) + &joined(&query)
}

/// The request that follows a want by one of its rights to watch, from a version of it on if there is one.
pub(super) fn watch_path(
    want: &Want,
    right: &Right,
    version: Option<&str>,
    seconds: u64,
) -> String {
    let mut query = selectors(want, right);
    // The server takes a watch of this one field for one of the object, so that a right to the name is enough.
    if let Some(name) = &right.name {
        query.push(format!("fieldSelector=metadata.name%3D{}", encode(name)));
    }
    query.push("watch=true".to_owned());
    query.push("allowWatchBookmarks=true".to_owned());
    query.push(format!("timeoutSeconds={seconds}"));
    query.extend(version.map(|version| format!("resourceVersion={}", encode(version))));
    let all = Right {
        name: None,
        ..right.clone()
    };
    place(&all) + &joined(&query)
}

fn joined(query: &[String]) -> String {
    if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    }
}

/// What the server is to select by.
fn selectors(want: &Want, right: &Right) -> Vec<String> {
    let events = right.group == "events.k8s.io";
    let about = if events {
        "regarding"
    } else {
        "involvedObject"
    };
    let fields = match want {
        Want::Pod(_)
        | Want::Workload(..)
        | Want::Node(_)
        | Want::Claim(_)
        | Want::PodOfUid { .. }
        | Want::ServerVersion => return Vec::new(),
        Want::Pods { labels, fields, .. } => {
            let of = |name: &str, selector: String| {
                (!selector.is_empty()).then(|| format!("{name}={}", encode(&selector)))
            };
            let labels = of("labelSelector", labels.to_string());
            let fields = of("fieldSelector", fields.to_string());
            return labels.into_iter().chain(fields).collect();
        }
        Want::EventsAboutPods { .. } => format!("{about}.kind=Pod"),
        Want::EventsAbout { uid, .. } => format!("{about}.uid={}", uid.0),
        Want::NominatedPods => "status.nominatedNodeName!=".to_owned(),
        Want::PodsOnNode(name) => format!("spec.nodeName={name}"),
        Want::PreemptedEvents => format!("reason=Preempted,{about}.kind=Pod"),
    };
    vec![format!("fieldSelector={}", encode(&fields))]
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
        let right = &hostile.watch_rights()[0];
        assert_eq!(
            watch_path(&hostile, right, Some("7&x"), 30),
            "/api/v1/namespaces/%2E%2E/pods?fieldSelector=metadata.name%3Da%2Fstatus%3Fx%3D1%26y%23z&watch=true&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=7%26x"
        );
    }

    #[test]
    fn refusals_speak_as_kubectl_does() {
        let body = br#"{"kind":"Status","status":"Failure","message":"pods \"x\" not found","reason":"NotFound","code":404}"#;
        let failure = refusal(StatusCode::NOT_FOUND, body);
        assert_eq!(
            (failure.state, failure.detail.as_str()),
            (
                State::Absent,
                "Error from server (NotFound): pods \"x\" not found"
            )
        );
        let bare = refusal(StatusCode::BAD_GATEWAY, b"<html>");
        assert_eq!(bare.state, State::Unreachable);
        assert!(bare.detail.starts_with("Error from server (BadGateway)"));
    }
}
