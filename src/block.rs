//! The closed vocabulary between answers and the renderers for people.
//!
//! An answer's `view` builds blocks; `render` draws them. Nothing here computes,
//! and no text here is escaped yet: escaping belongs to the medium.

use jiff::Timestamp;

/// What a piece of text means; a renderer turns it into a colour, never into the meaning itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    Good,
    Warning,
    Bad,
    /// Name of an object.
    Name,
    /// Less important than its surroundings.
    Dim,
}

/// A run of text with one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) role: Role,
    pub(crate) text: String,
}

impl Text {
    pub(crate) fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            text: text.into(),
        }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Role::Plain, text)
    }

    pub(crate) fn name(text: impl Into<String>) -> Self {
        Self::new(Role::Name, text)
    }
}

/// A column of a table; a wide one shows with `-o wide` only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Upper case, as kubectl's headers.
    pub(crate) title: &'static str,
    pub(crate) wide: bool,
}

/// A judgement in a sentence, with what it rests on as ordered keys and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) title: Text,
    pub(crate) message: String,
    pub(crate) extras: Vec<(&'static str, String)>,
}

/// One line of a timeline; `at` is null where the source gives no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at: Option<Timestamp>,
    pub(crate) actor: String,
    pub(crate) what: String,
    pub(crate) detail: String,
}

/// One thing that was to be read, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CoverageLine {
    pub(crate) subject: String,
    pub(crate) state: Text,
    pub(crate) detail: String,
}

/// A part of an answer for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    Heading(Text),
    KeyValues(Vec<(&'static str, Text)>),
    Table {
        columns: Vec<Column>,
        rows: Vec<Vec<Text>>,
    },
    /// A row a line whatever the width, as `kubectl get` has them: they are for grep and awk, too.
    Rows {
        columns: Vec<Column>,
        rows: Vec<Vec<Text>>,
    },
    Timeline(Vec<Moment>),
    Findings(Vec<Finding>),
    Notes(Vec<String>),
    Coverage(Vec<CoverageLine>),
    /// Shown with `-o wide` only.
    Wide(Box<Self>),
}
