//! The answer of `features declared --writers`: who may write what nodes declare.
//!
//! It must not judge: the analysis fills it.

use serde::Serialize;

use super::Header;
use super::parts::{column, heading, not_seen, some};
use crate::block::{Block, Role, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeatureWriters {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) writers: Vec<Writer>,
    /// Rules that look as if they granted it and do not.
    pub(crate) harmless: Vec<Harmless>,
    /// Writers that no list of rights shows.
    pub(crate) notes: Vec<&'static str>,
    /// Rights could not be read (exit 5).
    #[serde(skip)]
    pub(crate) is_incomplete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Writer {
    /// Whether it is one that Kubernetes itself has.
    pub(crate) expected: bool,
    /// `User`, `Group` or `ServiceAccount`.
    pub(crate) kind: String,
    /// Of a service account.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// `patch nodes/status`, `update nodes/status`, `create nodes`.
    pub(crate) rights: Vec<String>,
    /// The Nodes that it may write; empty is all.
    pub(crate) nodes: Vec<String>,
    /// By which bindings and roles.
    pub(crate) through: Vec<Through>,
    /// Why Kubernetes gives it these rights; null where it does not.
    pub(crate) explanation: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Through {
    pub(crate) cluster_role_binding: String,
    pub(crate) cluster_role: String,
    /// The roles that an aggregated role has these rules of; empty where they are its own.
    pub(crate) aggregated_from: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Harmless {
    pub(crate) cluster_role: String,
    pub(crate) resource: String,
    pub(crate) detail: &'static str,
}

impl Writer {
    /// In the words of RBAC: a service account by its namespace.
    fn subject(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{}/{namespace}/{}", self.kind, self.name),
            None => format!("{}/{}", self.kind, self.name),
        }
    }
}

fn rows(writers: &[&Writer]) -> Block {
    let columns = ["WHO", "MAY", "NODES", "THROUGH", "WHY"];
    let rows = writers.iter().map(|writer| {
        let through = |through: &Through| {
            let from = match through.aggregated_from.as_slice() {
                [] => String::new(),
                from => format!(" (of {})", some(from)),
            };
            format!(
                "{}: {}{from}",
                through.cluster_role_binding, through.cluster_role
            )
        };
        let through: Vec<String> = writer.through.iter().map(through).collect();
        let nodes = match writer.nodes.as_slice() {
            [] => "all".to_owned(),
            names => some(names),
        };
        vec![
            Text::name(writer.subject()),
            Text::plain(writer.rights.join(", ")),
            Text::plain(nodes),
            Text::plain(some(&through)),
            Text::plain(writer.explanation.unwrap_or_default()),
        ]
    });
    Block::Rows {
        columns: columns.map(column).into(),
        rows: rows.collect(),
    }
}

fn summary(answer: &FeatureWriters) -> Text {
    let others = answer.writers.iter().filter(|it| !it.expected).count();
    if answer.is_incomplete {
        return Text::new(Role::Warning, "unknown: rights could not be read");
    }
    match others {
        0 => Text::new(Role::Good, "none but those that Kubernetes itself has"),
        1 => Text::new(Role::Warning, "1 that Kubernetes itself does not have"),
        more => Text::new(
            Role::Warning,
            format!("{more} that Kubernetes itself does not have"),
        ),
    }
}

/// Those that nobody would expect first.
pub(crate) fn view(answer: &FeatureWriters) -> Vec<Block> {
    let (expected, others): (Vec<&Writer>, Vec<&Writer>) =
        answer.writers.iter().partition(|writer| writer.expected);
    let mut blocks = vec![Block::KeyValues(vec![(
        "Writers of declared features",
        summary(answer),
    )])];
    for (title, writers) in [("Others", others), ("Kubernetes' own", expected)] {
        if !writers.is_empty() {
            blocks.push(heading(title));
            blocks.push(rows(&writers));
        }
    }
    if !answer.harmless.is_empty() {
        blocks.push(heading("Rules that grant nothing of it"));
        let of = |it: &Harmless| {
            vec![
                Text::name(it.cluster_role.clone()),
                Text::plain(it.resource.clone()),
                Text::plain(it.detail),
            ]
        };
        blocks.push(Block::Rows {
            columns: ["CLUSTERROLE", "RESOURCE", "WHY NOT"].map(column).into(),
            rows: answer.harmless.iter().map(of).collect(),
        });
    }
    blocks.push(Block::Notes(
        answer.notes.iter().map(|&note| note.to_owned()).collect(),
    ));
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}
