//! What the rules about start-up share: components that fail alike make one finding, and how a component dies is told.

use std::collections::BTreeMap;

use super::{Facts, Ruling, finding};
use crate::analysis::gates::intention::Target;
use crate::analysis::gates::start::{Fault, Source};
use crate::answer::parts::some;
use crate::model::component::ComponentKind;
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
    let mut alike: BTreeMap<Alike, (Vec<String>, Words, String, Vec<Source>)> = BTreeMap::new();
    for target in facts.meant() {
        for broken in causes(target) {
            let Some(words) = words(&broken) else {
                continue;
            };
            let fault = broken.fault;
            let minor = target.after.as_ref().map(|after| after.behaviour.binary);
            let kind = target.name.kind;
            let key = (kind, minor, words.message.clone());
            let sources = sources(target, fault);
            let prints = target.after.as_ref().map(|after| fault.words(after));
            let known = alike.entry(key);
            let dies = dies(kind, fault, &sources, &prints.unwrap_or_default());
            let known = known.or_insert((Vec::new(), words, dies, sources));
            known.0.push(target.name.to_string());
        }
    }
    let findings =
        alike
            .into_iter()
            .map(|((kind, minor, message), (names, words, dies, sources))| {
                let version = minor.map_or_else(String::new, |minor| format!(" {minor}"));
                let places: Vec<&str> = sources.iter().map(|source| source.words()).collect();
                let set = format!("set in {}", places.join(" and "));
                let evidence = [set].into_iter().filter(|_| !places.is_empty());
                finding(
                    some(&names),
                    format!("{}{version} would not start: {message}", kind.word()),
                    evidence.chain([dies]),
                    words.advice,
                )
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

fn sources(target: &Target, fault: &Fault) -> Vec<Source> {
    let gate = match fault {
        Fault::Syntax { place, .. } => return vec![*place],
        Fault::Version { .. } => return Vec::new(),
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
