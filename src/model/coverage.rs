//! What was to be read, and what came of it.
//!
//! A source that failed is never the same as a source that had nothing: that difference is kept here.

use serde::{Deserialize, Serialize};

/// What came of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) enum State {
    Complete,
    /// Something was read, something is missing.
    Partial,
    /// The server refused this user.
    Denied,
    /// The source does not hold it.
    Absent,
    Unreachable,
    /// There, and not understood.
    Unreadable,
    /// There once, gone by age (an expired resource version or event).
    Expired,
}

/// One line of coverage: who was asked, for what, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Coverage {
    pub(crate) source: String,
    pub(crate) subject: String,
    pub(crate) state: State,
    /// The cause in a clear sentence; null where there is nothing to say.
    pub(crate) detail: Option<String>,
}

/// Where facts came from: the API server's address or the path that was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Source {
    pub(crate) name: String,
    /// `live`, `bundle`, `archive`, `file`, `folder` or `stdin`: the origin's name.
    pub(crate) kind: String,
}
