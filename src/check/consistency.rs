//! Rule: a gate that several components need is not on in some and off in others.

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::intention::{self, Target};
use crate::analysis::gates::start::Start;
use crate::answer::check_report::Finding;
use crate::answer::gate_skew::{Difference, Relevance, Severity};
use crate::answer::parts::some;

pub(super) const RULE: Rule = Rule {
    id: "consistency",
    title: "gates that several components need are on or off in all of them",
    severity: Severity::Warning,
    docs: Docs {
        what: "Compares the effective values after the move among the components that use a gate, and tells what the move makes \
               differ; what differs already is left to kubectl features skew, and what versions alone make differ to the check \
               version-skew.",
        why: "An API server that takes a field which no kubelet acts on promises what nobody keeps. On the way that may be meant: \
              on goes the control plane first, then the scheduler, then the pools; off in the reverse order.",
        cannot_see: "Gates of which nobody knows which component uses them.",
        example: "The API server has it on, and a component that uses it has it off.",
    },
    judge,
};

const ORDER: &str =
    "on goes API servers first, then schedulers, then pools; off goes the reverse way";

fn judge(facts: &Facts<'_>) -> Ruling {
    Ruling {
        findings: findings(&facts.targets.iter().collect::<Vec<_>>(), ORDER),
        unknown: start::unseen(facts.targets.iter()),
        skipped: None,
    }
}

/// What differs among these after the move and not before.
pub(super) fn findings(targets: &[&Target], advice: &str) -> Vec<Finding> {
    let matters =
        |it: &Difference| it.severity != Severity::Info && it.relevance == Relevance::Relevant;
    let of = |start: fn(&Target) -> Option<&Start>| {
        let known = targets.iter().filter(|it| it.unknown.is_none());
        intention::differences(known.filter_map(|it| Some((&it.name, start(it)?))))
    };
    let before = of(|it| it.before.as_ref());
    of(|it| it.after.as_ref())
        .into_iter()
        .filter(matters)
        .filter(|it| !before.contains(it))
        .map(|it| {
            let values = it.values.iter();
            let evidence = values.map(|value| {
                format!(
                    "{} in {} ({})",
                    value.value.word(),
                    some(&value.components),
                    value.cause.word()
                )
            });
            let harm = Some(it.impact.text.clone()).filter(|text| !text.is_empty());
            let see = format!("see kubectl features skew --gate {}", it.gate);
            finding(
                it.gate.as_str(),
                it.summary.as_str(),
                evidence.chain(harm),
                [advice.to_owned(), see],
            )
        })
        .collect()
}
