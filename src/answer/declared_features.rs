//! The answer of `features declared`: what nodes declare, and whether it can be believed.
//!
//! Shapes as the contract has them. It must not judge: the analysis fills it.

use jiff::Timestamp;
use serde::Serialize;

use super::Header;
use super::gate_skew::Severity;
use super::nomination_explanation::Certainty;
use super::parts::{column, heading, not_seen, or_none, or_unknown, short, some};
use crate::block::{Block, Column, Finding, Role, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeclaredFeatures {
    #[serde(flatten)]
    pub(crate) header: Header,
    /// Of the nodes that were asked about, those that the request shows.
    pub(crate) nodes: Vec<NodeRow>,
    /// Nodes of one pool and version with the same list.
    pub(crate) groups: Vec<Group>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) features: Vec<FeatureRow>,
    /// What is the matter, for all nodes with the same cause at once.
    pub(crate) findings: Vec<Matter>,
    /// Labels that look like declared features and are none.
    pub(crate) labels: Vec<Pretence>,
    /// The request is for some of the nodes: they are shown one by one.
    #[serde(skip)]
    pub(crate) is_list: bool,
    /// Something that the answer needs could not be seen (exit 5).
    #[serde(skip)]
    pub(crate) is_incomplete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeRow {
    pub(crate) name: String,
    pub(crate) pool: Option<String>,
    /// As the kubelet wrote it when it started; null where the Node has no status.
    pub(crate) version: Option<String>,
    pub(crate) container_runtime: Option<String>,
    /// As listed: order and duplicates are kept.
    pub(crate) features: Vec<String>,
    /// SHA-256 over the lines of the list; null where there is no list.
    pub(crate) digest: Option<String>,
    pub(crate) freshness: Freshness,
    pub(crate) cause: &'static str,
    /// Null where freshness is Unknown.
    pub(crate) certainty: Option<Certainty>,
    pub(crate) evidence: Vec<String>,
    pub(crate) completeness: Completeness,
    /// What its kubelet should declare and the list lacks.
    pub(crate) missing: Vec<String>,
    /// What the list has and its kubelet cannot have declared.
    pub(crate) unexpected: Vec<String>,
    /// Managers that own the list by managedFields, which is a claim and dates nothing; null where they were stripped.
    pub(crate) written_by: Option<Vec<String>>,
    /// The kubelet's last sign of life.
    pub(crate) last_seen: Option<Timestamp>,
    pub(crate) unschedulable: bool,
}

/// Whether a list is what its kubelet declares now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Freshness {
    Stale,
    Unknown,
    Fresh,
}

impl Freshness {
    fn role(self) -> Role {
        match self {
            Self::Stale => Role::Bad,
            Self::Unknown => Role::Warning,
            Self::Fresh => Role::Good,
        }
    }

    fn text(self) -> Text {
        Text::new(self.role(), format!("{self:?}"))
    }
}

/// Whether a list has all that its kubelet should declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Completeness {
    Complete,
    Incomplete,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Group {
    pub(crate) pool: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) digest: Option<String>,
    pub(crate) features: Vec<String>,
    pub(crate) nodes: Vec<String>,
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

