//! The answer of `nominate explain` for several Pods: an explanation each, and a row each for people.

use serde::Serialize;

use super::Header;
use super::nomination_explanation::{NominationExplanation, coverage, or_none};
use crate::block::{Block, Column, Text};
use crate::model::coverage::State;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NominationExplanationList {
    /// Its coverage is that of all items together.
    #[serde(flatten)]
    pub(crate) header: Header,
    /// Each whole, with the coverage that it rests on. The stuck ones first.
    pub(crate) items: Vec<NominationExplanation>,
    /// Whether the Pods may be of several namespaces, so that a row must tell.
    #[serde(skip)]
    pub(crate) many_namespaces: bool,
}

/// A row a Pod; then what could not be seen.
pub(crate) fn view(answer: &NominationExplanationList) -> Vec<Block> {
    if answer.items.is_empty() {
        return Vec::new();
    }
    let column = |title, wide| Column { title, wide };
    let mut columns = vec![
        column("POD", false),
        column("VERDICT", false),
        column("CAUSE", false),
        column("NOMINATED", false),
        column("NODE", false),
        column("AGE", false),
        column("PHASE", true),
        column("CERTAINTY", true),
        column("SCHEDULER", true),
        column("PRIORITY", true),
        column("UID", true),
    ];
    if answer.many_namespaces {
        columns.insert(0, column("NAMESPACE", false));
    }
    let row = |item: &NominationExplanation| {
        let pod = &item.pod;
        let verdict = &item.verdict;
        let plain = |value: Option<&str>, nothing: &str| Text::plain(value.unwrap_or(nothing));
        let priority = pod.priority.map(|priority| priority.to_string());
        let mut row = vec![
            Text::name(pod.name.as_str()),
            Text::new(verdict.role(), format!("{:?}", verdict.kind)),
            plain(verdict.cause, "<none>"),
            or_none(pod.nominated_node_name.as_deref()),
            or_none(pod.node_name.as_deref()),
            plain(pod.age.as_deref(), "<unknown>"),
            plain(pod.phase.as_deref(), "<unknown>"),
            Text::plain(format!("{:?}", verdict.certainty)),
            Text::plain(pod.scheduler_name.as_str()),
            plain(priority.as_deref(), "<none>"),
            Text::plain(pod.uid.as_str()),
        ];
        if answer.many_namespaces {
            row.insert(0, Text::plain(pod.namespace.as_str()));
        }
        row
    };
    let mut blocks = vec![Block::Rows {
        columns,
        rows: answer.items.iter().map(row).collect(),
    }];
    let missing: Vec<_> = answer
        .header
        .coverage
        .iter()
        .filter(|line| line.state != State::Complete)
        .collect();
    if !missing.is_empty() {
        blocks.push(Block::Heading(Text::plain("Not observed")));
        blocks.push(coverage(&missing));
    }
    blocks
}
