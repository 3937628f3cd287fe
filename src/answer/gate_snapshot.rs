//! The answer of `features snapshot`: what `skew` reads, before anything is compared.
//!
//! It is an input as well: `--from FILE` reads it, in this and any later version.

use serde::Serialize;

use super::Header;
use crate::block::{Block, Column, Text};
use crate::model::record::ComponentRecord;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateSnapshot {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) components: Vec<ComponentRecord>,
}

/// A row a component: which documents told of it, and how many gates.
pub(crate) fn view(answer: &GateSnapshot) -> Vec<Block> {
    let columns = [
        "COMPONENT",
        "POOL",
        "VERSION",
        "OBSERVED",
        "SET",
        "DOCUMENTS",
    ];
    let count =
        |gates: Option<usize>| gates.map_or_else(|| "<none>".to_owned(), |count| count.to_string());
    let rows = answer.components.iter().map(|component| {
        let statements = &component.statements;
        let version = statements.iter().find_map(|it| it.version.as_deref());
        let runs = statements.iter().find_map(|it| it.runs.as_ref());
        let set = statements.iter().find_map(|it| it.set.as_ref());
        let documents: Vec<&str> = statements.iter().map(|it| it.document.as_str()).collect();
        vec![
            Text::name(component.name.as_str()),
            Text::plain(component.pool.as_deref().unwrap_or("<none>")),
            Text::plain(version.unwrap_or("<unknown>")),
            Text::plain(count(runs.map(|gates| gates.len()))),
            Text::plain(count(set.map(std::collections::BTreeMap::len))),
            Text::plain(documents.join(",")),
        ]
    });
    vec![Block::Rows {
        columns: columns.map(|title| Column { title, wide: false }).into(),
        rows: rows.collect(),
    }]
}
