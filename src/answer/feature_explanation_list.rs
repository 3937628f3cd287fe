//! The answer of `features explain` for several Pods: an explanation each, and a row each for people.

use serde::Serialize;

use super::Header;
use super::feature_explanation::FeatureExplanation;
use super::parts::not_seen;
use crate::block::{Block, Column, Role, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeatureExplanationList {
    /// Its coverage is that of all items together.
    #[serde(flatten)]
    pub(crate) header: Header,
    /// Each whole, in the order of the files, or of namespace and name.
    pub(crate) items: Vec<FeatureExplanation>,
}

/// A row a Pod; then what could not be seen.
pub(crate) fn view(answer: &FeatureExplanationList) -> Vec<Block> {
    let titles = [
        "NAMESPACE",
        "KIND",
        "NAME",
        "VERDICT",
        "CAUSE",
        "NODE",
        "REQUIRES",
    ];
    let row = |item: &FeatureExplanation| {
        let (pod, verdict) = (&item.pod, &item.verdict);
        let mut features: Vec<&str> = item.requirements.iter().map(|it| it.feature).collect();
        features.dedup();
        let or_none = |text: Option<&str>| {
            text.filter(|text| !text.is_empty())
                .map_or_else(|| Text::new(Role::Dim, "<none>"), Text::plain)
        };
        vec![
            Text::plain(pod.namespace.as_str()),
            Text::plain(pod.kind),
            Text::name(pod.name.as_str()),
            Text::new(verdict.role(), format!("{:?}", verdict.kind)),
            Text::plain(verdict.cause),
            or_none(pod.node_name.as_deref()),
            or_none(Some(&features.join(","))),
        ]
    };
    let mut blocks = vec![Block::Rows {
        columns: titles.map(|title| Column { title, wide: false }).into(),
        rows: answer.items.iter().map(row).collect(),
    }];
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}
