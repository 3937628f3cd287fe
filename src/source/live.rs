//! The live API server: requests, and what its refusals mean.
//!
//! It only reads (GET), beside the review in `access.rs`, a POST that stores nothing; what `apply` writes goes through it. Each request has its own time limit,
//! which its few retries (`retry.rs`) share, so that an answer is quick.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt};
use http::response::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use kube::client::Body;
use kube::{Client, Config};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::bundle::Tape;
use super::connect::{self, ConnectError};
use super::document::{self, Reduce};
use super::failure::{Failure, Peer, refusal};
use super::forward::Forward;
use super::kubeconfig::Connection;
use super::pin::Fingerprint;
use super::served::Peers;
use super::{Reply, retry};
use crate::model::access::Right;
use crate::model::component::{ComponentKind, ComponentName, GateTable};
use crate::model::coverage::{Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::pod::PodName;
use crate::model::want::Want;

/// Items a page, as kubectl's `--chunk-size`.
const PAGE: usize = 500;

/// Requests under way at a time.
pub(super) const AT_ONCE: usize = 16;

/// Documents of components under way at a time: small answers of many servers.
const DOCUMENTS_AT_ONCE: usize = 50;

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
    /// What is left of a Pod; null is all of it, as where a bundle is made.
    reduce: Option<Reduce>,
    /// Where a bundle is made: what was answered.
    tape: Option<Tape>,
    /// Whom kubelets and other components at their own addresses are trusted by; null is the cluster's authority.
    component_authority: Option<String>,
    /// Components that are trusted by their certificates instead.
    pins: BTreeMap<ComponentName, Fingerprint>,
    peers: Mutex<Peers>,
    /// Gates that were told, each table once: thousands of kubelets tell the same, and a round's replies are held together.
    tables: std::sync::Mutex<BTreeSet<GateTable>>,
}

/// The client, and how it came to be.
#[derive(Clone)]
struct Access {
    client: Client,
    /// What it was made of.
    config: Arc<Config>,
    is_renewable: bool,
    /// How often credentials were got anew.
    renewals: u32,
}

pub(super) struct Page {
    pub(super) bytes: Vec<u8>,
    pub(super) clock: Option<Timestamp>,
}

