//! What the views of answers share: headings, columns, values that are absent, names in a row, what was not seen.
//!
//! It must not know any kind of answer.

use std::collections::BTreeMap;

use crate::block::{Block, Column, CoverageLine, Role, Text};
use crate::model::coverage::{Coverage, State};

/// Members that a row names before it only counts.
pub(crate) const NAMED: usize = 3;

pub(crate) fn heading(text: &'static str) -> Block {
    Block::Heading(Text::plain(text))
}

pub(crate) fn column(title: &'static str) -> Column {
    Column { title, wide: false }
}

pub(super) fn or_unknown(value: Option<&str>) -> Text {
    value.map_or_else(|| Text::new(Role::Dim, "<unknown>"), Text::plain)
}

pub(super) fn or_none(value: Option<&str>) -> Text {
    value.map_or_else(|| Text::new(Role::Dim, "<none>"), Text::plain)
}

/// The first letters of a fingerprint: enough to see that two are not the same.
pub(super) fn short(fingerprint: Option<&str>) -> Text {
    let short = fingerprint.map(|it| it.chars().take(12).collect::<String>());
    or_unknown(short.as_deref())
}

/// Some names, and how many more there are.
pub(crate) fn some(names: &[impl ToString]) -> String {
    let shown = names.iter().take(NAMED).map(ToString::to_string);
    let shown = shown.collect::<Vec<_>>();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What could not be seen, those of a kind that share a reason in one line. What a server said it does not have, it does not have.
pub(super) fn not_seen(coverage: &[Coverage]) -> Vec<Block> {
    let mut alike: BTreeMap<(State, String, String), Vec<String>> = BTreeMap::new();
    for line in coverage {
        let is_loss = match line.state {
            State::Complete => false,
            State::Absent => line.source.is_empty(),
            _ => true,
        };
        if !is_loss {
            continue;
        }
        let detail = line.detail.as_deref().unwrap_or_default();
        let subject = line.named();
        let (what, name) = subject.split_once('/').unwrap_or((&subject, ""));
        // The name of a node stands in the server's words, too.
        let detail = if name.is_empty() {
            detail.to_owned()
        } else {
            detail.replace(name, "NODE")
        };
        alike
            .entry((line.state, detail, what.to_owned()))
            .or_default()
            .push(name.to_owned());
    }
    let lines = alike.into_iter().map(|((state, detail, what), names)| {
        let (subject, detail) = match names.as_slice() {
            [alone] if alone.is_empty() => (what, detail),
            [alone] => (format!("{what}/{alone}"), detail.replace("NODE", alone)),
            several => (format!("{what}/{}", some(several)), detail),
        };
        CoverageLine {
            subject,
            state: Text::new(Role::Warning, format!("{state:?}")),
            detail,
        }
    });
    let lines: Vec<CoverageLine> = lines.collect();
    if lines.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Heading(Text::plain("Not seen")),
        Block::Coverage(lines),
    ]
}
