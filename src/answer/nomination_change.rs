//! What a watch tells people of a change: a row for each Pod of which something else is told now.
//!
//! As data a change is the whole explanation once more.

use super::nomination_explanation::NominationExplanation;
use crate::block::{Block, Column, Text};

/// Room of the columns: rows that come one by one are to stand below each other.
const VERDICT: usize = "WaitingForScheduler".len();
const CAUSE: usize = "outside-hint-overwritten".len();

/// Which words a row needs, beside what changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// The first rows have titles above them.
    pub(crate) titles: bool,
    pub(crate) namespace: bool,
    pub(crate) name: bool,
}

pub(crate) fn view(changed: &[&NominationExplanation], layout: Layout) -> Vec<Block> {
    let mut columns = vec!["AT"];
    columns.extend(layout.namespace.then_some("NAMESPACE"));
    columns.extend(layout.name.then_some("POD"));
    columns.extend(["VERDICT", "CAUSE", "SUMMARY"]);
    let column = |title| Column {
        title: if layout.titles { title } else { "" },
        wide: false,
    };
    let row = |item: &&NominationExplanation| {
        let verdict = &item.verdict;
        let padded = |text: &str, room| format!("{text:room$}");
        let mut row = vec![Text::plain(item.header.now.to_string())];
        row.extend(
            layout
                .namespace
                .then(|| Text::plain(item.pod.namespace.as_str())),
        );
        row.extend(layout.name.then(|| Text::name(item.pod.name.as_str())));
        row.extend([
            Text::new(
                verdict.role(),
                padded(&format!("{:?}", verdict.kind), VERDICT),
            ),
            Text::plain(padded(verdict.cause.unwrap_or("<none>"), CAUSE)),
            Text::plain(verdict.summary.as_str()),
        ]);
        row
    };
    vec![Block::Rows {
        columns: columns.into_iter().map(column).collect(),
        rows: changed.iter().map(row).collect(),
    }]
}
