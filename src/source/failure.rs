//! A request that gave no object: what the server said, or why it could not be reached, in kubectl's words.
//!
//! One sentence with the cause and, where there is something to do, what. It must not decide what the loss means.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};
use serde::Deserialize;

use super::retry;
use crate::model::component::ComponentKind;
use crate::model::coverage::State;

/// How much is told of a stranger's words.
const MAX_TEXT: usize = 500;

/// client-go's word for an answer that is no text.
const UNKNOWN: &str = "unknown";

/// A request that gave no object.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{detail}")]
pub(super) struct Failure {
    pub(super) state: State,
    pub(super) detail: String,
}

/// The server's Status object (meta/v1), as far as its refusals need it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
}

/// Whom we talk to, for sentences about it.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Host and port as the kubeconfig has them.
    pub(super) server: String,
    /// The name that its certificate is held against.
    pub(super) name: String,
    /// Without a password.
    pub(super) proxy: Option<String>,
}

impl Peer {
    fn unable(what: &str) -> Failure {
        Failure {
            state: State::Unreachable,
            detail: format!("Unable to connect to the server: {what}"),
        }
    }

    /// The time limit is over.
    pub(super) fn late(&self, limit: Duration, answered: bool) -> Failure {
        let server = &self.server;
        let seconds = limit.as_secs_f64();
        Self::unable(&if answered {
            format!("{server} did not finish its answer within {seconds}s")
        } else {
            format!("{server} gave no answer within {seconds}s")
        })
    }

    /// No connection, or one that broke.
    pub(super) fn unreachable(&self, error: &(dyn Error + 'static)) -> Failure {
        let chain = chain(error);
        let io = |kind: io::ErrorKind| {
            chain
                .iter()
                .filter_map(|cause| cause.downcast_ref::<io::Error>())
                .any(|error| error.kind() == kind)
        };
        let server = &self.server;
        if let Some(tls) = chain.iter().find_map(|cause| cause.downcast_ref()) {
            return Self::unable(&self.tls(tls));
        }
        let deepest = chain.last().map(ToString::to_string).unwrap_or_default();
        if let Some(proxy) = &self.proxy {
            return Self::unable(&format!("through the proxy {proxy}: {deepest}"));
        }
        if io(io::ErrorKind::ConnectionRefused) {
            let detail = format!(
                "The connection to the server {server} was refused - did you specify the right host or port?"
            );
            return Failure {
                state: State::Unreachable,
                detail,
            };
        }
        if deepest.contains("closed before message completed")
            || io(io::ErrorKind::ConnectionReset)
            || io(io::ErrorKind::UnexpectedEof)
        {
            return Self::unable(&format!(
                "{server} closed the connection before its answer was complete"
            ));
        }
        Self::unable(&format!("{server}: {deepest}"))
    }

    /// No connection to a component at its own address. One that cannot be verified gets nothing, which is a refusal of ours.
    pub(super) fn of_component(
        &self,
        kind: ComponentKind,
        error: &(dyn Error + 'static),
    ) -> Failure {
        let chain = chain(error);
        // The way to it has its own words.
        if let Some(on_the_way) = chain
            .iter()
            .find_map(|cause| cause.downcast_ref::<Failure>())
        {
            return on_the_way.clone();
        }
        let tls = chain.iter().find_map(|cause| cause.downcast_ref());
        let server = &self.server;
        match tls {
            Some(rustls::Error::InvalidCertificate(error)) => {
                let why = self.certificate(error);
                // API servers are verified by the cluster's authority and name, as the connection is.
                let why = match kind {
                    ComponentKind::KubeApiserver => why,
                    _ => why
                        .replace(
                            "--certificate-authority",
                            "--kubelet-ca, or its own with --pin",
                        )
                        .replace(
                            "if that is the same server, name one of them with --tls-server-name",
                            "reach it at one of them: --component NAME=https://HOST:PORT",
                        ),
                };
                Failure {
                    state: State::Denied,
                    detail: format!("nothing was sent: {why}"),
                }
            }
            Some(tls) => Failure {
                state: State::Unreachable,
                detail: self.tls(tls),
            },
            None => {
                let deepest = chain.last().map(ToString::to_string).unwrap_or_default();
                Failure {
                    state: State::Unreachable,
                    detail: format!("{server}: {deepest}"),
                }
            }
        }
    }

    /// What TLS did not agree to, and what can be done.
    fn tls(&self, error: &rustls::Error) -> String {
        let Self { server, name, .. } = self;
        match error {
            rustls::Error::InvalidCertificate(error) => self.certificate(error),
            rustls::Error::InvalidMessage(_) => {
                format!(
                    "{server} does not speak TLS; if it speaks plain HTTP, its URL begins with http://"
                )
            }
            rustls::Error::PeerIncompatible(_)
            | rustls::Error::AlertReceived(AlertDescription::ProtocolVersion) => format!(
                "{server} speaks no version of TLS that is still safe; it has to offer 1.2 or 1.3"
            ),
            rustls::Error::AlertReceived(AlertDescription::UnrecognisedName) => {
                format!(
                    "{server} does not know the name {name}; choose another with --tls-server-name"
                )
            }
            rustls::Error::AlertReceived(
                alert @ (AlertDescription::BadCertificate
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateRequired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::UnsupportedCertificate),
            ) => format!("{server} did not take the client certificate ({alert:?})"),
            other => format!("{server}: {other}"),
        }
    }

    fn certificate(&self, error: &CertificateError) -> String {
        let Self { server, name, .. } = self;
        let its = format!("the certificate of {server}");
        match error {
            CertificateError::UnknownIssuer => format!(
                "{its} is signed by an unknown authority; name the right one with --certificate-authority"
            ),
            CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
                format!(
                    "{its} is for no host: it has no subject alternative name, and its common name does not count; \
                 it has to be issued again with one"
                )
            }
            CertificateError::NotValidForNameContext { presented, .. } => format!(
                "{its} is for {}, not for {name}; if that is the same server, name one of them with \
                 --tls-server-name",
                presented
                    .iter()
                    .map(|name| plain(name))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            CertificateError::ExpiredContext { not_after, .. } => format!(
                "{its} expired at {}; it has to be renewed, unless the clock of this machine is wrong",
                time(*not_after)
            ),
            CertificateError::NotValidYetContext { not_before, .. } => format!(
                "{its} is valid from {} on; look at the clock of this machine",
                time(*not_before)
            ),
            CertificateError::Other(other) => match format!("{other:?}") {
                text if text.contains("UnsupportedCertVersion") => format!(
                    "{its} is of X.509 version 1, which cannot be verified; it has to be issued again as version 3"
                ),
                text if text.contains("CaUsedAsEndEntity") => format!(
                    "{its} is that of an authority itself; the authority has to issue one for the server"
                ),
                _ => format!("{its}: {other}"),
            },
            CertificateError::ApplicationVerificationFailure => {
                format!("{its} is another than the one that is pinned")
            }
            other => format!("{its}: {other}"),
        }
    }
}

/// rustls writes `DnsName("a")` and `IpAddress(1.2.3.4)`.
fn plain(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_end_matches(')').trim_matches('"').to_owned()
}

fn time(time: UnixTime) -> String {
    i64::try_from(time.as_secs())
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| "an unknown time".to_owned(), |time| time.to_string())
}

/// An error and all its causes, also those that an I/O error wraps and does not name as its source.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut chain = Vec::new();
    let mut next = Some(error);
    while let Some(cause) = next {
        chain.push(cause);
        next = match cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => cause.source(),
        };
    }
    chain
}

