//! Rule: settings that a component cannot read.

use super::start::{self, Broken, Words};
use super::{Docs, Facts, Rule, Ruling};
use crate::analysis::gates::start::Fault;
use crate::answer::gate_skew::Severity;

pub(super) const RULE: Rule = Rule {
    id: "syntax",
    title: "every setting of gates and versions can be read by its component",
    severity: Severity::Error,
    docs: Docs {
        what: "Reads --feature-gates, featureGates, --emulated-version and --min-compatibility-version as each component's own parser \
               does: quotes, booleans, prefixes, repeated flags, flags that it does not have.",
        why: "A value that is not exactly what Go's ParseBool takes, or quotes that no shell takes away, keep a component from starting.",
        cannot_see: "Values that a template fills in later.",
        example: "kube-scheduler 1.37 would not start: invalid value of A=yes",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    start::rule(facts, words)
}

fn words(broken: &Broken<'_>) -> Option<Words> {
    let Fault::Syntax { words, .. } = broken.fault else {
        return None;
    };
    let advice = if words.starts_with("unknown flag") {
        "take it out: this component has no such flag, it behaves as what it is"
    } else if words.contains("version") {
        "write it as 1.36 or kube=1.36, once and without a patch"
    } else {
        "write NAME=true or NAME=false, without quotes of a shell"
    };
    Some(Words {
        message: words.clone(),
        advice: vec![advice.to_owned()],
    })
}
