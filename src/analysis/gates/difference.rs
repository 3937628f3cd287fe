//! Gates that do not run alike everywhere, with what makes them differ and whether it matters.
//!
//! A gate that a binary does not know is neither on nor off: what the binary does instead follows from the catalogue, on where
//! the gate was locked on before it was removed, off where it came later. It must not call a difference harmless for being alpha.

use std::collections::{BTreeMap, BTreeSet};

use super::effective::{Effective, Table};
use super::hazard;
use super::process::Process;
use crate::answer::gate_skew::{
    Cause, Difference, GateValue, Impact, Known, Relevance, Severity, Values,
};
use crate::catalogue::{Behaviour, Catalogue};
use crate::model::component::ComponentKind;

/// A process with its gates.
pub(super) type Member<'p, 'w> = (&'p Process<'w>, &'p Table);

/// Every gate of the members that is not alike, and those that are asked for by name, sorted by severity, then by name.
pub(super) fn of(members: &[Member<'_, '_>], asked: &BTreeSet<String>) -> Vec<Difference> {
    let tables: BTreeSet<*const Table> = members
        .iter()
        .map(|(_, table)| std::ptr::from_ref(*table))
        .collect();
    let mut seen = BTreeSet::new();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (_, table) in members {
        if tables.len() > 1 && seen.insert(std::ptr::from_ref(*table)) {
            names.extend(table.gates.keys().map(String::as_str));
        }
    }
    names.extend(asked.iter().map(String::as_str));
    let mut found: Vec<Difference> = names
        .into_iter()
        .filter_map(|name| difference(name, members, asked.contains(name)))
        .collect();
    found.sort_by(|one, other| (one.severity, &one.gate).cmp(&(other.severity, &other.gate)));
    found
}

/// Gates that processes of one kind run otherwise on one side than on another. That is a change, not a fault.
pub(super) fn across(sides: &[Vec<Member<'_, '_>>]) -> Vec<Difference> {
    let all: Vec<Member<'_, '_>> = sides.iter().flatten().copied().collect();
    let names: BTreeSet<&str> = all
        .iter()
        .flat_map(|(_, table)| table.gates.keys().map(String::as_str))
        .collect();
    names
        .into_iter()
        .filter(|name| {
            ComponentKind::ALL
                .iter()
                .any(|kind| changes(name, *kind, sides))
        })
        .filter_map(|name| {
            let mut found = difference(name, &all, true)?;
            let is_used = ComponentKind::ALL.iter().any(|kind| {
                is_used(name, *kind) != Relevance::Irrelevant && changes(name, *kind, sides)
            });
            let is_set = all.iter().any(|(_, table)| {
                table
                    .gates
                    .get(name)
                    .is_some_and(|it| by(it, table) != By::Version)
            });
            found.severity = match (is_used, is_set) {
                (true, true) => Severity::Warning,
                _ => Severity::Info,
            };
            if !is_used {
                found.relevance = Relevance::Irrelevant;
            }
            Some(found)
        })
        .collect()
}

/// Whether a kind does something on one side that it does not on another, as far as it is known on both.
fn changes(name: &str, kind: ComponentKind, sides: &[Vec<Member<'_, '_>>]) -> bool {
    let of_sides: BTreeSet<BTreeSet<bool>> = sides
        .iter()
        .map(|side| {
            let of_kind = side.iter().filter(|(process, _)| process.name.kind == kind);
            of_kind
                .filter_map(|(_, table)| does(name, table))
                .collect::<BTreeSet<bool>>()
        })
        .filter(|does| !does.is_empty())
        .collect();
    of_sides.len() > 1
}

/// What a process does in the place of a gate: on, off, or nobody knows.
fn does(name: &str, table: &Table) -> Option<bool> {
    match table.gates.get(name).map(|effective| effective.value) {
        Some(GateValue::NotInVersion) | None => instead(name, table.behaviour?),
        Some(value) => value.is_on(),
    }
}

/// What a binary does that does not know a gate; null where nobody knows. One that was not locked before it was removed may have become
/// what is always done: kubernetes 1.37 has no `PreventStaticPodAPIReferences`, which was beta and on, and does as if it were on.
pub(super) fn instead(name: &str, behaviour: Behaviour) -> Option<bool> {
    let catalogue = Catalogue::known();
    if catalogue.introduced_in(name)? > behaviour.emulated {
        return Some(false);
    }
    let last = catalogue
        .last_with(name)
        .filter(|last| *last < behaviour.binary)?;
    let spec = catalogue.at(name, Behaviour::native(last))?;
    spec.locked.then_some(spec.default)
}

fn is_used(name: &str, kind: ComponentKind) -> Relevance {
    match Catalogue::known().components(name) {
        None => Relevance::Unknown,
        Some(components) if components.contains(&kind.word()) => Relevance::Relevant,
        Some(_) => Relevance::Irrelevant,
    }
}

/// Who made a value what it is, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Somebody,
    /// What the version's default is, is not known.
    SomebodyOrVersion,
    Version,
}

