//! Rule: a gate is set that does nothing any more, or that is deprecated.
//!
//! A gate is removed no earlier than three minors after it became GA (comment in kubernetes 1.36 and 1.37,
//! `pkg/features/kube_features.go`); a component that is told of it then does not start.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::start::Start;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::catalogue::{Catalogue, Stage};
use crate::model::version::Minor;

pub(super) const RULE: Rule = Rule {
    id: "deprecated-setting",
    title: "no gate is set that will go away",
    severity: Severity::Warning,
    docs: Docs {
        what: "Looks for gates that are set to what they are anyway, GA ones, and for gates that are deprecated.",
        why: "The setting does nothing today, and a later version does not know the gate: what starts today dies after a move that \
              nobody connects with it.",
        cannot_see: "When a version that is not known yet removes a gate.",
        example: "SidecarContainers is GA since 1.33, and set to what it is anyway; 1.37 does not know it any more",
    },
    judge,
};

/// Minors after GA in which a gate stays.
const KEPT: u32 = 3;

fn judge(facts: &Facts<'_>) -> Ruling {
    let mut found: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for target in facts.meant() {
        for gate in target.setting.gates.keys() {
            let told = target.after.as_ref().and_then(|after| words(after, gate));
            if let Some(message) = told {
                let names = found.entry((gate, message)).or_default();
                names.push(target.name.to_string());
            }
        }
    }
    let findings = found.into_iter().map(|((gate, message), names)| {
        let set = format!("set in {}", some(&names));
        finding(gate, message, [set], [format!("take {gate} out")])
    });
    Ruling {
        findings: findings.collect(),
        unknown: start::unknown(facts),
        skipped: None,
    }
}

/// Why the setting is one that goes; null where it is not, or where the component would not start with it.
fn words(after: &Start, gate: &str) -> Option<String> {
    let catalogue = Catalogue::known();
    let spec = catalogue.at(gate, after.behaviour)?;
    let removed = catalogue.removed_in(gate);
    let then = |minor: Minor| format!("{minor} does not know it any more");
    match spec.stage {
        Stage::General if after.gates.get(gate) == Some(&spec.default) => {
            let since = spec
                .since
                .map_or_else(String::new, |it| format!(" since {it}"));
            let then = removed.map(then).or_else(|| {
                let last = Minor(spec.since?.0 + KEPT);
                Some(format!("a version after {last} may not know it any more"))
            });
            let then = then.map_or_else(String::new, |then| format!("; {then}"));
            Some(format!(
                "{gate} is GA{since}, and set to what it is anyway{then}"
            ))
        }
        Stage::Deprecated => {
            let then = removed.map(then);
            let then = then.map_or_else(String::new, |then| format!("; {then}"));
            Some(format!("{gate} is deprecated{then}"))
        }
        _ => None,
    }
}