/// Nodes by what their lists are worth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) count: usize,
    pub(crate) fresh: usize,
    pub(crate) stale: usize,
    pub(crate) unknown: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, freshness: Freshness) {
        self.count += 1;
        match freshness {
            Freshness::Fresh => self.fresh += 1,
            Freshness::Stale => self.stale += 1,
            Freshness::Unknown => self.unknown += 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pool {
    /// Null for nodes of no pool.
    pub(crate) name: Option<String>,
    pub(crate) versions: Vec<String>,
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// The worst of its nodes: a pool is as sure as its least sure node.
    pub(crate) freshness: Freshness,
    /// One for each of the answer's `features`, in their order.
    pub(crate) features: Vec<Spread>,
}

/// How many nodes have a feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spread {
    pub(crate) name: String,
    /// Nodes whose list has it.
    pub(crate) nodes: usize,
    /// Of those, the nodes whose list is Fresh.
    pub(crate) fresh: usize,
    /// Of those, the nodes whose kubelet cannot have declared it, or whose list is Stale.
    pub(crate) stale: usize,
    /// `nodes` of all nodes, 0 to 1.
    pub(crate) share: f64,
}

// Shares are made by one division of two counts: the same counts give the same bits.
impl Eq for Spread {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeatureRow {
    #[serde(flatten)]
    pub(crate) share: Spread,
    /// Minors whose kubelets can declare it; empty for one that no known minor has.
    pub(crate) versions: Vec<String>,
}

/// A cause, the nodes that it is true of, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Matter {
    pub(crate) severity: Severity,
    pub(crate) freshness: Freshness,
    pub(crate) cause: &'static str,
    pub(crate) message: &'static str,
    pub(crate) nodes: Vec<String>,
    /// Of the first of the nodes.
    pub(crate) evidence: Vec<String>,
    pub(crate) advice: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pretence {
    /// Its key; `PREFIX*` where many are told of as one.
    pub(crate) label: String,
    pub(crate) nodes: usize,
    pub(crate) detail: &'static str,
}

impl DeclaredFeatures {
    /// The worst that was found; null where nothing was.
    pub(crate) fn worst(&self) -> Option<Severity> {
        let of_labels = (!self.labels.is_empty()).then_some(Severity::Warning);
        let found = self.findings.iter().map(|matter| matter.severity);
        found.chain(of_labels).min()
    }

    fn totals(&self) -> Counts {
        self.pools
            .iter()
            .fold(Counts::default(), |total, pool| Counts {
                count: total.count + pool.counts.count,
                fresh: total.fresh + pool.counts.fresh,
                stale: total.stale + pool.counts.stale,
                unknown: total.unknown + pool.counts.unknown,
            })
    }
}

fn summary(counts: Counts) -> Text {
    let freshness = match counts {
        Counts { count: 0, .. } => return Text::new(Role::Warning, "no node was seen"),
        Counts { stale: 1.., .. } => Freshness::Stale,
        Counts { unknown: 1.., .. } => Freshness::Unknown,
        _ => Freshness::Fresh,
    };
    let parts = [
        (counts.fresh, "fresh"),
        (counts.stale, "stale"),
        (counts.unknown, "unknown"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let of = if counts.count == 1 { "node" } else { "nodes" };
    Text::new(
        freshness.role(),
        format!("{} {of}: {}", counts.count, parts.join(", ")),
    )
}

/// A count of what should not be; nought needs no eye.
fn odd(count: usize, role: Role) -> Text {
    Text::new(if count == 0 { Role::Dim } else { role }, count.to_string())
}

fn groups(groups: &[Group]) -> Block {
    let columns = [
        "POOL", "VERSION", "NODES", "FRESH", "STALE", "UNKNOWN", "FEATURES", "DIGEST",
    ];
    let rows = groups.iter().map(|group| {
        let digest = group.digest.as_deref();
        vec![
            or_none(group.pool.as_deref()),
            or_unknown(group.version.as_deref()),
            Text::plain(group.counts.count.to_string()),
            Text::plain(group.counts.fresh.to_string()),
            odd(group.counts.stale, Role::Bad),
            odd(group.counts.unknown, Role::Warning),
            Text::plain(group.features.len().to_string()),
            digest.map_or_else(|| or_none(None), |digest| short(Some(digest))),
        ]
    });
    Block::Rows {
        columns: columns.map(column).into(),
        rows: rows.collect(),
    }
}

/// Features down, pools across. Pools have names of the cluster's own, so that the titles are a row like the others.
fn matrix(answer: &DeclaredFeatures) -> Block {
    let mut titles = vec![Text::plain("FEATURE")];
    titles.extend(
        answer
            .pools
            .iter()
            .map(|pool| or_none(pool.name.as_deref())),
    );
    let rows = answer.features.iter().enumerate().map(|(at, feature)| {
        let is_known = !feature.versions.is_empty();
        let role = if is_known { Role::Name } else { Role::Warning };
        let mut row = vec![Text::new(role, feature.share.name.clone())];
        row.extend(answer.pools.iter().map(|pool| cell(pool, at)));
        row
    });
    let untitled = Column {
        title: "",
        wide: false,
    };
    Block::Rows {
        columns: vec![untitled; answer.pools.len() + 1],
        rows: std::iter::once(titles).chain(rows).collect(),
    }
}

/// Nodes that have a feature of all of the pool's, and of those how many not to be believed.
fn cell(pool: &Pool, at: usize) -> Text {
    let Some(share) = pool.features.get(at) else {
        return Text::new(Role::Dim, "-");
    };
    let of = format!("{}/{}", share.nodes, pool.counts.count);
    let unknown = share.nodes - share.fresh - share.stale;
    let role = match (share.nodes, share.stale, unknown) {
        (0, ..) => return Text::new(Role::Dim, of),
        (_, 1.., _) => Role::Bad,
        (_, _, 1..) => Role::Warning,
        _ => Role::Plain,
    };
    let doubts = [(share.stale, "stale"), (unknown, "unknown")];
    let doubts = doubts.into_iter().filter(|(count, _)| *count > 0);
    let doubts: Vec<String> = doubts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if doubts.is_empty() {
        return Text::new(role, of);
    }
    Text::new(role, format!("{of} ({})", doubts.join(", ")))
}

fn nodes(nodes: &[NodeRow]) -> Block {
    let columns = [
        "NODE",
        "POOL",
        "VERSION",
        "FRESHNESS",
        "CAUSE",
        "WRITTEN-BY",
        "LAST-SEEN",
        "FEATURES",
    ];
    let rows = nodes.iter().map(|node| {
        let written_by = node.written_by.as_ref().map(|managers| some(managers));
        let seen = node.last_seen.map(|at| format!("{at:.0}"));
        vec![
            Text::name(node.name.clone()),
            or_none(node.pool.as_deref()),
            or_unknown(node.version.as_deref()),
            node.freshness.text(),
            Text::plain(node.cause),
            or_unknown(written_by.as_deref()),
            or_unknown(seen.as_deref()),
            or_none(Some(some(&node.features).as_str()).filter(|text| !text.is_empty())),
        ]
    });
    Block::Rows {
        columns: columns.map(column).into(),
        rows: rows.collect(),
    }
}

fn matter(matter: &Matter) -> Finding {
    let mut extras = vec![("Nodes", some(&matter.nodes))];
    extras.extend(
        matter
            .evidence
            .iter()
            .map(|text| ("Evidence", text.clone())),
    );
    extras.extend(matter.advice.iter().map(|text| ("Advice", text.clone())));
    Finding {
        title: Text::new(
            matter.freshness.role(),
            format!("{:?}: {}", matter.freshness, matter.cause),
        ),
        message: matter.message.to_owned(),
        extras,
    }
}

fn labels(labels: &[Pretence]) -> Block {
    let rows = labels.iter().map(|label| {
        vec![
            Text::name(label.label.clone()),
            Text::plain(label.nodes.to_string()),
            Text::plain(label.detail),
        ]
    });
    Block::Rows {
        columns: ["LABEL", "NODES", "WHAT IT IS"].map(column).into(),
        rows: rows.collect(),
    }
}

/// Pools and features first, then what is the matter; nodes one by one where some were asked for, or with `-o wide`.
pub(crate) fn view(answer: &DeclaredFeatures) -> Vec<Block> {
    let mut blocks = vec![Block::KeyValues(vec![(
        "Declared features",
        summary(answer.totals()),
    )])];
    blocks.push(heading("Nodes"));
    if answer.is_list {
        blocks.push(nodes(&answer.nodes));
    } else {
        blocks.push(groups(&answer.groups));
        blocks.push(Block::Wide(Box::new(nodes(&answer.nodes))));
    }
    if !answer.features.is_empty() {
        blocks.push(heading("Features"));
        blocks.push(matrix(answer));
    }
    if !answer.findings.is_empty() {
        blocks.push(heading("Findings"));
        blocks.push(Block::Findings(
            answer.findings.iter().map(matter).collect(),
        ));
    }
    if !answer.labels.is_empty() {
        blocks.push(heading("Labels that are no declared features"));
        blocks.push(labels(&answer.labels));
    }
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}