/// A change that did not come about, or nobody knows whether it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwritten {
    /// The HTTP status by which the server refused it; null where it gave no answer.
    pub(crate) code: Option<u16>,
    pub(crate) detail: String,
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
                config: Arc::new(connected.config),
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
            reduce: None,
            tape: None,
            component_authority: None,
            pins: BTreeMap::new(),
            peers: Mutex::default(),
            tables: std::sync::Mutex::default(),
        })
    }

    /// Holds of the Pods of a list only what is left of them then.
    pub(crate) fn reducing(mut self, reduce: Reduce) -> Self {
        self.reduce = Some(reduce);
        self
    }

    /// Keeps what is answered from now on, for a bundle.
    pub(crate) fn taped(mut self) -> Self {
        self.tape = Some(Tape::default());
        self
    }

    /// Trusts components at their own addresses by the certificates in this file instead of the cluster's authority, and those
    /// that are pinned by their own certificates.
    pub(crate) fn trusting(
        mut self,
        authority: Option<String>,
        pins: BTreeMap<ComponentName, Fingerprint>,
    ) -> Self {
        self.component_authority = authority;
        self.pins = pins;
        self
    }

    /// The certificate that a component is trusted by.
    pub(super) fn pin(&self, component: &ComponentName) -> Option<Fingerprint> {
        self.pins.get(component).copied()
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The way to a port of a Pod, with the credentials of now.
    pub(super) async fn forward(&self, pod: &PodName, port: u16) -> Result<Forward, ConnectError> {
        let config = Arc::clone(&self.access.lock().await.config);
        Ok(Forward {
            client: connect::switching(&config)?,
            server: self.peer.clone(),
            pod: pod.clone(),
            port,
        })
    }

    pub(super) fn peers(&self) -> &Mutex<Peers> {
        &self.peers
    }

    /// The table that was told before if it is the same.
    pub(super) fn shared(&self, table: GateTable) -> GateTable {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tables.get(&table) {
            return known.clone();
        }
        tables.insert(table.clone());
        table
    }

    /// The file of certificates that a component's must be signed by; null is the cluster's authority.
    pub(super) fn trust(&self, kind: ComponentKind) -> Option<&str> {
        let is_server = kind == ComponentKind::KubeApiserver;
        self.component_authority.as_deref().filter(|_| !is_server)
    }

    /// What was kept; empty where nothing was to be.
    pub(crate) fn tape(&self) -> Option<&Tape> {
        self.tape.as_ref()
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
    pub(super) fn ask<'a>(&'a self, wants: &'a [Want]) -> impl Stream<Item = Reply> + 'a {
        let is_of_component = |want: &Want| matches!(want, Want::Document { .. });
        let at_once = if wants.iter().any(is_of_component) {
            DOCUMENTS_AT_ONCE
        } else {
            AT_ONCE
        };
        stream::iter(wants)
            .map(|want| self.ask_one(want))
            .buffer_unordered(at_once)
    }

    async fn ask_one(&self, want: &Want) -> Reply {
        let of_component = match want {
            Want::Document {
                component,
                document,
                way,
            } => Some(self.served(want, component, *document, way).await),
            Want::ServerSamples { expected } => Some(self.sampled(want, *expected).await),
            _ => None,
        };
        if let Some(mut reply) = of_component {
            if let Some(tape) = &self.tape {
                tape.take(&mut reply);
            }
            return reply;
        }
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
        if let Some(tape) = &self.tape {
            tape.take(&mut reply);
        }
        reply
    }

    /// Reads all pages. What was read before a page failed is kept, and the state says so.
    async fn read_all(&self, want: &Want, path: &str) -> Reply {
        let mut reply = Reply::new(want);
        let source: Arc<str> = self.source().name.into();
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
            let reading = match (&self.tape, &self.reduce) {
                (Some(_), _) => document::read_to_keep(&page.bytes),
                (None, Some(reduce)) => document::read_reduced(&page.bytes, reduce),
                (None, None) => document::read(&page.bytes),
            };
            let mut kept = reading.kept.into_iter().flatten();
            for content in reading.contents {
                let object = kept.next();
                if keeps(want, &content) {
                    let source = Arc::clone(&source);
                    reply.facts.push(Fact { source, content });
                    reply.kept.extend(object);
                }
            }
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
        let (parts, bytes) = self.answered(request).await?;
        if parts.status.is_success() {
            let clock = clock(&parts.headers);
            return Ok(Page { bytes, clock });
        }
        Err(refusal(parts.status, &parts.headers, &bytes))
    }

    /// A request that changes something, for `apply` alone: the object as the server has it then.
    pub(crate) async fn write(&self, request: Request<Vec<u8>>) -> Result<Value, Unwritten> {
        let lost = |failure: Failure| Unwritten {
            code: None,
            detail: failure.detail,
        };
        let (parts, bytes) = self.answered(request).await.map_err(lost)?;
        if parts.status.is_success() {
            return Ok(serde_json::from_slice(&bytes).unwrap_or_default());
        }
        Err(Unwritten {
            code: Some(parts.status.as_u16()),
            detail: refusal(parts.status, &parts.headers, &bytes).detail,
        })
    }

    /// One request, sent again while the server is busy, all within the time limit.
    async fn answered(&self, request: Request<Vec<u8>>) -> Result<(Parts, Vec<u8>), Failure> {
        tracing::debug!(path = %request.uri(), "{}", request.method());
        let answered = Cell::new(false);
        let deadline = self.timeout.map(|limit| Instant::now() + limit);
        let mut tried = 0;
        let mut renewed = false;
        let exchange = async {
            loop {
                let response = self.begin(&request, &answered, &mut renewed).await?;
                let (parts, body) = response.into_parts();
                let bytes = self.whole(body).await?;
                tried += 1;
                let pause = retry::pause(tried, parts.status, &parts.headers)
                    .filter(|pause| deadline.is_none_or(|end| Instant::now() + *pause < end));
                let Some(pause) = pause else {
                    return Ok((parts, bytes));
                };
                tracing::debug!(status = parts.status.as_u16(), "sent again in {pause:?}");
                tokio::time::sleep(pause).await;
            }
        };
        // On the heap, so that what waits for it stays small.
        self.in_time(Box::pin(exchange), &answered).await
    }

    /// Sends a request whose answer goes on and on; the time limit is for its beginning.
    pub(super) async fn open(&self, request: Request<Vec<u8>>) -> Result<Body, Failure> {
        tracing::debug!(path = %request.uri(), "WATCH");
        let answered = Cell::new(false);
        let exchange = async {
            let response = self.begin(&request, &answered, &mut false).await?;
            let (parts, body) = response.into_parts();
            if parts.status.is_success() {
                return Ok(body);
            }
            let bytes = self.whole(body).await?;
            Err(refusal(parts.status, &parts.headers, &bytes))
        };
        self.in_time(exchange, &answered).await
    }

    /// Does what is asked within the time limit.
    async fn in_time<T>(
        &self,
        exchange: impl Future<Output = Result<T, Failure>>,
        answered: &Cell<bool>,
    ) -> Result<T, Failure> {
        match self.timeout {
            Some(limit) => tokio::time::timeout(limit, exchange)
                .await
                .unwrap_or_else(|_| Err(self.peer.late(limit, answered.get()))),
            None => exchange.await,
        }
    }

    /// The time limit of a request.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout
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
        access.config = Arc::new(connected.config);
        access.renewals += 1;
        Ok(())
    }

    /// The same for a request of its own.
    pub(super) async fn begin_again(
        &self,
        request: &Request<Vec<u8>>,
    ) -> Result<Response<Body>, Failure> {
        self.begin(request, &Cell::new(false), &mut false).await
    }

    /// Sends until the answer has begun: once, or again with new credentials where these were renewed for no request before.
    async fn begin(
        &self,
        request: &Request<Vec<u8>>,
        answered: &Cell<bool>,
        renewed: &mut bool,
    ) -> Result<Response<Body>, Failure> {
        loop {
            let access = self.access.lock().await.clone();
            let (parts, body) = request.clone().into_parts();
            answered.set(false);
            let response = access
                .client
                .send(Request::from_parts(parts, Body::from(body)))
                .await
                .map_err(|error| self.peer.unreachable(&error))?;
            answered.set(true);
            let is_refused = response.status() == StatusCode::UNAUTHORIZED;
            if !(is_refused && access.is_renewable && !*renewed) {
                return Ok(response);
            }
            *renewed = true;
            self.renew(access.renewals).await?;
        }
    }

    /// Reads a whole answer, within bounds.
    async fn whole(&self, body: Body) -> Result<Vec<u8>, Failure> {
        let bytes = Limited::new(body, MAX_BODY).collect().await;
        let bytes = bytes.map_err(|error| self.peer.unreachable(error.as_ref()))?;
        Ok(bytes.to_bytes().into())
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
    let mut query = selectors(want, right);
    match want {
        // Without a limit the cache answers from its index.
        Want::PodsOnNode(_) => {}
        Want::AnyEventBy(_) => query.push("limit=1".to_owned()),
        _ if right.verb == "list" => query.push(format!("limit={PAGE}")),
        _ => {}
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
        | Want::Victim(_)
        | Want::Workload(..)
        | Want::Workloads(_)
        | Want::Node(_)
        | Want::Claim(_)
        | Want::PodOfUid { .. }
        | Want::ServerVersion
        | Want::Nodes
        | Want::NodeLeases
        | Want::ClusterRoles
        | Want::ClusterRoleBindings
        | Want::ServerAddresses
        | Want::ServerSamples { .. }
        | Want::Configuration(_)
        | Want::Document { .. }
        | Want::Count(_) => return Vec::new(),
        Want::ServerLeases => {
            let identity = encode("apiserver.kubernetes.io/identity=kube-apiserver");
            return vec![format!("labelSelector={identity}")];
        }
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
        Want::AnyEventBy(scheduler) => {
            let by = if events {
                "reportingController"
            } else {
                "reportingComponent"
            };
            format!("{by}={scheduler}")
        }
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

/// Where the objects of a right are, or a part of one (`pods/status`).
pub(crate) fn place(right: &Right) -> String {
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
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, format!("/{subresource}")),
        None => (right.resource, String::new()),
    };
    [
        root,
        part("namespaces/", right.namespace.as_ref()),
        format!("/{resource}"),
        part("", right.name.as_ref()),
        subresource,
    ]
    .concat()
}

/// Percent-encodes what may not stand in a path segment or query value, so that no name can change the request.
pub(super) fn encode(text: &str) -> String {
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
        let status = Right::get("", "pods/status", Some("shop"), "web/..");
        assert_eq!(
            place(&status),
            "/api/v1/namespaces/shop/pods/web%2F../status"
        );
        let right = &hostile.watch_rights()[0];
        assert_eq!(
            watch_path(&hostile, right, Some("7&x"), 30),
            "/api/v1/namespaces/%2E%2E/pods?fieldSelector=metadata.name%3Da%2Fstatus%3Fx%3D1%26y%23z&watch=true&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=7%26x"
        );
    }
}
