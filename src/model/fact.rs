//! A decoded statement with its provenance: what the decoders make and the World folds.

use std::sync::Arc;

use jiff::Timestamp;

use super::claim::Claim;
use super::component::Statement;
use super::event::Event;
use super::grant::Grant;
use super::node::{Node, NodeLease};
use super::pod::Pod;
use super::replica::Replica;
use super::scheduler_line::{LogTime, SchedulerLine};
use super::version::Minor;
use super::workload::Workload;
use super::write::Write;

/// What a decoder understood. Small, whatever it is: a list may have a hundred thousand of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Pod(Box<Pod>),
    /// A Pod as it was asked for; its object was not seen.
    Draft(Box<Pod>),
    Node(Box<Node>),
    NodeLease(Box<NodeLease>),
    Event(Box<Event>),
    Claim(Box<Claim>),
    Version(Minor),
    Workload(Box<Workload>),
    Write(Box<Write>),
    /// What a document says of components.
    Statements(Vec<Statement>),
    Replicas(Vec<Replica>),
    Grant(Box<Grant>),
    Line(Box<SchedulerLine>),
}

/// A statement and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// Name of the source, as in `Source`.
    pub(crate) source: Arc<str>,
    pub(crate) content: Content,
}

impl Content {
    /// Newest time that this statement proves to have passed; sets the clock of a bundle.
    pub(crate) fn newest_observation(&self) -> Option<Timestamp> {
        match self {
            Self::Pod(pod) | Self::Draft(pod) => pod.newest_observation(),
            Self::Node(node) => node.newest_observation.max(node.created),
            Self::NodeLease(lease) => lease.renewed,
            Self::Claim(_)
            | Self::Grant(_)
            | Self::Version(_)
            | Self::Workload(_)
            | Self::Replicas(_)
            | Self::Statements(_) => None,
            Self::Write(write) => write.at,
            Self::Line(line) => match line.at {
                LogTime::Exact(at) => Some(at),
                // To know its year, somebody else has to tell what year it is.
                LogTime::Yearless(_) => None,
            },
            Self::Event(event) => event.last.max(event.first),
        }
    }
}
