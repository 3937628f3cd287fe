//! Rule: a component is told to behave as a version that its binary cannot behave as.

use super::start::{self, Broken, Words};
use super::{Docs, Facts, Rule, Ruling};
use crate::analysis::gates::intention::Target;
use crate::analysis::gates::start::{Fault, VersionFlag};
use crate::answer::gate_skew::Severity;

pub(super) const RULE: Rule = Rule {
    id: "compatibility-version",
    title: "every component can behave as the version that it is told to",
    severity: Severity::Error,
    docs: Docs {
        what: "Holds --emulated-version and --min-compatibility-version of control plane components, also those that stay as they are \
               while the binary is replaced, against what the binary allows: three minors back, the first not above the binary, the \
               second not above the first.",
        why: "A component refuses to start with them. An API server that emulates an old version forgets nothing of it: the flag \
              that was right for one binary ends the next one.",
        cannot_see: "A flag that is set to what the binary does without it anyway; it stays where it is when the binary is replaced.",
        example: "kube-apiserver 1.37 would not start: --emulated-version is 1.33, and 1.34 to 1.37 are possible",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let is_without = |target: &Target| !target.name.kind.has_prefixed_gates();
    let ruling = start::rule(facts, words);
    let is_about_others = facts.meant().next().is_some() && facts.meant().all(is_without);
    Ruling {
        skipped: is_about_others.then(|| {
            "kubelets and kube-proxies have no such flag, they behave as what they are".to_owned()
        }),
        unknown: ruling.unknown.filter(|_| !is_about_others),
        ..ruling
    }
}

fn words(broken: &Broken<'_>) -> Option<Words> {
    let Fault::Version {
        flag,
        value,
        range: (oldest, newest),
    } = broken.fault
    else {
        return None;
    };
    let word = flag.word();
    if oldest > newest {
        // It is what follows from an emulated version that is told already.
        return None;
    }
    let mut advice = vec![format!("take {word} out, or set one that is possible")];
    if *flag == VersionFlag::Emulated && value > newest {
        advice = vec![format!(
            "replace the binary first: {newest} cannot know what is new in {value}"
        )];
    }
    Some(Words {
        message: format!("{word} is {value}, and {oldest} to {newest} are possible"),
        advice,
    })
}
