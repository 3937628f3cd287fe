//! Documents that components serve: through the API server, by its proxy to a node, or at a component's own address.
//!
//! Credentials go only to a peer whose certificate is verified, by the cluster's authority or the one that is given; TLS says
//! so before a request is sent. A component that is slow, gone or something else costs its own document and no more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;

use super::connect::{self, PeerError};
use super::failure::{Failure, Peer, refusal};
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

/// When the process started (observed on all minors' `/metrics`).
const STARTED: &str = "process-start-time-unix";

/// Clients of components at their own addresses, by address; null where none can be made.
pub(super) type Peers = BTreeMap<String, Arc<Result<(Client, Peer), PeerError>>>;

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

/// The bytes of a document, and when the process started where its answer tells.
pub(super) struct Answer {
    bytes: Vec<u8>,
    pub(super) started: Option<Timestamp>,
}

impl Answer {
    /// What they tell.
    pub(super) fn tells(
        &self,
        kind: ComponentKind,
        document: Document,
    ) -> Result<Vec<Told>, Failure> {
        let told = component::read(kind, document, &mut self.bytes.as_slice());
        let told = told.map_err(|error| Failure {
            state: error.state(),
            detail: error.to_string(),
        })?;
        let is_told = told.iter().any(|told| matches!(told, Told::Started(_)));
        let started = self.started.filter(|_| !is_told).map(Told::Started);
        Ok(told.into_iter().chain(started).collect())
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
        let mut reply = Reply {
            want: want.clone(),
            facts: Vec::new(),
            state: State::Complete,
            detail: None,
            clock: None,
            kept: Vec::new(),
        };
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
                    source: self.source().name,
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
            Way::Server | Way::Address(_) => place.to_owned(),
        };
        let request = request(document, &place)?;
        let send = async || match way {
            Way::Address(url) => self.send_to_peer(component, url, &request).await,
            Way::Server | Way::NodeProxy => self.begin_again(&request).await,
        };
        let enough = |bytes: &[u8]| enough(component.kind, document, bytes);
        let answer = self.exchange(send, enough).await?;
        answer.tells(component.kind, document)
    }

    /// Sends until there is an answer, in time, and reads as much of it as is needed.
    pub(super) async fn exchange(
        &self,
        send: impl AsyncFn() -> Result<http::Response<Body>, Failure>,
        enough: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<Answer, Failure> {
        let patience = self.timeout().map_or(PATIENCE, |limit| limit.min(PATIENCE));
        let deadline = Instant::now() + patience;
        let mut tried = 0;
        let exchange = async {
            loop {
                let (parts, body) = send().await?.into_parts();
                let bytes = read(body, &enough).await.map_err(|cause| Failure {
                    state: State::Unreachable,
                    detail: format!("the answer broke off: {cause}"),
                })?;
                tried += 1;
                if parts.status.is_success() {
                    let started = started(&parts.headers);
                    return Ok(Answer { bytes, started });
                }
                let pause = retry::pause(tried, parts.status, &parts.headers)
                    .filter(|pause| Instant::now() + *pause < deadline);
                let Some(pause) = pause else {
                    return Err(refusal(parts.status, &parts.headers, &bytes));
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
        url: &str,
        request: &Request<Vec<u8>>,
    ) -> Result<http::Response<Body>, Failure> {
        let made = self.peer_of(component.kind, url).await;
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

    async fn peer_of(
        &self,
        kind: ComponentKind,
        url: &str,
    ) -> Arc<Result<(Client, Peer), PeerError>> {
        let mut peers = self.peers().lock().await;
        if let Some(known) = peers.get(url) {
            return Arc::clone(known);
        }
        let made = Arc::new(connect::peer(self.connection(), kind, self.trust(kind), url).await);
        peers.insert(url.to_owned(), Arc::clone(&made));
        made
    }
}

/// Reads an answer, until it is done or enough was read; the rest of it is not waited for.
async fn read(mut body: Body, enough: impl Fn(&[u8]) -> Option<usize>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if let Some(end) = enough(&bytes) {
            bytes.truncate(end);
            break;
        }
        if bytes.len() > MAX_BYTES {
            return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
        }
    }
    Ok(bytes)
}

/// Where a text of metrics has told all gates, and another family begins; null before that. Schedulers and controller managers
/// tell their version at the end. What came along behind it is cut off, or the same answer would tell more at one time than
/// at another.
pub(super) fn enough(kind: ComponentKind, document: Document, bytes: &[u8]) -> Option<usize> {
    let is_cut = matches!(kind, ComponentKind::KubeApiserver | ComponentKind::Kubelet);
    if document != Document::Metrics || !is_cut {
        return None;
    }
    let last = memchr::memmem::rfind(bytes, b"\nkubernetes_feature_enabled{")?;
    let next = memchr::memmem::find(bytes.get(last..)?, b"\n# ")?;
    Some(last + next + 1)
}

fn started(headers: &HeaderMap) -> Option<Timestamp> {
    let seconds = headers.get(STARTED)?.to_str().ok()?.parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However much came along with the last gate.
    #[test]
    fn what_follows_the_gates_is_no_part_of_the_answer() {
        let gates = "# TYPE kubernetes_feature_enabled gauge\nkubernetes_feature_enabled{name=\"A\",stage=\"\"} 1\n";
        let of = |text: &str| {
            let end = enough(
                ComponentKind::KubeApiserver,
                Document::Metrics,
                text.as_bytes(),
            );
            end.map(|end| text.get(..end).unwrap_or_default().to_owned())
        };
        assert_eq!(of(gates), None);
        for more in ["# HELP next", "# HELP next\nprocess_start_time_seconds 1\n"] {
            assert_eq!(of(&format!("{gates}{more}")).as_deref(), Some(gates));
        }
    }
}