/// What one process does in the place of a gate, as far as it matters.
struct Part {
    kind: ComponentKind,
    does: Option<bool>,
    by: By,
    relevance: Relevance,
}

fn difference(name: &str, members: &[Member<'_, '_>], is_named: bool) -> Option<Difference> {
    let parts: Vec<Part> = members
        .iter()
        .map(|(process, table)| Part {
            kind: process.name.kind,
            does: does(name, table),
            by: table
                .gates
                .get(name)
                .map_or(By::Version, |it| by(it, table)),
            relevance: is_used(name, process.name.kind),
        })
        .collect();
    let used: Vec<&Part> = parts
        .iter()
        .filter(|part| part.relevance != Relevance::Irrelevant)
        .collect();
    let is_different = differ(parts.iter());
    if !is_different && !is_named {
        return None;
    }
    let is_relevant = !is_different || differ(used.iter().copied());
    let least = parts.iter().map(|part| part.relevance).min();
    let relevance = least
        .filter(|_| is_relevant)
        .unwrap_or(Relevance::Irrelevant);
    let (severity, why) = match (is_different, is_relevant) {
        (true, true) => severity(relevance, &used),
        (true, false) => (Severity::Info, "No component that uses it differs."),
        (false, _) => (Severity::Info, ""),
    };
    let values = values(name, members);
    let (severity, impact) = impact(name, members, severity, is_different);
    Some(Difference {
        gate: name.to_owned(),
        relevance,
        stage: stage(name, members),
        severity,
        summary: summary(&values, is_different, why),
        impact,
        values,
    })
}

fn differ<'p>(parts: impl Iterator<Item = &'p Part>) -> bool {
    let known: BTreeSet<bool> = parts.filter_map(|part| part.does).collect();
    known.len() > 1
}

/// What is not the default of a known version was set by somebody, whoever it is.
fn by(effective: &Effective, table: &Table) -> By {
    match effective.cause {
        Cause::VersionDefault | Cause::NotInVersion => By::Version,
        Cause::Unknown if effective.known != Known::Observed => By::Version,
        Cause::Unknown if table.behaviour.is_none() => By::SomebodyOrVersion,
        _ => By::Somebody,
    }
}

