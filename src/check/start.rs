//! What the rules about start-up share: components that fail alike make one finding, and how a component dies is told.

use std::collections::BTreeMap;

use super::{Facts, Ruling, finding};
use crate::analysis::gates::intention::Target;
use crate::analysis::gates::start::{Fault, Source, Start};
use crate::answer::parts::some;
use crate::model::component::ComponentKind;
use crate::model::coverage::Location;
use crate::model::version::Minor;

/// Why nothing is known of an intention that is about nobody.
pub(super) const NOBODY: &str = "no component that is meant was seen";

/// Faults of one component that have one cause: gates that need the same one are told together.
pub(super) struct Broken<'f> {
    pub(super) target: &'f Target,
    pub(super) fault: &'f Fault,
    /// Gates of further faults that differ from the first by their gate alone.
    pub(super) others: Vec<&'f str>,
}

/// One for each cause.
fn causes(target: &Target) -> Vec<Broken<'_>> {
    let mut found: Vec<Broken<'_>> = Vec::new();
    for fault in &target.faults {
        if let Fault::Dependency { gate, disabled } = fault {
            let same = |known: &&mut Broken<'_>| matches!(known.fault, Fault::Dependency { disabled: other, .. } if other == disabled);
            if let Some(known) = found.iter_mut().find(same) {
                known.others.push(gate);
                continue;
            }
        }
        found.push(Broken {
            target,
            fault,
            others: Vec::new(),
        });
    }
    found
}

/// What a rule says of a fault.
pub(super) struct Words {
    /// Without the component.
    pub(super) message: String,
    pub(super) advice: Vec<String>,
}

/// Each fault that a rule has words for, those of components that are alike together.
pub(super) fn rule(facts: &Facts<'_>, words: impl Fn(&Broken<'_>) -> Option<Words>) -> Ruling {
    type Alike = (ComponentKind, Option<Minor>, String);
    let mut alike: BTreeMap<Alike, Found> = BTreeMap::new();
    for target in facts.meant() {
        for broken in causes(target) {
            let Some(words) = words(&broken) else {
                continue;
            };
            let fault = broken.fault;
            let minor = target.after.as_ref().map(|after| after.behaviour.binary);
            let kind = target.name.kind;
            let key = (kind, minor, words.message.clone());
            let known = alike.entry(key).or_insert_with(|| {
                let sources = sources(target, fault);
                let prints = target.after.as_ref().map(|after| fault.words(after));
                Found {
                    names: Vec::new(),
                    words,
                    dies: dies(kind, fault, &sources, &prints.unwrap_or_default()),
                    sources,
                    places: Vec::new(),
                }
            });
            known.names.push(target.name.to_string());
            for place in places(target, &broken) {
                if !known.places.contains(&place) {
                    known.places.push(place);
                }
            }
        }
    }
    let findings = alike.into_iter().map(|((kind, minor, message), found)| {
        let version = minor.map_or_else(String::new, |minor| format!(" {minor}"));
        let sources: Vec<&str> = found.sources.iter().map(|it| it.words()).collect();
        let places: Vec<String> = found.places.iter().map(ToString::to_string).collect();
        let set = match (sources.join(" and "), places.join(", ")) {
            (sources, places) if places.is_empty() => format!("set in {sources}"),
            (sources, places) if sources.is_empty() => format!("set in {places}"),
            (sources, places) => format!("set in {sources}: {places}"),
        };
        let is_told = !sources.is_empty() || !places.is_empty();
        let evidence = [set].into_iter().filter(|_| is_told);
        let mut finding = finding(
            some(&found.names),
            format!("{}{version} would not start: {message}", kind.word()),
            evidence.chain([found.dies]),
            found.words.advice,
        );
        let mut places = found.places.into_iter();
        finding.location = places.next();
        finding.related_locations = places.collect();
        finding
    });
    Ruling {
        findings: findings.collect(),
        unknown: unknown(facts),
        skipped: None,
    }
}

