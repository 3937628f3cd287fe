//! What a preflight says beside its checks: the intention in words, and the smallest change that would let components start.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Facts;
use crate::analysis::gates::intention::Intention;
use crate::analysis::gates::skew::Request;
use crate::analysis::gates::start::Fault;
use crate::analysis::gates::wants;
use crate::analysis::{declared, lookup};
use crate::answer::check_report::{Check, Status};
use crate::catalogue::{Catalogue, META_GATES};
use crate::model::want::Want;
use crate::model::world::World;

/// What the rules want to be read, all together.
pub(crate) fn wants(world: &World, request: &Request, now: Timestamp) -> BTreeSet<Want> {
    let of_lists = declared::Request {
        observation: request.clone(),
        ..declared::Request::default()
    };
    let mut wants = wants::wants(world, request);
    wants.extend(declared::wants::wants(world, &of_lists, now));
    wants.insert(Want::every_pod());
    wants
}

/// The intention in a sentence, with how far it could be judged at all.
pub(crate) fn sentence(facts: &Facts<'_>) -> String {
    let intention = intention(facts.intention);
    if facts.is_configuration_alone() {
        return format!("{intention}, in configuration alone");
    }
    intention
}

fn intention(intention: &Intention) -> String {
    match intention {
        Intention::ToVersion(minor) => format!("move to {minor}"),
        Intention::ToEmulatedVersion(minor) => format!("emulate {minor}"),
        Intention::Set(gates) => {
            let gates: Vec<String> = gates
                .iter()
                .map(|(name, on)| format!("{name}={on}"))
                .collect();
            format!("set {}", gates.join(","))
        }
        Intention::RollbackTo(_) => "go back to what ran before".to_owned(),
    }
}

/// Why a gate cannot be meant: no known minor has it.
pub(crate) fn known_name(name: &str) -> Result<(), String> {
    let catalogue = Catalogue::known();
    if META_GATES.contains(&name) || catalogue.last_with(name).is_some() {
        return Ok(());
    }
    let (oldest, newest) = (catalogue.oldest(), catalogue.newest());
    let near = lookup::nearest(catalogue, name);
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(format!(
        "there is no feature gate {name:?} in Kubernetes {oldest} to {newest}{near}"
    ))
}

/// Checks that could not be made, and that somebody accepts so, count as skipped.
pub(crate) fn allow(checks: &mut [Check], allowed: &[String]) {
    for check in checks {
        if check.status == Status::Unknown && allowed.iter().any(|id| id == check.id) {
            check.status = Status::Skipped;
            let reason = check.reason.take().unwrap_or_default();
            check.reason = Some(format!("accepted as unknown: {reason}"));
        }
    }
}

/// The fewest settings beside those that are meant with which every component would start; empty where none is needed, or none would do.
pub(crate) fn smallest_change(facts: &Facts<'_>) -> Vec<String> {
    let fixed = match facts.intention {
        Intention::Set(gates) => gates.clone(),
        _ => BTreeMap::new(),
    };
    let mut all = BTreeMap::new();
    for target in facts.meant() {
        let is_dependency = |fault: &Fault| matches!(fault, Fault::Dependency { .. });
        let Some(after) = target.after.as_ref().filter(|_| !target.faults.is_empty()) else {
            continue;
        };
        if !target.faults.iter().all(is_dependency) {
            return Vec::new();
        }
        match after.repaired(&fixed) {
            Some(further) => all.extend(further),
            None => return Vec::new(),
        }
    }
    all.into_iter()
        .map(|(name, on)| format!("{name}={on}"))
        .collect()
}
