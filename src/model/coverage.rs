//! What was to be read, and what came of it.
//!
//! A source that failed is never the same as a source that had nothing: that difference is kept here.

use std::fmt;

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
    /// Where a file has the fault that the detail tells of; null where it has none, or its place is not known.
    pub(crate) location: Option<Location>,
}

impl Coverage {
    /// What was to be read, as a person finds it: by the place of its fault where that is known.
    pub(crate) fn named(&self) -> String {
        let place = self.location.as_ref().map(Location::to_string);
        place.unwrap_or_else(|| self.subject.clone())
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Location {
    /// As the file was named.
    pub(crate) path: String,
    /// From 1 on; null where the file as a whole is meant.
    pub(crate) line: Option<u64>,
    /// From 1 on, in characters.
    pub(crate) column: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(formatter, ":{number}")?;
        }
        Ok(())
    }
}

/// Where facts came from: the API server's address or the path that was given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Source {
    pub(crate) name: String,
    /// `live`, `bundle`, `archive`, `file`, `folder` or `stdin`: the origin's name.
    pub(crate) kind: String,
}