/// Which components that are meant could not be judged, and why.
pub(super) fn unknown(facts: &Facts<'_>) -> Option<String> {
    match facts.meant().next() {
        None => Some(NOBODY.to_owned()),
        Some(_) => unseen(facts.meant()),
    }
}

/// The same of any.
pub(super) fn unseen<'t>(targets: impl Iterator<Item = &'t Target>) -> Option<String> {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for target in targets {
        if let Some(why) = &target.unknown {
            reasons
                .entry(why)
                .or_default()
                .push(target.name.to_string());
        }
    }
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(why, names)| format!("{}: {why}", some(names)))
        .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// What components that are alike have in common.
struct Found {
    names: Vec<String>,
    words: Words,
    dies: String,
    sources: Vec<Source>,
    places: Vec<Location>,
}

/// The places in files that set what is at fault, those that count first. Of a dependency that is broken, what is off is set.
fn places(target: &Target, broken: &Broken<'_>) -> Vec<Location> {
    let names: Vec<&str> = match broken.fault {
        Fault::Syntax { words, .. } => vec![words],
        Fault::Unknown { gate, .. } | Fault::Locked { gate, .. } | Fault::PreAlpha { gate } => {
            vec![gate]
        }
        // One that is only meant stands nowhere.
        Fault::Version { flag, .. }
            if emulated(target.before.as_ref()) == emulated(target.after.as_ref()) =>
        {
            vec![flag.word().trim_start_matches('-')]
        }
        Fault::Version { .. } => Vec::new(),
        Fault::Api { key, .. } => vec![key],
        Fault::Dependency { gate, disabled } => {
            let disabled = disabled.iter().map(String::as_str);
            let others = broken.others.iter().copied();
            disabled.chain([gate.as_str()]).chain(others).collect()
        }
    };
    let mut found = Vec::new();
    for name in names {
        let set = target.setting.gates.get(name);
        for (source, places) in target.setting.places.iter().rev() {
            let is_meant = set.is_none_or(|(_, sources)| sources.contains(source));
            let at = places.at.get(name).filter(|_| is_meant);
            if let (Some(file), Some((line, column))) = (&places.file, at) {
                found.push(Location {
                    path: file.to_string(),
                    line: Some(*line),
                    column: Some(*column),
                });
            }
        }
    }
    found
}

fn emulated(start: Option<&Start>) -> Option<Minor> {
    start.map(|start| start.behaviour.emulated)
}

fn sources(target: &Target, fault: &Fault) -> Vec<Source> {
    let gate = match fault {
        Fault::Syntax { place, .. } => return vec![*place],
        Fault::Version { .. } | Fault::Api { .. } => return Vec::new(),
        Fault::Unknown { gate, .. }
        | Fault::Locked { gate, .. }
        | Fault::PreAlpha { gate }
        | Fault::Dependency { gate, .. } => gate,
    };
    let set = target.setting.gates.get(gate);
    set.into_iter()
        .flat_map(|(_, places)| places.iter().copied())
        .collect()
}

/// How it dies: one line and exit code 1; a kubelet with the gate in its file panics with 2 (observed on 1.36.3 and 1.37.2).
fn dies(kind: ComponentKind, fault: &Fault, sources: &[Source], prints: &str) -> String {
    let of_file = kind == ComponentKind::Kubelet && sources.contains(&Source::ConfigFile);
    let is_syntax = matches!(fault, Fault::Syntax { .. });
    match (kind, of_file) {
        (ComponentKind::Kubelet, false) if is_syntax => {
            format!("it exits with 1 and one line: failed to parse kubelet flag: {prints}")
        }
        (ComponentKind::Kubelet, true) => format!(
            "it panics and exits with 2: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: {prints}"
        ),
        (ComponentKind::Kubelet, false) => format!(
            "it exits with 1 and one line: failed to set feature gates from initial flags-based config: {prints}"
        ),
        _ => format!("it exits with 1 and one line: {prints}"),
    }
}
