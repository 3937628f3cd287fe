//! Rule: a gate is on, and one that it depends on is off.

use super::start::{self, Broken, Words};
use super::{Docs, Facts, Rule, Ruling};
use crate::analysis::gates::start::Fault;
use crate::answer::gate_skew::Severity;

pub(super) const RULE: Rule = Rule {
    id: "broken-dependency",
    title: "every gate that is on has the gates on that it depends on",
    severity: Severity::Error,
    docs: Docs {
        what: "Compares the effective values of all gates, defaults and AllAlpha and AllBeta included, with what each depends on, from \
               1.35 on.",
        why: "A gate that is turned off takes the component with it if gates that are on by default depend on it: on 1.36, \
              NodeDeclaredFeatures=false alone keeps every component from starting.",
        cannot_see: "Dependencies that only code knows.",
        example: "kubelet 1.36 would not start: RestartAllContainersOnContainerExits is on, and NodeDeclaredFeatures is off",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    start::rule(facts, words)
}

fn words(broken: &Broken<'_>) -> Option<Words> {
    let Fault::Dependency { gate, disabled } = broken.fault else {
        return None;
    };
    let is = |count: usize| if count == 1 { "is" } else { "are" };
    let gates: Vec<&str> = std::iter::once(gate.as_str())
        .chain(broken.others.iter().copied())
        .collect();
    let (needing, needed) = (gates.join(", "), disabled.join(", "));
    Some(Words {
        message: format!(
            "{needing} {} on, and {needed} {} off",
            is(gates.len()),
            is(disabled.len())
        ),
        advice: vec![format!("turn {needing} off, too, or {needed} on")],
    })
}