/// How much a difference matters among the processes that use the gate, and why.
fn severity(relevance: Relevance, used: &[&Part]) -> (Severity, &'static str) {
    // Versions that differ have gates that differ: the policy allows it, and says how far.
    match used.iter().map(|part| part.by).min() {
        Some(By::Somebody) => {}
        Some(By::SomebodyOrVersion) => {
            let why = "Whether versions alone make the difference is not known.";
            return (Severity::Warning, why);
        }
        Some(By::Version) | None => return (Severity::Info, "Versions alone make the difference."),
    }
    let of_servers = |part: &&&Part| part.kind == ComponentKind::KubeApiserver;
    let servers: BTreeSet<bool> = used
        .iter()
        .filter(of_servers)
        .filter_map(|part| part.does)
        .collect();
    let is_off_elsewhere = used
        .iter()
        .any(|part| !of_servers(&part) && part.does == Some(false));
    let is_promised = servers.contains(&true) && is_off_elsewhere;
    match relevance {
        Relevance::Unknown => (Severity::Warning, "Which components use it is not known."),
        _ if servers.len() > 1 => (
            Severity::Error,
            "API servers differ: the same request has two outcomes.",
        ),
        _ if is_promised => (
            Severity::Error,
            "The API server has it on, and a component that uses it has it off.",
        ),
        _ => (
            Severity::Warning,
            "Components that use it differ, and the API server does not promise it.",
        ),
    }
}

/// Whether a value is one that somebody set, by its cause.
pub(super) fn is_of_somebody(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::VersionDefault | Cause::NotInVersion | Cause::Unknown
    )
}

/// The values with who has them, on before off.
fn values(name: &str, members: &[Member<'_, '_>]) -> Vec<Values> {
    let mut by_value: BTreeMap<(GateValue, Cause, Known), Vec<String>> = BTreeMap::new();
    for (process, table) in members {
        let effective = table.gates.get(name);
        let absent = Effective {
            value: if table.known == Known::Unknown {
                GateValue::Unknown
            } else {
                GateValue::NotInVersion
            },
            cause: if table.known == Known::Unknown {
                Cause::Unknown
            } else {
                Cause::NotInVersion
            },
            known: table.known,
        };
        let Effective {
            value,
            cause,
            known,
        } = effective.unwrap_or(&absent);
        let names = by_value.entry((*value, *cause, *known)).or_default();
        names.push(process.name.to_string());
    }
    by_value
        .into_iter()
        .map(|((value, cause, known), components)| Values {
            value,
            count: components.len(),
            components,
            cause,
            known,
            detail: match known {
                Known::Unknown => Some("no document tells which gates were set".to_owned()),
                _ => None,
            },
        })
        .collect()
}

fn summary(values: &[Values], is_different: bool, why: &str) -> String {
    let mut counts: BTreeMap<GateValue, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value.value).or_default() += value.count;
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(value, count)| format!("{} in {count}", value.word()))
        .collect();
    let verb = if is_different { "differs" } else { "is alike" };
    let what = format!("It {verb}: {}. {why}", counts.join(", "));
    what.trim_end().to_owned()
}

/// The stage by the newest version that has it.
fn stage(name: &str, members: &[Member<'_, '_>]) -> Option<&'static str> {
    let behaviours = members.iter().filter_map(|(_, table)| table.behaviour);
    let known = behaviours.filter_map(|behaviour| {
        let spec = Catalogue::known().at(name, behaviour)?;
        Some((behaviour.emulated, spec.stage.word()))
    });
    known.max_by_key(|(minor, _)| *minor).map(|(_, word)| word)
}

/// What a known hazard does, and to whom; it makes an error of a difference.
fn impact(
    name: &str,
    members: &[Member<'_, '_>],
    severity: Severity,
    is_different: bool,
) -> (Severity, Impact) {
    let text = |text: String| Impact {
        text,
        ..Impact::default()
    };
    let Some(hazard) = hazard::of(name).filter(|_| is_different) else {
        return (severity, Impact::default());
    };
    let harmed: Vec<String> = members
        .iter()
        .filter(|(process, _)| process.name.kind == ComponentKind::Kubelet)
        .filter(|(process, _)| hazard.harms(process) == Some(true))
        .map(|(process, _)| process.name.to_string())
        .collect();
    if harmed.is_empty() {
        return (severity, Impact::default());
    }
    (
        Severity::Error,
        text(format!("{}: {}", harmed.join(", "), hazard.harm)),
    )
}
