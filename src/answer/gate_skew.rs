//! The answer of `features skew`: which gates really run where, what differs, why, and whether it matters.
//!
//! Shapes as the contract has them. It must not judge: the analysis fills it.

use jiff::Timestamp;
use serde::Serialize;

use super::Header;
use super::parts::{column, heading, not_seen, or_none, or_unknown, short, some};
use crate::block::{Block, Finding, Role, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateSkew {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) components: Vec<ComponentRow>,
    pub(crate) groups: Vec<Group>,
    pub(crate) differences: Vec<Difference>,
    pub(crate) contradictions: Vec<Contradiction>,
    pub(crate) version_skew: Vec<VersionSkew>,
    /// Differences that the request leaves out: by irrelevance or because only versions make them.
    #[serde(skip)]
    pub(crate) left_out: usize,
    /// Something that the answer needs could not be seen (exit 5).
    #[serde(skip)]
    pub(crate) is_incomplete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ComponentRow {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) pool: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) emulation_version: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) fingerprint_all: Option<String>,
    pub(crate) fingerprint_relevant: Option<String>,
    pub(crate) fingerprint_vendor: Option<String>,
    pub(crate) known: Known,
    pub(crate) observed_at: Option<Timestamp>,
}

/// How a value came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Known {
    /// The process tells the value itself.
    Observed,
    /// It is set where the process reads it.
    Configured,
    /// It follows from the version, for nothing sets it.
    Derived,
    Unknown,
}

