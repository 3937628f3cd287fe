//! Rule: no nomination is in flight while a gate of nominations goes off.

use std::collections::BTreeSet;

use super::{Docs, Facts, Rule, Ruling, finding};
use crate::answer::check_report::Finding;
use crate::answer::gate_skew::Severity;
use crate::model::coverage::State;
use crate::model::pod::{OwnedField, Pod};
use crate::model::want::Want;

pub(super) const RULE: Rule = Rule {
    id: "nominations",
    title: "no nomination is in flight while its gates go off",
    severity: Severity::Warning,
    docs: Docs {
        what: "Looks for Pods that wait with status.nominatedNodeName while NominatedNodeNameForExpectation goes off in a scheduler \
               or ClearingNominatedNodeNameAfterBinding in an API server, and tells who wrote it.",
        why: "Without the first a scheduler tells no longer where a Pod will run before it is bound; without the second a binding \
              leaves the field as it is, and whoever writes it goes on. What waits at that moment is told by nobody.",
        cannot_see: "Writers that have no nomination standing now, and who wrote one where managedFields were stripped.",
        example: "NominatedNodeNameForExpectation would go off while 2 Pods wait with a nomination",
    },
    judge,
};

/// KEP-5278: the first is a scheduler's, the second an API server's (kubernetes 1.35 to 1.37, `pkg/features/kube_features.go`).
const GATES: [&str; 2] = [
    "ClearingNominatedNodeNameAfterBinding",
    "NominatedNodeNameForExpectation",
];

fn judge(facts: &Facts<'_>) -> Ruling {
    let going: BTreeSet<&str> = facts
        .meant()
        .filter_map(|it| it.before.as_ref().zip(it.after.as_ref()))
        .flat_map(|(before, after)| {
            GATES
                .into_iter()
                .filter(|gate| before.does(gate) == Some(true) && after.does(gate) == Some(false))
        })
        .collect();
    if going.is_empty() {
        return Ruling {
            skipped: Some("no gate of nominations goes off".to_owned()),
            ..Ruling::default()
        };
    }
    let waiting = facts
        .world
        .pods()
        .map(|pod| &*pod.value)
        .filter(|pod| pod.nominated_node.is_some() && pod.node.is_none() && !pod.finished());
    let mut evidence: Vec<String> = waiting.map(told).collect();
    evidence.sort();
    let is_seen = facts.world.state_of(&Want::every_pod()) == Some(State::Complete)
        || facts.world.pods().any(|pod| pod.value.component.is_none());
    Ruling {
        findings: found(&going, evidence),
        unknown: (!is_seen).then(|| "not all Pods were seen".to_owned()),
        skipped: None,
    }
}

fn found(going: &BTreeSet<&str>, evidence: Vec<String>) -> Vec<Finding> {
    if evidence.is_empty() {
        return Vec::new();
    }
    let gates = going.iter().copied().collect::<Vec<_>>().join(", ");
    let message = match evidence.len() {
        1 => format!("{gates} would go off while 1 Pod waits with a nomination"),
        several => format!("{gates} would go off while {several} Pods wait with a nomination"),
    };
    let advice = ["stop who writes nominations, and wait until these Pods are bound: kubectl nominate explain POD".to_owned()];
    vec![finding("Pods", message, evidence, advice)]
}

fn told(pod: &Pod) -> String {
    let owners = pod.managed_fields.iter().flatten();
    let owners: Vec<&str> = owners
        .filter(|it| it.owns(OwnedField::NominatedNode))
        .map(|it| it.manager.as_str())
        .collect();
    let by = match owners.as_slice() {
        [] => "nobody knows by whom".to_owned(),
        owners => format!("by {}", owners.join(", ")),
    };
    let node = pod.nominated_node.as_deref().unwrap_or_default();
    format!(
        "{}/{}, nominated to {node} {by}",
        pod.name.namespace, pod.name.name
    )
}
