//! Documents that components serve: through the API server, by its proxy to a node, or at a component's own address.
//!
//! Credentials go only to a peer whose certificate is verified, by the cluster's authority or the one that is given; TLS says
//! so before a request is sent. A component that is slow, gone or something else costs its own document and no more.
//!
//! Thousands of nodes are read so: what is kept of one is what it told, neither its text nor its connection.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;

use super::connect::{self, ConnectError, PeerConfig, PeerError};
use super::failure::{Failure, Peer, refusal_of_component};
use super::live::Live;
use super::{Reply, component, decode, retry};
use crate::model::component::{ComponentKind, ComponentName, Document, Statement, Told};
use crate::model::coverage::State;
use crate::model::fact::{Content, Fact};
use crate::model::want::{Want, Way, path};

/// A kubelet that hangs must not hold up the others; no document is so large that it takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than any document has.
const MAX_BYTES: usize = 256 << 20;

/// Clients of components that are kept: more than there are requests under way, so that documents of one share its connection.
const CLIENTS: usize = 64;

/// When the process started (observed on all minors' `/metrics`).
const STARTED: &str = "process-start-time-unix";

/// Components at their own addresses.
#[derive(Default)]
pub(super) struct Peers {
    /// What each is reached with, by the file of who signs its certificate: credentials are got once for all of them.
    configurations: BTreeMap<Trust, Arc<Result<PeerConfig, ConnectError>>>,
    /// Clients by the way to each, the newest last; an error where none can be made.
    clients: VecDeque<(Way, Reached)>,
}

/// The file of who signs a certificate, and whether it is an API server's, which may have a name of its own.
type Trust = (Option<String>, bool);

type Reached = Arc<Result<(Client, Peer), PeerError>>;

/// What came of a request.
enum Taken {
    Told(Vec<Told>),
    /// What was answered in place of a document.
    Refusal(Vec<u8>),
}

/// What is accepted: JSON of the newest form first, and text where there is none.
fn accepted(document: Document) -> &'static str {
    match document {
        Document::Flagz => {
            "application/json;v=v1beta1;g=config.k8s.io;as=Flagz,application/json;v=v1alpha1;g=config.k8s.io;as=Flagz,text/plain"
        }
        Document::Statusz => {
            "application/json;v=v1beta1;g=config.k8s.io;as=Statusz,application/json;v=v1alpha1;g=config.k8s.io;as=Statusz,text/plain"
        }
        Document::Metrics => "text/plain;version=0.0.4",
        _ => "application/json",
    }
}

/// What a document tells, and when the process started where its answer says so.
pub(super) struct Answer {
    told: Vec<Told>,
    pub(super) started: Option<Timestamp>,
}

impl Answer {
    /// All of it. A document that tells of its start itself is believed first.
    pub(super) fn told(self) -> Vec<Told> {
        let is_told = self
            .told
            .iter()
            .any(|told| matches!(told, Told::Started(_)));
        let started = self.started.filter(|_| !is_told).map(Told::Started);
        self.told.into_iter().chain(started).collect()
    }
}

/// A request for a document.
pub(super) fn request(document: Document, place: &str) -> Result<Request<Vec<u8>>, Failure> {
    let request = Request::get(place).header("Accept", accepted(document));
    request.body(Vec::new()).map_err(|error| Failure {
        state: State::Unreadable,
        detail: error.to_string(),
    })
}

impl Live {
    /// Asks a component for a document.
    pub(super) async fn served(
        &self,
        want: &Want,
        component: &ComponentName,
        document: Document,
        way: &Way,
    ) -> Reply {
        let mut reply = Reply::new(want);
        match self.told(component, document, way).await {
            Ok(told) => {
                let statements: Vec<Statement> = told
                    .into_iter()
                    .map(|told| Statement {
                        component: component.clone(),
                        document,
                        told,
                    })
                    .collect();
                if self.tape().is_some() && !statements.is_empty() {
                    reply.kept.push(decode::statements::object(&statements));
                }
                reply.facts.push(Fact {
                    source: self.source().name.into(),
                    content: Content::Statements(statements),
                });
            }
            Err(failure) => {
                reply.state = failure.state;
                reply.detail = Some(failure.detail);
            }
        }
        reply
    }

    async fn told(
        &self,
        component: &ComponentName,
        document: Document,
        way: &Way,
    ) -> Result<Vec<Told>, Failure> {
        let place = path(document);
        let place = match way {
            Way::NodeProxy => format!(
                "/api/v1/nodes/{}/proxy{place}",
                super::live::encode(&component.identity)
            ),
            Way::Server | Way::Address(_) | Way::Forward { .. } => place.to_owned(),
            Way::Added(api) => api.path.to_owned(),
        };
        let request = request(document, &place)?;
        let send = async || match way {
            Way::Address(_) | Way::Forward { .. } => {
                self.send_to_peer(component, way, &request).await
            }
            Way::Server | Way::NodeProxy | Way::Added(_) => self.begin_again(&request).await,
        };
        let answer = self.exchange(send, component.kind, document, false).await?;
        let told = answer.told().into_iter().map(|told| match told {
            Told::Runs(gates) => Told::Runs(self.shared(gates)),
            other => other,
        });
        Ok(told.collect())
    }

