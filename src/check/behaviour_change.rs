//! Rule: gates that nobody sets, and that a move turns on or off.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::intention::{Intention, Target};
use crate::analysis::gates::start::Start;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::catalogue::{Catalogue, META_GATES};

pub(super) const RULE: Rule = Rule {
    id: "behaviour-change",
    title: "no gate turns on or off by the move alone",
    severity: Severity::Warning,
    docs: Docs {
        what: "Compares what each component does before and after, gate by gate, as far as it uses the gate: a default that \
               differs between versions, AllAlpha and AllBeta, a gate that went away. What is meant to be set is left out.",
        why: "A move to another version changes what components do without anybody having set it, and not in all of them at \
              the same moment.",
        cannot_see: "Gates of which nobody knows which component uses them, changes without a gate, and whether objects of this \
                     cluster use what changes; for Pods see the check workloads.",
        example: "HPAScaleToZero would turn on: it is the default of 1.37",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let mut changes: BTreeMap<(&str, bool, String), Vec<String>> = BTreeMap::new();
    for target in facts.meant() {
        for (gate, on, why) in of(target, facts.intention) {
            let names = changes.entry((gate, on, why)).or_default();
            names.push(target.name.to_string());
        }
    }
    let findings = changes.into_iter().map(|((gate, on, why), names)| {
        let word = if on { "on" } else { "off" };
        let is_locked = facts.meant().any(|target| {
            let after = target.after.as_ref();
            let spec = after.and_then(|it| Catalogue::known().at(gate, it.behaviour));
            spec.is_none_or(|spec| spec.locked)
        });
        let advice = if is_locked {
            format!(
                "it cannot be kept as it is: see what it does with kubectl features lookup {gate}"
            )
        } else {
            format!("set {gate}={} to keep it as it is, until it was tried", !on)
        };
        let evidence = [some(&names)];
        finding(
            gate,
            format!("{gate} would turn {word}: {why}"),
            evidence,
            [advice],
        )
    });
    Ruling {
        findings: findings.collect(),
        unknown: start::unknown(facts),
        skipped: None,
    }
}

/// Gates that change in a component that uses them, and why.
fn of<'t>(target: &'t Target, intention: &Intention) -> Vec<(&'static str, bool, String)> {
    let (Some(before), Some(after)) = (&target.before, &target.after) else {
        return Vec::new();
    };
    let is_meant = |gate: &str| match intention {
        Intention::Set(gates) => gates.contains_key(gate),
        _ => false,
    };
    let catalogue = Catalogue::known();
    let names = |start: &'t Start| {
        catalogue
            .gates(start.behaviour.binary)
            .into_iter()
            .flatten()
    };
    let mut names: Vec<&'static str> = names(before).chain(names(after)).map(|it| *it.0).collect();
    names.sort_unstable();
    names.dedup();
    let word = target.name.kind.word();
    let is_used = |gate: &&str| {
        let users = catalogue.components(gate);
        users.is_some_and(|users| users.contains(&word))
    };
    names
        .into_iter()
        .filter(|gate| !META_GATES.contains(gate) && !is_meant(gate))
        .filter(is_used)
        .filter_map(|gate| {
            let (old, new) = (before.does(gate)?, after.does(gate)?);
            (old != new).then(|| (gate, new, why(gate, before, after)))
        })
        .collect()
}

fn why(gate: &str, before: &Start, after: &Start) -> String {
    let version = after.behaviour.emulated;
    match (
        after.value(gate),
        before.gates.get(gate),
        after.gates.get(gate),
    ) {
        (None, ..) => format!("{version} does not have it"),
        (_, _, Some(_)) => "it is set then".to_owned(),
        (_, Some(_), None) => "it is not set any more".to_owned(),
        _ if before.behaviour == after.behaviour => "AllAlpha or AllBeta differs".to_owned(),
        _ => format!("it is the default of {version}"),
    }
}
