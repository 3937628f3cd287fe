//! The answer of `features lookup`: what Kubernetes itself says of feature gates, version by version.

use serde::{Serialize, Serializer};

use super::Header;
use super::nomination_explanation::coverage;
use crate::block::{Block, Column, Role, Text};
use crate::model::version::Minor;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateHistory {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) known: Known,
    /// In the order asked for, else by name.
    pub(crate) gates: Vec<GateRecord>,
    /// Whether gates were asked for by name: each is then told whole.
    #[serde(skip)]
    pub(crate) named: bool,
}

/// The minors whose gates are known, without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Known {
    pub(crate) oldest: Minor,
    pub(crate) newest: Minor,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateRecord {
    pub(crate) name: &'static str,
    /// What held from which version on, oldest first; empty for a meta-gate.
    pub(crate) versions: Vec<GateVersion>,
    /// In the version that was asked for, else in the newest that has the gate, up to the end of the range; null where
    /// that version lacks it.
    pub(crate) at: Option<GateStand>,
    /// Gates that must be on where this one is, in that version: direct ones first.
    pub(crate) depends_on: Vec<Link>,
    /// Gates that must be off where this one is, in that version: direct ones first.
    pub(crate) needed_by: Vec<Link>,
    /// Components that its KEP names; null where none says.
    pub(crate) components: Option<Vec<&'static str>>,
    pub(crate) keps: Vec<u32>,
    /// The first known minor that lacks it after one that has it; null where there is none.
    pub(crate) removed_in: Option<Minor>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateVersion {
    /// Null where it was registered without a version.
    pub(crate) since: Option<Minor>,
    pub(crate) default: bool,
    /// Alpha, Beta, GA or Deprecated.
    pub(crate) stage: &'static str,
    pub(crate) locked: bool,
    /// Holds only where the component's minimum compatibility version is at least this; null is always.
    pub(crate) min_compatibility_version: Option<Minor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateStand {
    pub(crate) version: Minor,
    pub(crate) since: Option<Minor>,
    pub(crate) default: bool,
    pub(crate) stage: &'static str,
    pub(crate) locked: bool,
}

/// A gate that is needed or needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Link {
    pub(crate) name: &'static str,
    /// The gate one step nearer; null where it is direct.
    pub(crate) through: Option<&'static str>,
}

/// A minor is told as `1.37`.
impl Serialize for Minor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A gate whole where it was asked for by name, else a row each; then what is not known.
pub(crate) fn view(answer: &GateHistory) -> Vec<Block> {
    let mut blocks: Vec<Block> = if answer.named {
        answer.gates.iter().flat_map(whole).collect()
    } else if answer.gates.is_empty() {
        Vec::new()
    } else {
        vec![rows(&answer.gates)]
    };
    if !answer.header.coverage.is_empty() {
        let lines: Vec<_> = answer.header.coverage.iter().collect();
        blocks.push(Block::Heading(Text::plain("Not known")));
        blocks.push(coverage(&lines));
    }
    blocks
}

fn column(title: &'static str) -> Column {
    Column { title, wide: false }
}

fn or<T: ToString>(value: Option<T>, nothing: &str) -> Text {
    Text::plain(value.map_or_else(|| nothing.to_owned(), |value| value.to_string()))
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn components(gate: &GateRecord) -> Text {
    or(
        gate.components.as_ref().map(|names| names.join(", ")),
        "<not known>",
    )
}

fn whole(gate: &GateRecord) -> Vec<Block> {
    let mut pairs = Vec::new();
    if let Some(stand) = &gate.at {
        pairs.extend([
            ("Version", Text::plain(stand.version.to_string())),
            ("Stage", Text::plain(stand.stage)),
            ("Default", Text::plain(stand.default.to_string())),
            ("Locked", Text::plain(yes(stand.locked))),
        ]);
    }
    // A meta-gate has none of these.
    if !gate.versions.is_empty() {
        let keps: Vec<String> = gate.keps.iter().map(ToString::to_string).collect();
        pairs.extend([
            ("Removed in", or(gate.removed_in, "<none>")),
            ("Components", components(gate)),
            (
                "KEP",
                or((!keps.is_empty()).then(|| keps.join(", ")), "<none>"),
            ),
        ]);
    }
    let mut blocks = vec![
        Block::Heading(Text::name(gate.name)),
        Block::KeyValues(pairs),
        Block::Notes(gate.notes.clone()),
    ];
    if !gate.versions.is_empty() {
        blocks.extend([Block::Heading(Text::plain("History")), history(gate)]);
    }
    for (heading, links) in [("Needs", &gate.depends_on), ("Needed by", &gate.needed_by)] {
        if !links.is_empty() {
            blocks.extend([Block::Heading(Text::plain(heading)), table(links)]);
        }
    }
    blocks
}

fn history(gate: &GateRecord) -> Block {
    let mut columns = vec![
        column("SINCE"),
        column("STAGE"),
        column("DEFAULT"),
        column("LOCKED"),
    ];
    let conditional = gate
        .versions
        .iter()
        .any(|version| version.min_compatibility_version.is_some());
    if conditional {
        columns.push(column("MIN-COMPATIBILITY"));
    }
    let row = |version: &GateVersion| {
        let mut row = vec![
            or(version.since, "<not said>"),
            Text::plain(version.stage),
            Text::plain(version.default.to_string()),
            Text::plain(yes(version.locked)),
        ];
        if conditional {
            row.push(or(version.min_compatibility_version, "<any>"));
        }
        row
    };
    let mut rows: Vec<_> = gate.versions.iter().map(row).collect();
    if let Some(removed) = gate.removed_in {
        let mut last = vec![
            Text::plain(removed.to_string()),
            Text::new(Role::Warning, "removed"),
        ];
        last.resize(columns.len(), Text::plain("-"));
        rows.push(last);
    }
    Block::Table { columns, rows }
}

fn table(links: &[Link]) -> Block {
    let row = |link: &Link| {
        vec![
            Text::name(link.name),
            Text::plain(link.through.unwrap_or("<direct>")),
        ]
    };
    Block::Table {
        columns: vec![column("GATE"), column("THROUGH")],
        rows: links.iter().map(row).collect(),
    }
}

fn rows(gates: &[GateRecord]) -> Block {
    let wide = |title| Column { title, wide: true };
    let direct = |links: &[Link]| {
        let names: Vec<&str> = links
            .iter()
            .filter(|link| link.through.is_none())
            .map(|link| link.name)
            .collect();
        or((!names.is_empty()).then(|| names.join(",")), "<none>")
    };
    let row = |gate: &GateRecord| {
        let at = gate.at.as_ref();
        vec![
            Text::name(gate.name),
            or(at.map(|at| at.version), "<none>"),
            or(at.map(|at| at.stage), "<none>"),
            or(at.map(|at| at.default), "<none>"),
            or(at.map(|at| yes(at.locked)), "<none>"),
            or(at.and_then(|at| at.since), "<none>"),
            or(gate.removed_in, "<none>"),
            or(
                gate.components.as_ref().map(|names| names.join(",")),
                "<unknown>",
            ),
            direct(&gate.depends_on),
            direct(&gate.needed_by),
        ]
    };
    Block::Rows {
        columns: vec![
            column("GATE"),
            column("VERSION"),
            column("STAGE"),
            column("DEFAULT"),
            column("LOCKED"),
            column("SINCE"),
            column("REMOVED"),
            wide("COMPONENTS"),
            wide("NEEDS"),
            wide("NEEDED-BY"),
        ],
        rows: gates.iter().map(row).collect(),
    }
}
