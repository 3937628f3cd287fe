//! A write to a Pod as the API server's audit log recorded it: who asked for what, and what came of it.
//!
//! It states what was asked and answered; which nominations that makes is for the analysis to say.

use jiff::Timestamp;

use super::pod::{PodName, ResourceVersion, Uid};

/// One audited request (audit.k8s.io/v1 `Event`, stage `ResponseComplete`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    /// `auditID`; the same request may be in several files.
    pub(crate) id: String,
    pub(crate) pod: PodName,
    /// Null where neither the request nor the answer names the incarnation.
    pub(crate) uid: Option<Uid>,
    /// When the answer was complete; a microsecond fine.
    pub(crate) at: Option<Timestamp>,
    /// The authenticated user, or the one that was impersonated.
    pub(crate) user: String,
    /// Who impersonated the user, if somebody did.
    pub(crate) impersonator: Option<String>,
    /// `userAgent`: the client's own claim.
    pub(crate) agent: String,
    /// HTTP status of the answer; null where the log does not tell.
    pub(crate) code: Option<u16>,
    /// The server's words, where it refused.
    pub(crate) refusal: Option<String>,
    /// Version of the Pod after the write.
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) action: Action,
    /// Whether the request wrote the condition `PodScheduled`, as schedulers do.
    pub(crate) reports: bool,
    /// `status.nominatedNodeName` as asked for.
    pub(crate) asked: Asked,
    /// `status.nominatedNodeName` in the answer, which is the truth.
    pub(crate) after: After,
}

/// What kind of write it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// With the `spec.nodeName` that the creator gave.
    Create { node: Option<String> },
    /// Of the Pod, its status or another subresource.
    Change,
    /// POST of pods/binding; null where the target was not logged.
    Bind { node: Option<String> },
    /// DELETE, or an eviction.
    Delete,
}

/// What a request asks of `status.nominatedNodeName`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The key is absent: it stays.
    Keep,
    /// The key is there and null or empty.
    Clear,
    Set(String),
    /// The level of the log does not tell (Metadata).
    Unknown,
}

/// What `status.nominatedNodeName` was after a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum After {
    Empty,
    Node(String),
    /// The answer was not logged, or is no Pod.
    Unlogged,
}

impl Write {
    /// Whether the server carried it out.
    pub(crate) fn is_accepted(&self) -> bool {
        self.code.is_some_and(|code| (200..300).contains(&code))
    }

    /// The first word of the agent, as managedFields call the manager.
    pub(crate) fn manager(&self) -> &str {
        let end = self.agent.find(['/', ' ']).unwrap_or(self.agent.len());
        self.agent.split_at(end).0
    }

    /// Who it was, for a sentence.
    pub(crate) fn actor(&self) -> String {
        match &self.impersonator {
            Some(real) => format!("{} (impersonated by {real})", self.user),
            None => self.user.clone(),
        }
    }
}
