//! The answer of `features guard baseline`: the numbers of a moment, to be held against those of a later one.
//!
//! It is an input as well: `guard --baseline FILE` reads it, in this and any later version.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Header;
use super::parts::{column, heading, not_seen};
use crate::block::{Block, Text};
use crate::model::baseline::Reading;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GuardBaseline {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) readings: Vec<Reading>,
    /// Why the numbers of a condition are not there, or not all, by its id.
    pub(crate) unknown: BTreeMap<String, String>,
}

/// A row a number, then what is not known.
pub(crate) fn view(answer: &GuardBaseline) -> Vec<Block> {
    let rows = answer.readings.iter().map(|reading| {
        vec![
            Text::name(&reading.condition),
            Text::plain(reading.of.to_string()),
            Text::plain(&reading.detail),
        ]
    });
    let mut blocks = vec![Block::Rows {
        columns: ["CONDITION", "OF", "MEASURED"].map(column).into(),
        rows: rows.collect(),
    }];
    if !answer.unknown.is_empty() {
        blocks.push(heading("Not known"));
        let notes = answer.unknown.iter();
        let notes = notes.map(|(condition, why)| format!("{condition}: {why}"));
        blocks.push(Block::Notes(notes.collect()));
    }
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}
