//! Where facts come from: origins and decoders, and the loop that asks them.
//!
//! This folder and `apply` are the only places that name kube or are async. It must not judge.

mod access;
pub(crate) mod audit;
pub(crate) mod baseline;
pub(crate) mod bundle;
pub(crate) mod component;
pub(crate) mod connect;
pub(crate) mod credentials;
pub(crate) mod decode;
pub(crate) mod document;
pub(crate) mod exec;
mod failure;
mod forward;
pub(crate) mod gather;
pub(crate) mod kubeconfig;
mod lines;
pub(crate) mod live;
mod located;
pub(crate) mod manifest;
pub(crate) mod offline;
pub(crate) mod pin;
mod places;
pub(crate) mod prometheus;
pub(crate) mod proxy;
mod retry;
pub(crate) mod revision;
mod samples;
pub(crate) mod scheduler_log;
mod served;
mod transport;
pub(crate) mod watch;

use futures_util::stream::{self, Stream, StreamExt};

use crate::model::coverage::{Coverage, Source, State};
use crate::model::fact::Fact;
use crate::model::want::Want;

/// What an origin answered to one want.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) want: Want,
    pub(crate) facts: Vec<Fact>,
    pub(crate) state: State,
    /// Cause in a clear sentence, where the state is not Complete.
    pub(crate) detail: Option<String>,
    /// The server's clock, where it told one.
    pub(crate) clock: Option<jiff::Timestamp>,
    /// The objects, as a bundle may hold them; empty where none is made.
    kept: Vec<serde_json::Value>,
}

impl Reply {
    /// Complete, and nothing yet: what an answer begins with.
    fn new(want: &Want) -> Self {
        Self {
            want: want.clone(),
            facts: Vec::new(),
            state: State::Complete,
            detail: None,
            clock: None,
            kept: Vec::new(),
        }
    }

    pub(crate) fn coverage(&self, source: &str) -> Coverage {
        Coverage {
            source: source.to_owned(),
            subject: self.want.subject(),
            state: self.state,
            detail: self.detail.clone(),
            location: None,
        }
    }
}

/// Any place that can be asked.
pub(crate) enum Origin {
    Live(Box<live::Live>),
    Offline(Box<offline::Collected>),
    Prometheus(Box<prometheus::Prometheus>),
}

impl Origin {
    pub(crate) fn source(&self) -> Source {
        match self {
            Self::Live(live) => live.source(),
            Self::Offline(collected) => collected.source.clone(),
            Self::Prometheus(prometheus) => prometheus.source(),
        }
    }

    /// Whether it is the one to ask: what Prometheus has it has alone.
    fn is_for(&self, want: &Want) -> bool {
        matches!(self, Self::Prometheus(_)) == matches!(want, Want::Count(_))
    }

    /// An answer to each want, as they come.
    fn ask<'a>(&'a self, wants: &'a [Want]) -> impl Stream<Item = Reply> + 'a {
        match self {
            Self::Live(live) => live.ask(wants).boxed_local(),
            Self::Offline(collected) => {
                stream::iter(wants.iter().map(|want| collected.ask(want))).boxed_local()
            }
            Self::Prometheus(prometheus) => prometheus.ask(wants).boxed_local(),
        }
    }
}
