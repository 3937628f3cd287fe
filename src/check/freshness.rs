//! Rule: what nodes declare can be believed, and their kubelets report.

use super::{Docs, Facts, Rule, Ruling, finding};
use crate::analysis::declared;
use crate::answer::declared_features::Freshness;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::coverage::State;
use crate::model::want::Want;

pub(super) const RULE: Rule = Rule {
    id: "freshness",
    title: "lists of declared features are fresh, and kubelets report",
    severity: Severity::Warning,
    docs: Docs {
        what: "Looks for Nodes whose status.declaredFeatures is left over from another version or gate, or lacks what its kubelet \
               declares, and for kubelets that were not heard of.",
        why: "Schedulers and API servers believe a stale list: what a check says of nodes that would keep a feature is then worth \
              nothing, and nobody knows what a silent kubelet declares when it comes back.",
        cannot_see: "What a container runtime supports; and gates of kubelets of 1.35 and 1.36 that may not be read.",
        example: "The kubelet has the gate of declared features off and never touches the list",
    },
    judge,
};

/// Causes that say more of what was seen than of a node.
fn is_unseen(cause: &str) -> bool {
    matches!(
        cause,
        "gates-not-observed" | "malformed-list" | "no-status" | "version-not-known"
    )
}

fn judge(facts: &Facts<'_>) -> Ruling {
    let request = declared::Request {
        observation: facts.request.clone(),
        ..declared::Request::default()
    };
    let state = facts.world.state_of(&Want::Nodes);
    let mut unknown = Vec::new();
    if state.is_some_and(|state| state != State::Complete) {
        unknown.push("not all Nodes could be read".to_owned());
    } else if facts.world.nodes().next().is_none() {
        unknown.push("no Node was seen".to_owned());
    }
    let mut findings = Vec::new();
    for matter in declared::matters(facts.world, &request, facts.now) {
        if is_unseen(matter.cause) {
            unknown.push(format!("{}: {}", some(&matter.nodes), matter.cause));
            continue;
        }
        let word = match matter.freshness {
            Freshness::Stale => "stale",
            _ => "not known",
        };
        let evidence = matter.evidence.into_iter();
        findings.push(finding(
            some(&matter.nodes),
            format!(
                "what it declares is {word} ({}): {}",
                matter.cause, matter.message
            ),
            evidence,
            matter.advice,
        ));
    }
    Ruling {
        findings,
        unknown: (!unknown.is_empty()).then(|| unknown.join("; ")),
        skipped: None,
    }
}
