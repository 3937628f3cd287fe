//! The steps of a move that may be made: in order, with what to look at after each, and the way back.
//!
//! Up and on goes the control plane first, then schedulers, then pools (version skew policy; a field that an API server takes must
//! be there before a kubelet acts on it); down and off in the reverse order, so that nothing is promised that nobody keeps. It must
//! not judge: a move that fails a check has no plan.

use std::collections::BTreeMap;

use super::Facts;
use crate::analysis::gates::intention::{Intention, Target};
use crate::analysis::requirement;
use crate::answer::parts::some;
use crate::model::component::ComponentKind;

/// Who goes when, on the way up.
const ORDER: [ComponentKind; 5] = [
    ComponentKind::KubeApiserver,
    ComponentKind::KubeControllerManager,
    ComponentKind::KubeScheduler,
    ComponentKind::Kubelet,
    ComponentKind::KubeProxy,
];

/// Components that go together.
type Step<'f> = ((usize, Option<&'f str>), Vec<&'f Target>);

/// Where not all checks were made.
pub(crate) const NONE: &str =
    "there is a plan where all checks are made: leave --select and --ignore out";

pub(crate) fn plan(facts: &Facts<'_>) -> Vec<String> {
    let mut groups: BTreeMap<(usize, Option<&str>), Vec<&Target>> = BTreeMap::new();
    // What is not known to stay as it is, is a step as well.
    let changes = |it: &&Target| it.before != it.after || it.after.is_none();
    for target in facts.meant().filter(changes) {
        let place = ORDER.iter().position(|kind| *kind == target.name.kind);
        let key = (place.unwrap_or(ORDER.len()), target.pool.as_deref());
        groups.entry(key).or_default().push(target);
    }
    if groups.is_empty() {
        return vec!["nothing would change".to_owned()];
    }
    let mut steps: Vec<Step<'_>> = groups.into_iter().collect();
    let is_forward = is_forward(facts);
    if !is_forward {
        steps.reverse();
    }
    let doing = doing(facts.intention);
    let steps = steps
        .iter()
        .map(|step| words(step, &doing, facts.intention));
    let steps = std::iter::once(BEFORE.to_owned()).chain(steps);
    let steps = steps
        .enumerate()
        .map(|(at, step)| format!("{}. {step}", at + 1));
    steps
        .chain([format!("Way back: {}", back(facts))])
        .collect()
}

/// What later looks are held against, and what the way back is judged by.
const BEFORE: &str = "keep what is now: kubectl features guard baseline -o json > baseline.json, kubectl features snapshot -o json > before.json";

/// Whether something is gained: a newer version, a gate that is turned on.
fn is_forward(facts: &Facts<'_>) -> bool {
    let newer = |target: &Target| match target.versions {
        (Some(old), Some(new)) => new.emulated >= old.emulated,
        _ => true,
    };
    match facts.intention {
        Intention::Set(gates) => gates.values().any(|on| *on),
        Intention::ToVersion(_) | Intention::ToEmulatedVersion(_) => facts.meant().all(newer),
        Intention::RollbackTo(_) => false,
    }
}

fn doing(intention: &Intention) -> String {
    match intention {
        Intention::ToVersion(minor) => format!("replace by {minor}"),
        Intention::ToEmulatedVersion(minor) => format!("start with --emulated-version={minor}"),
        Intention::Set(gates) => {
            let gates = gates.iter().map(|(name, on)| format!("{name}={on}"));
            format!("set {} in", gates.collect::<Vec<_>>().join(","))
        }
        Intention::RollbackTo(_) => "start as before".to_owned(),
    }
}

fn words(((place, pool), targets): &Step<'_>, doing: &str, intention: &Intention) -> String {
    let names: Vec<String> = targets.iter().map(|it| it.name.to_string()).collect();
    let names = some(&names);
    let Some(kind) = ORDER
        .get(*place)
        .filter(|kind| **kind != ComponentKind::KubeProxy)
    else {
        return format!("{doing}: {names}. After it: kubectl features skew, {GUARD}");
    };
    if *kind != ComponentKind::Kubelet {
        let word = kind.word();
        return format!(
            "{doing}: {names}{}. After each: kubectl features skew --component {word}, {GUARD}",
            if targets.len() > 1 {
                ", one after the other"
            } else {
                ""
            }
        );
    }
    let drained = match intention {
        Intention::ToVersion(_) => ", each drained before",
        _ => "",
    };
    let (of, flag) = match pool {
        Some(pool) => (format!(" of pool {pool}"), format!(" --pool {pool}")),
        None => (String::new(), String::new()),
    };
    let probes: Vec<String> = probed(intention)
        .map(|name| format!(", kubectl features probe --feature {name}{flag}"))
        .collect();
    format!(
        "{doing}: the kubelets{of} ({names}), one node first{drained}. After it and at the end: kubectl features declared{flag}, kubectl features skew{flag}{}, {GUARD}{flag} --for 10m; no Pod there may have been refused with PodFeatureUnsupported",
        probes.concat()
    )
}

const GUARD: &str = "kubectl features guard --baseline baseline.json";

/// Declared features that are turned on by name.
fn probed(intention: &Intention) -> impl Iterator<Item = &str> {
    let gates = match intention {
        Intention::Set(gates) => Some(gates),
        _ => None,
    };
    let on = gates.into_iter().flatten().filter(|(_, on)| **on);
    on.map(|(name, _)| name.as_str())
        .filter(|name| requirement::find(name).is_some())
}

fn back(facts: &Facts<'_>) -> String {
    match facts.intention {
        Intention::ToVersion(_) if facts.meant().any(is_server) => {
            "API servers cannot go back to an older binary, only emulate it: judge that with --to-emulated-version; the others go back in the reverse order".to_owned()
        }
        Intention::Set(gates) => {
            let gates: Vec<String> = gates.iter().map(|(name, on)| format!("{name}={}", !on)).collect();
            format!(
                "the same steps in the reverse order; judge them with --rollback-from before.json, or --set {}",
                gates.join(",")
            )
        }
        _ => "the same steps in the reverse order; judge them with --rollback-from before.json".to_owned(),
    }
}

fn is_server(target: &Target) -> bool {
    target.name.kind == ComponentKind::KubeApiserver
}
