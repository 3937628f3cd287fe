//! A port of a Pod as a connection: the API server forwards it by a WebSocket, as for `kubectl port-forward`.
//!
//! What travels on it is not its business, nor who is at its end: TLS inside of it says that before anything is sent. The
//! API server's proxy to Pods is no way, for it takes the credentials out of a request (apimachinery
//! `util/proxy/upgradeaware.go`, 1.37).

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http::{HeaderMap, StatusCode, Uri};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::client::UpgradeConnectionError;
use kube::{Api, Client};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tower::Service;

use super::failure::{Failure, Peer, refusal};
use super::live::encode;
use crate::model::coverage::State;
use crate::model::pod::PodName;

/// Opens connections to one port of one Pod.
#[derive(Clone)]
pub(super) struct Forward {
    /// Of the API server, and able to change the protocol: HTTP/1.1.
    pub(super) client: Client,
    /// The API server, for sentences about it.
    pub(super) server: Peer,
    pub(super) pod: PodName,
    pub(super) port: u16,
}

impl fmt::Display for Forward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PodName { namespace, name } = &self.pod;
        write!(formatter, "port {} of pod {namespace}/{name}", self.port)
    }
}

impl Service<Uri> for Forward {
    type Response = TokioIo<Forwarded>;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<TokioIo<Forwarded>, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let forward = self.clone();
        async move { forward.open().await }.boxed()
    }
}

impl Forward {
    async fn open(self) -> Result<TokioIo<Forwarded>, Failure> {
        let namespace = encode(&self.pod.namespace);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let forwarded = pods
            .portforward(&encode(&self.pod.name), &[self.port])
            .await;
        let mut forwarded = forwarded.map_err(|error| self.refused(&error))?;
        let parts = forwarded
            .take_stream(self.port)
            .zip(forwarded.take_error(self.port));
        let Some((stream, said)) = parts else {
            unreachable!("the one port that was asked for is taken once");
        };
        Ok(TokioIo::new(Forwarded {
            stream,
            said: said.map(Option::unwrap_or_default).boxed().shared(),
        }))
    }

    /// Why the API server forwards nothing.
    fn refused(&self, error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) => {
                let code = StatusCode::from_u16(status.code).unwrap_or_default();
                let body = serde_json::to_vec(status).unwrap_or_default();
                let mut failure = refusal(code, &HeaderMap::new(), &body);
                if failure.state == State::Denied {
                    // Of the second right that it asks for the server tells nothing.
                    failure.detail = format!(
                        "{}; a port is forwarded to who may get and create pods/portforward",
                        failure.detail.trim_end_matches([':', ' '])
                    );
                }
                failure
            }
            kube::Error::UpgradeConnection(UpgradeConnectionError::GetPendingUpgrade(error)) => {
                self.server.unreachable(error)
            }
            kube::Error::UpgradeConnection(error) => Failure {
                state: State::Unreachable,
                detail: format!(
                    "{} opens no WebSocket ({error}); if a proxy on the way lets none pass, name the component's address: \
                     --component NAME=https://HOST:PORT",
                    self.server.server
                ),
            },
            other => self.server.unreachable(other),
        }
    }
}

/// One connection.
pub(super) struct Forwarded {
    stream: DuplexStream,
    /// What the kubelet says where it can carry nothing; it comes before the end. Empty where it said nothing.
    said: Shared<BoxFuture<'static, String>>,
}

impl Connection for Forwarded {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Forwarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.remaining();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let is_end = buffer.remaining() == before && before > 0;
        // It comes before the end, so nobody waits for it.
        let said = is_end.then(|| self.said.clone().now_or_never()).flatten();
        match said.filter(|detail| !detail.is_empty()) {
            None => Poll::Ready(Ok(())),
            Some(detail) => {
                let state = State::Unreachable;
                Poll::Ready(Err(io::Error::other(Failure { state, detail })))
            }
        }
    }
}

impl AsyncWrite for Forwarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