impl Known {
    fn word(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Configured => "configured",
            Self::Derived => "derived",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Group {
    pub(crate) kind: &'static str,
    pub(crate) version: Option<String>,
    pub(crate) pool: Option<String>,
    pub(crate) fingerprint_relevant: Option<String>,
    pub(crate) members: Vec<String>,
    pub(crate) count: usize,
    #[serde(skip)]
    pub(crate) known: Known,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Relevance {
    Relevant,
    Irrelevant,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Severity {
    Error,
    Warning,
    Info,
}

impl Severity {
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Error => Role::Bad,
            Self::Warning => Role::Warning,
            Self::Info => Role::Plain,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum GateValue {
    True,
    False,
    /// The binary does not know it, which is neither on nor off.
    NotInVersion,
    Unknown,
}

impl From<bool> for GateValue {
    fn from(on: bool) -> Self {
        if on { Self::True } else { Self::False }
    }
}

impl GateValue {
    /// Null where it is neither on nor off.
    pub(crate) fn is_on(self) -> Option<bool> {
        match self {
            Self::True => Some(true),
            Self::False => Some(false),
            Self::NotInVersion | Self::Unknown => None,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::True => "on",
            Self::False => "off",
            Self::NotInVersion => "not in that version",
            Self::Unknown => "unknown",
        }
    }
}

/// What makes a value what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Cause {
    Flag,
    ConfigFile,
    VersionDefault,
    Emulation,
    AllAlpha,
    AllBeta,
    NotInVersion,
    Unknown,
}

impl Cause {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::ConfigFile => "configuration",
            Self::VersionDefault => "version's default",
            Self::Emulation => "emulation",
            Self::AllAlpha => "AllAlpha",
            Self::AllBeta => "AllBeta",
            Self::NotInVersion => "not in that version",
            Self::Unknown => "cause unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    pub(crate) gate: String,
    pub(crate) relevance: Relevance,
    /// As the newest of the components has it.
    pub(crate) stage: Option<&'static str>,
    pub(crate) severity: Severity,
    pub(crate) summary: String,
    pub(crate) impact: Impact,
    pub(crate) values: Vec<Values>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Impact {
    pub(crate) text: String,
    pub(crate) pods: Vec<ImpactedPod>,
    pub(crate) truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImpactedPod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) node: String,
}

/// Components that run a gate alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Values {
    pub(crate) value: GateValue,
    pub(crate) components: Vec<String>,
    pub(crate) count: usize,
    pub(crate) cause: Cause,
    pub(crate) known: Known,
    pub(crate) detail: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Contradiction {
    pub(crate) component: String,
    pub(crate) gate: String,
    pub(crate) observed: GateValue,
    pub(crate) configured: GateValue,
    pub(crate) detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionSkew {
    pub(crate) severity: Severity,
    pub(crate) rule: &'static str,
    pub(crate) subject: String,
    pub(crate) detail: String,
}

impl GateSkew {
    /// The worst of all findings; null where there is none.
    pub(crate) fn worst(&self) -> Option<Severity> {
        let contradictions = self.contradictions.iter().map(|_| Severity::Warning);
        self.differences
            .iter()
            .map(|difference| difference.severity)
            .chain(self.version_skew.iter().map(|skew| skew.severity))
            .chain(contradictions)
            .min()
    }

    fn verdict(&self) -> Text {
        match (self.worst(), self.is_incomplete) {
            (Some(Severity::Error), _) => Text::new(Role::Bad, "differs, and it matters"),
            (_, true) => Text::new(Role::Warning, "not all could be seen"),
            (Some(Severity::Warning), _) => Text::new(Role::Warning, "differs"),
            (Some(Severity::Info) | None, _) => Text::new(Role::Good, "no relevant difference"),
        }
    }
}

fn groups(groups: &[Group]) -> Block {
    let columns = [
        "COMPONENT",
        "VERSION",
        "POOL",
        "COUNT",
        "GATES",
        "KNOWN",
        "MEMBERS",
    ];
    let rows = groups.iter().map(|group| {
        vec![
            Text::name(group.kind),
            or_unknown(group.version.as_deref()),
            or_none(group.pool.as_deref()),
            Text::plain(group.count.to_string()),
            short(group.fingerprint_relevant.as_deref()),
            Text::plain(group.known.word()),
            Text::plain(some(&group.members)),
        ]
    });
    Block::Rows {
        columns: columns.map(column).into(),
        rows: rows.collect(),
    }
}

fn difference(difference: &Difference) -> Finding {
    let mut extras: Vec<(&'static str, String)> = Vec::new();
    for values in &difference.values {
        let known = values.known.word();
        let mut text = format!(
            "{}: {} ({}, {known})",
            values.value.word(),
            some(&values.components),
            values.cause.word()
        );
        if let Some(detail) = &values.detail {
            text = format!("{text}; {detail}");
        }
        extras.push(("Runs", text));
    }
    if !difference.impact.text.is_empty() {
        extras.push(("Impact", difference.impact.text.clone()));
    }
    Finding {
        title: Text::new(
            difference.severity.role(),
            format!("{:?}: {}", difference.severity, difference.gate),
        ),
        message: difference.summary.clone(),
        extras,
    }
}

/// The groups first, then what differs, worst first.
pub(crate) fn view(answer: &GateSkew) -> Vec<Block> {
    let mut blocks = vec![Block::KeyValues(vec![("Feature gates", answer.verdict())])];
    blocks.push(heading("Components"));
    blocks.push(groups(&answer.groups));
    if !answer.version_skew.is_empty() {
        blocks.push(heading("Version skew"));
        blocks.push(Block::Findings(
            answer
                .version_skew
                .iter()
                .map(|skew| Finding {
                    title: Text::new(
                        skew.severity.role(),
                        format!("{:?}: {}", skew.severity, skew.subject),
                    ),
                    message: skew.detail.clone(),
                    extras: vec![("Rule", skew.rule.to_owned())],
                })
                .collect(),
        ));
    }
    if !answer.differences.is_empty() {
        blocks.push(heading("Gates"));
        blocks.push(Block::Findings(
            answer.differences.iter().map(difference).collect(),
        ));
    }
    if !answer.contradictions.is_empty() {
        blocks.push(heading("Contradictions"));
        blocks.push(Block::Findings(
            answer
                .contradictions
                .iter()
                .map(|contradiction| Finding {
                    title: Text::new(
                        Role::Warning,
                        format!("{}: {}", contradiction.component, contradiction.gate),
                    ),
                    message: contradiction.detail.clone(),
                    extras: vec![
                        ("Observed", contradiction.observed.word().to_owned()),
                        ("Configured", contradiction.configured.word().to_owned()),
                    ],
                })
                .collect(),
        ));
    }
    if answer.left_out > 0 {
        blocks.push(Block::Notes(vec![format!(
            "{} other gates differ by version alone, or where nobody uses them; list them with --all",
            answer.left_out
        )]));
    }
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}
