//! One typed struct for each kind of answer: the JSON contract, and its view as blocks.
//!
//! An answer holds results; it must not compute them. Every key is always there.

pub(crate) mod access_report;
pub(crate) mod check_report;
pub(crate) mod gate_history;
pub(crate) mod gate_skew;
pub(crate) mod gate_snapshot;
pub(crate) mod nomination_change;
pub(crate) mod nomination_explanation;
pub(crate) mod nomination_explanation_list;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::block::{Block, CoverageLine, Role, Text};
use crate::model::coverage::{Coverage, Source, State};

/// `apiVersion` of every document that we print.
pub(crate) const API_VERSION: &str = "kube-placement.dev/v1alpha1";

/// Members that a row names before it only counts.
const NAMED: usize = 3;

/// Keys that every answer carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) generated_at: Timestamp,
    /// The time that deadlines were judged by.
    pub(crate) now: Timestamp,
    pub(crate) sources: Vec<Source>,
    pub(crate) coverage: Vec<Coverage>,
}

/// Some names, and how many more there are.
pub(crate) fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What could not be seen, those of a kind that share a reason in one line. What a server said it does not have, it does not have.
fn not_seen(coverage: &[Coverage]) -> Vec<Block> {
    let mut alike: BTreeMap<(State, String, &str), Vec<String>> = BTreeMap::new();
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
        let (what, name) = line.subject.split_once('/').unwrap_or((&line.subject, ""));
        // The name of a node stands in the server's words, too.
        let detail = if name.is_empty() {
            detail.to_owned()
        } else {
            detail.replace(name, "NODE")
        };
        alike
            .entry((line.state, detail, what))
            .or_default()
            .push(name.to_owned());
    }
    let lines = alike.into_iter().map(|((state, detail, what), names)| {
        let (subject, detail) = match names.as_slice() {
            [alone] if alone.is_empty() => (what.to_owned(), detail),
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