/// What an HTTP status means, in kubectl's sentence.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
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
    // What Go's server says before any handler.
    if body.starts_with(b"Client sent an HTTP request to an HTTPS server") {
        return Peer::unable("it speaks HTTPS; its URL has to begin with https://");
    }
    let detail = if status == StatusCode::UNAUTHORIZED {
        "error: You must be logged in to the server (Unauthorized)".to_owned()
    } else if answer.message.is_empty() {
        wordless(status, &text(headers, body))
    } else {
        format!("Error from server ({}): {}", answer.reason, answer.message)
    };
    let detail = match retry::asked(headers).filter(|pause| !pause.is_zero()) {
        Some(pause) => format!("{detail}; it asks to come back in {}s", pause.as_secs()),
        None => detail,
    };
    Failure { state, detail }
}

/// The same of a component, or of whoever answers in its place: what it says in its own words is told, too.
pub(super) fn refusal_of_component(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Failure {
    let mut failure = refusal(status, headers, body);
    let words = text(headers, body);
    if words != UNKNOWN && !words.is_empty() && !failure.detail.contains(&words) {
        failure.detail = format!("{}: {words:?}", failure.detail);
    }
    failure
}

/// A refusal by somebody who does not speak for Kubernetes, a load balancer say, in client-go's words
/// (apimachinery `NewGenericServerResponse`, 1.37).
fn wordless(status: StatusCode, text: &str) -> String {
    let (reason, message) = match status.as_u16() {
        400 => (
            "BadRequest",
            "the server rejected our request for an unknown reason",
        ),
        403 => ("Forbidden", text),
        404 => (
            "NotFound",
            "the server could not find the requested resource",
        ),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        406 if text == UNKNOWN || text.is_empty() => (
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => ("NotAcceptable", text),
        409 => ("Conflict", "the server reported a conflict"),
        415 => ("UnsupportedMediaType", text),
        422 => ("Invalid", text),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        500..600 => {
            return format!(
                "Error from server (InternalError): an error on the server ({text:?}) has prevented the request from succeeding"
            );
        }
        code => {
            return format!(
                "Error from server: the server responded with the status code {code} but did not return more information"
            );
        }
    };
    format!("Error from server ({reason}): {message}")
}

/// The beginning of an answer that is text.
fn text(headers: &HeaderMap, body: &[u8]) -> String {
    let kind = headers.get(http::header::CONTENT_TYPE);
    let is_text = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/"));
    if !is_text {
        return UNKNOWN.to_owned();
    }
    let head = body.get(..MAX_TEXT).unwrap_or(body);
    String::from_utf8_lossy(head).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_speak_as_kubectl_does() {
        let body = br#"{"kind":"Status","status":"Failure","message":"pods \"x\" not found","reason":"NotFound","code":404}"#;
        let failure = refusal(StatusCode::NOT_FOUND, &HeaderMap::new(), body);
        assert_eq!(
            (failure.state, failure.detail.as_str()),
            (
                State::Absent,
                "Error from server (NotFound): pods \"x\" not found"
            )
        );
        let bare = refusal(StatusCode::BAD_GATEWAY, &HeaderMap::new(), b"<html>");
        assert_eq!(
            (bare.state, bare.detail.as_str()),
            (
                State::Unreachable,
                "Error from server (InternalError): an error on the server (\"unknown\") has prevented the request from succeeding"
            )
        );
    }
}
