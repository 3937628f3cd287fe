//! Rule: a gate that is locked is set to the other value, or one that does not exist yet is set at all.

use super::start::{self, Broken, Words};
use super::{Docs, Facts, Rule, Ruling};
use crate::analysis::gates::start::Fault;
use crate::answer::gate_skew::Severity;

pub(super) const RULE: Rule = Rule {
    id: "locked-gate",
    title: "no gate is set to what its version does not allow",
    severity: Severity::Error,
    docs: Docs {
        what: "Looks for gates that the target version locks to the other value, and for gates that are newer than the version \
               that is emulated.",
        why: "A component refuses to start with them. On the value that they are locked to they only warn.",
        cannot_see: "Locks that a vendor lifted.",
        example: "kube-apiserver 1.37 would not start: NodeDeclaredFeatures is locked on",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    start::rule(facts, words)
}

fn words(broken: &Broken<'_>) -> Option<Words> {
    let behaviour = broken.target.after.as_ref()?.behaviour;
    match broken.fault {
        Fault::Locked { gate, to } => {
            let word = if *to { "on" } else { "off" };
            let emulation = format!(
                "a control plane may emulate an older version in which it is not locked; a kubelet cannot: take {gate} out"
            );
            Some(Words {
                message: format!("{gate} is locked {word}"),
                advice: vec![emulation],
            })
        }
        Fault::PreAlpha { gate } => Some(Words {
            message: format!(
                "{gate} does not exist in {}, which is emulated",
                behaviour.emulated
            ),
            advice: vec![format!(
                "take {gate} out while the older version is emulated"
            )],
        }),
        _ => None,
    }
}