    /// Sends until there is an answer, in time, and reads as much of it as is needed: nothing where only its head counts.
    pub(super) async fn exchange(
        &self,
        send: impl AsyncFn() -> Result<http::Response<Body>, Failure>,
        kind: ComponentKind,
        document: Document,
        is_short: bool,
    ) -> Result<Answer, Failure> {
        let patience = self.timeout().map_or(PATIENCE, |limit| limit.min(PATIENCE));
        let deadline = Instant::now() + patience;
        let mut tried = 0;
        let exchange = async {
            loop {
                let (parts, body) = send().await?.into_parts();
                tried += 1;
                let bytes = match take(parts.status, kind, document, is_short, body).await? {
                    Taken::Told(told) => {
                        let started = started(&parts.headers);
                        return Ok(Answer { told, started });
                    }
                    Taken::Refusal(bytes) => bytes,
                };
                let pause = retry::pause(tried, parts.status, &parts.headers)
                    .filter(|pause| Instant::now() + *pause < deadline);
                let Some(pause) = pause else {
                    return Err(refusal_of_component(parts.status, &parts.headers, &bytes));
                };
                tokio::time::sleep(pause).await;
            }
        };
        let late = || Failure {
            state: State::Unreachable,
            detail: format!("no answer within {}s", patience.as_secs_f64()),
        };
        tokio::time::timeout_at(deadline, exchange)
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    async fn send_to_peer(
        &self,
        component: &ComponentName,
        way: &Way,
        request: &Request<Vec<u8>>,
    ) -> Result<http::Response<Body>, Failure> {
        let made = self.peer_of(component, way).await;
        let (client, peer) = match made.as_ref() {
            Ok((client, peer)) => (client, peer),
            Err(error) => {
                return Err(Failure {
                    state: State::Denied,
                    detail: error.to_string(),
                });
            }
        };
        let (parts, body) = request.clone().into_parts();
        let sent = client.send(Request::from_parts(parts, Body::from(body)));
        sent.await
            .map_err(|error| peer.of_component(component.kind, &error))
    }

    async fn peer_of(&self, component: &ComponentName, way: &Way) -> Reached {
        let mut peers = self.peers().lock().await;
        if let Some((_, known)) = peers.clients.iter().find(|(known, _)| known == way) {
            return Arc::clone(known);
        }
        let kind = component.kind;
        let pin = self.pin(component);
        let is_server = kind == ComponentKind::KubeApiserver;
        let authority = (self.trust(kind).map(str::to_owned), is_server);
        let known = peers.configurations.get(&authority).map(Arc::clone);
        let configuration = if let Some(known) = known {
            known
        } else {
            let made = connect::peers(self.connection(), kind, authority.0.as_deref()).await;
            let made = Arc::new(made);
            peers.configurations.insert(authority, Arc::clone(&made));
            made
        };
        let made = match (configuration.as_ref(), way) {
            (Err(error), _) => Err(PeerError::Connection(error.to_string())),
            (Ok(configuration), Way::Forward { pod, port }) => match self.forward(pod, *port).await
            {
                Ok(forward) => connect::peer_in_pod(configuration, forward, pin),
                Err(error) => Err(PeerError::Connect(error)),
            },
            (Ok(configuration), Way::Address(url)) => connect::peer(configuration, url, pin),
            (Ok(_), Way::Server | Way::NodeProxy | Way::Added(_)) => {
                unreachable!("the API server is no peer")
            }
        };
        let made = Arc::new(made);
        if peers.clients.len() == CLIENTS {
            peers.clients.pop_front();
        }
        peers.clients.push_back((way.clone(), Arc::clone(&made)));
        made
    }
}

/// Reads an answer. Of metrics no more is read than tells of gates, and nothing else is kept; the rest is not waited for.
async fn take(
    status: StatusCode,
    kind: ComponentKind,
    document: Document,
    is_short: bool,
    body: Body,
) -> Result<Taken, Failure> {
    if !status.is_success() {
        let bytes = whole(body).await?;
        return Ok(Taken::Refusal(bytes));
    }
    if is_short {
        return Ok(Taken::Told(Vec::new()));
    }
    let told = if document == Document::Metrics {
        // Schedulers and controller managers tell their version at the end, the others elsewhere.
        let is_of_gates = matches!(kind, ComponentKind::KubeApiserver | ComponentKind::Kubelet);
        let mut scan = component::metrics::Scan::new(is_of_gates);
        each_part(body, |part| {
            scan.take(part);
            scan.is_done()
        })
        .await?;
        scan.finish()
    } else {
        component::read(kind, document, &mut whole(body).await?.as_slice())
    };
    told.map(Taken::Told).map_err(|error| Failure {
        state: error.state(),
        detail: error.to_string(),
    })
}

async fn whole(body: Body) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    each_part(body, |part| {
        bytes.extend_from_slice(part);
        false
    })
    .await?;
    Ok(bytes)
}

/// Takes an answer as it comes, until it is enough.
async fn each_part(
    mut body: Body,
    mut take_until_enough: impl FnMut(&[u8]) -> bool,
) -> Result<(), Failure> {
    let broken = |cause: String| Failure {
        state: State::Unreachable,
        detail: format!("the answer broke off: {cause}"),
    };
    let mut taken = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        taken += data.len();
        if take_until_enough(&data) {
            break;
        }
        if taken > MAX_BYTES {
            return Err(broken(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
        }
    }
    Ok(())
}

fn started(headers: &HeaderMap) -> Option<Timestamp> {
    let seconds = headers.get(STARTED)?.to_str().ok()?.parse().ok()?;
    Timestamp::from_second(seconds).ok()
}
