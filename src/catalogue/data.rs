//! Reads the embedded files of `data/gates/`. Nothing else knows their form.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Catalogue, Gate, Proposal, Spec, Stage};
use crate::model::version::Minor;

/// A file a minor, oldest first; a test compares with the folder.
pub(super) const MINORS: &[(Minor, &str)] = &[
    (Minor(34), include_str!("../../data/gates/1.34.jsonl")),
    (Minor(35), include_str!("../../data/gates/1.35.jsonl")),
    (Minor(36), include_str!("../../data/gates/1.36.jsonl")),
    (Minor(37), include_str!("../../data/gates/1.37.jsonl")),
];

const COMPONENTS: &str = include_str!("../../data/gates/components.jsonl");

const READERS: &str = include_str!("../../data/gates/readers.jsonl");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GateLine {
    name: &'static str,
    versions: Vec<SpecLine>,
    #[serde(default)]
    depends_on: Vec<&'static str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SpecLine {
    since: &'static str,
    default: bool,
    stage: StageWord,
    #[serde(default)]
    locked: bool,
    min_compatibility_version: Option<&'static str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum StageWord {
    Alpha,
    Beta,
    Ga,
    Deprecated,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProposalLine {
    name: &'static str,
    components: Vec<&'static str>,
    keps: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReaderLine {
    name: &'static str,
    components: Vec<&'static str>,
}

pub(super) fn read() -> Catalogue {
    let gates = |text: &'static str| {
        let gate = |line: GateLine| (line.name, gate(line));
        lines(text).map(gate).collect::<BTreeMap<_, _>>()
    };
    Catalogue {
        minors: MINORS
            .iter()
            .map(|(minor, text)| (*minor, gates(text)))
            .collect(),
        proposals: lines(COMPONENTS)
            .map(|line: ProposalLine| {
                let proposal = Proposal {
                    components: line.components,
                    keps: line.keps,
                };
                (line.name, proposal)
            })
            .collect(),
        readers: lines(READERS)
            .map(|line: ReaderLine| (line.name, line.components))
            .collect(),
    }
}

fn lines<T: Deserialize<'static>>(text: &'static str) -> impl Iterator<Item = T> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a test reads every line of the data"))
}

fn gate(line: GateLine) -> Gate {
    Gate {
        name: line.name,
        specs: line.versions.iter().map(spec).collect(),
        depends_on: line.depends_on,
    }
}

fn spec(line: &SpecLine) -> Spec {
    Spec {
        // "0.0" is upstream's word for no version at all.
        since: Minor::parse(line.since),
        default: line.default,
        stage: match line.stage {
            StageWord::Alpha => Stage::Alpha,
            StageWord::Beta => Stage::Beta,
            StageWord::Ga => Stage::General,
            StageWord::Deprecated => Stage::Deprecated,
        },
        locked: line.locked,
        min_compatibility: line.min_compatibility_version.and_then(Minor::parse),
    }
}
