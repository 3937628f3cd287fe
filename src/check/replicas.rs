//! Rule: replicas of one component run gates alike.

use super::{Docs, Facts, Rule, Ruling, consistency, start};
use crate::analysis::gates::intention::Target;
use crate::answer::gate_skew::Severity;
use crate::model::component::ComponentKind;

pub(super) const RULE: Rule = Rule {
    id: "replicas",
    title: "replicas of a control plane component run gates alike",
    severity: Severity::Error,
    docs: Docs {
        what: "Compares the effective values after the move among API servers, among schedulers and among controller managers.",
        why: "With API servers that differ the same request has two outcomes, by chance; of schedulers and controller managers the \
              one that leads decides, and another one may lead a moment later.",
        cannot_see: "Replicas that were not seen; and schedulers of other names, which may differ on purpose.",
        example: "API servers differ: the same request has two outcomes.",
    },
    judge,
};

const KINDS: [ComponentKind; 3] = [
    ComponentKind::KubeApiserver,
    ComponentKind::KubeControllerManager,
    ComponentKind::KubeScheduler,
];

fn judge(facts: &Facts<'_>) -> Ruling {
    let of_kind = |kind| -> Vec<&Target> {
        let of_kind = facts.targets.iter().filter(|it| it.name.kind == kind);
        of_kind.collect()
    };
    let findings = KINDS
        .iter()
        .flat_map(|kind| consistency::findings(&of_kind(*kind), "set it alike in all of them"));
    let seen = facts
        .targets
        .iter()
        .filter(|it| KINDS.contains(&it.name.kind));
    let is_seen = seen.clone().next().is_some();
    Ruling {
        findings: findings.collect(),
        unknown: start::unseen(seen),
        skipped: (!is_seen).then(|| "no control plane component was seen".to_owned()),
    }
}
