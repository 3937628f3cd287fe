//! Rule: gates that nobody sets, and that a move turns on or off.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::intention::{Intention, Target};
use crate::analysis::gates::start::Start;
use crate::analysis::requirement::FEATURES;
use crate::answer::check_report::Finding;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::catalogue::{Catalogue, META_GATES};
use crate::model::needs::ContainerNeeds;
use crate::model::pod::{Pod, PodName};

pub(super) const RULE: Rule = Rule {
    id: "behaviour-change",
    title: "no gate turns on or off by the move alone",
    severity: Severity::Warning,
    docs: Docs {
        what: "Compares what each component does before and after, gate by gate, as far as it uses the gate: a default that \
               differs between versions, AllAlpha and AllBeta, a gate that went away. What is meant to be set is left out. Gates that matter \
               to Pods that were seen, by the Pods' own fields, are told one by one, the others together.",
        why: "A move to another version changes what components do without anybody having set it, and not in all of them at \
              the same moment.",
        cannot_see: "Gates of which nobody knows which component uses them, or what a version does that removed one without having \
                     locked it, changes without a gate, and whether \
                     anything but the fields of a Pod makes use of what changes.",
        example: "HPAScaleToZero would turn on: it is the default of 1.37",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let mut changes: BTreeMap<(&str, bool, String), Vec<String>> = BTreeMap::new();
    for target in facts.meant() {
        for (gate, on, why) in of(target, facts.intention) {
            let names = changes.entry((gate, on, why)).or_default();
            names.push(target.name.to_string());
        }
    }
    let mut findings = Vec::new();
    let mut others: BTreeMap<(bool, String), Vec<&str>> = BTreeMap::new();
    for ((gate, on, why), names) in changes {
        let users = users(facts, gate);
        if users.is_empty() {
            others.entry((on, why)).or_default().push(gate);
        } else {
            findings.push(told(facts, gate, on, &why, &names, &users));
        }
    }
    findings.extend(others.into_iter().map(|((on, why), gates)| {
        let word = if on { "on" } else { "off" };
        let (many, them) = if gates.len() == 1 {
            ("1 gate".to_owned(), "it")
        } else {
            (format!("{} gates", gates.len()), "them")
        };
        let message = format!(
            "{many} would turn {word}: {why}; no field of a Pod that was seen is known to make use of {them}"
        );
        finding(
            many,
            message,
            [gates.join(", ")],
            ["see what each does with kubectl features lookup GATE".to_owned()],
        )
    }));
    Ruling {
        findings,
        unknown: start::unknown(facts),
        skipped: None,
    }
}

fn told(
    facts: &Facts<'_>,
    gate: &str,
    on: bool,
    why: &str,
    names: &[String],
    users: &[&PodName],
) -> Finding {
    let word = if on { "on" } else { "off" };
    let is_locked = facts.meant().any(|target| {
        let after = target.after.as_ref();
        let spec = after.and_then(|it| Catalogue::known().at(gate, it.behaviour));
        spec.is_none_or(|spec| spec.locked)
    });
    let advice = if is_locked {
        format!("it cannot be kept as it is: see what it does with kubectl features lookup {gate}")
    } else {
        format!("set {gate}={} to keep it as it is, until it was tried", !on)
    };
    let evidence = [
        format!("in {}", some(names)),
        format!("it matters to {}", some(users)),
    ];
    finding(
        gate,
        format!("{gate} would turn {word}: {why}"),
        evidence,
        [advice],
    )
}

/// Whether a gate matters to a Pod.
type Matters = fn(&Pod) -> bool;

/// Gates of which a Pod's own fields tell whether they matter to it, by the beginning of their names; the longest counts (fields: the
/// gates' KEPs, and kubernetes 1.37 `pkg/features/kube_features.go`). Sorted. Declared features have rules of their own.
const MATTERS: &[(&str, Matters)] = &[
    ("ContainerRestartRules", restarts),
    ("DRA", claims_devices),
    ("DRAExtendedResource", requests_devices),
    ("GangScheduling", |pod| pod.group.is_some()),
    ("GenericWorkload", |pod| pod.group.is_some()),
    ("InPlacePodLevelResources", has_resources),
    ("MaxUnavailableStatefulSet", |pod| {
        let owner = pod.controller.as_deref();
        owner.is_some_and(|owner| owner.starts_with("StatefulSet/"))
    }),
    ("MemoryQoS", |pod| pod.requests.contains_key("memory")),
    ("PodLevelResources", has_resources),
    ("SELinuxMount", |pod| !pod.claims.is_empty()),
    ("StorageCapacityScoring", |pod| !pod.claims.is_empty()),
    ("UserNamespacesSupport", |pod| {
        let needs = pod.needs.as_ref();
        needs.is_some_and(|needs| needs.host_users == Some(false))
    }),
    ("VolumeLimitScaling", |pod| !pod.claims.is_empty()),
];

fn restarts(pod: &Pod) -> bool {
    any_container(pod, |it| !it.exit_actions.is_empty())
}

fn claims_devices(pod: &Pod) -> bool {
    any_container(pod, |it| it.resources.claims.is_some())
}

/// A resource of a vendor's (kubernetes 1.37 `pkg/apis/core/v1/helper/helpers.go`, `IsExtendedResourceName`).
fn requests_devices(pod: &Pod) -> bool {
    let mut names = pod.requests.keys();
    names.any(|name| name.contains('/') && !name.contains("kubernetes.io/"))
}

/// Whether it is so of a container, ephemeral ones apart.
fn any_container(pod: &Pod, is_so: fn(&ContainerNeeds) -> bool) -> bool {
    pod.needs.as_ref().is_some_and(|needs| {
        let mut containers = needs.containers.iter().chain(&needs.init_containers);
        containers.any(is_so)
    })
}

fn has_resources(pod: &Pod) -> bool {
    let needs = pod.needs.as_ref();
    needs.is_some_and(|needs| needs.resources.is_some())
}

/// Pods that a gate matters to, as far as their fields tell.
fn users<'w>(facts: &Facts<'w>, gate: &str) -> Vec<&'w PodName> {
    let known = MATTERS.iter().rfind(|(name, _)| gate.starts_with(name));
    let feature = FEATURES.iter().find(|feature| feature.name == gate);
    if known.is_none() && feature.is_none() {
        return Vec::new();
    }
    let is_required = |pod: &Pod| {
        let both = feature.zip(pod.needs.as_deref());
        both.is_some_and(|(feature, needs)| feature.is_required_by(needs))
    };
    let matters = |pod: &Pod| known.is_some_and(|(_, matters)| matters(pod)) || is_required(pod);
    let pods = facts.world.pods().map(|pod| &pod.value);
    let pods = pods.filter(|pod| !pod.finished() && pod.deletion.is_none() && matters(pod));
    // Of a hundred thousand few are shown.
    let mut names: Vec<&PodName> = pods.map(|pod| &pod.name).collect();
    names.sort_by(|a, b| a.bytes().cmp(b.bytes()));
    names
}

/// Gates that change in a component that uses them, and why.
fn of<'t>(target: &'t Target, intention: &Intention) -> Vec<(&'static str, bool, String)> {
    let (Some(before), Some(after)) = (&target.before, &target.after) else {
        return Vec::new();
    };
    let is_meant = |gate: &str| match intention {
        Intention::Set(gates) => gates.contains_key(gate),
        _ => false,
    };
    let catalogue = Catalogue::known();
    let names = |start: &'t Start| {
        catalogue
            .gates(start.behaviour.binary)
            .into_iter()
            .flatten()
    };
    let mut names: Vec<&'static str> = names(before).chain(names(after)).map(|it| *it.0).collect();
    names.sort_unstable();
    names.dedup();
    let word = target.name.kind.word();
    let is_used = |gate: &&str| {
        let users = catalogue.components(gate);
        users.is_some_and(|users| users.contains(&word))
    };
    names
        .into_iter()
        .filter(|gate| !META_GATES.contains(gate) && !is_meant(gate))
        .filter(is_used)
        .filter_map(|gate| {
            let (old, new) = (before.does(gate)?, after.does(gate)?);
            (old != new).then(|| (gate, new, why(gate, before, after)))
        })
        .collect()
}

fn why(gate: &str, before: &Start, after: &Start) -> String {
    let version = after.behaviour.emulated;
    match (
        after.value(gate),
        before.gates.get(gate),
        after.gates.get(gate),
    ) {
        (None, ..) => format!("{version} does not have it"),
        (_, _, Some(_)) => "it is set then".to_owned(),
        (_, Some(_), None) => "it is not set any more".to_owned(),
        _ if before.behaviour == after.behaviour => "AllAlpha or AllBeta differs".to_owned(),
        _ => format!("it is the default of {version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_comes_last() {
        assert!(MATTERS.is_sorted_by_key(|(name, _)| *name));
        let is_there = |name: &str| Catalogue::known().names().any(|it| it.starts_with(name));
        let strange: Vec<_> = MATTERS.iter().filter(|it| !is_there(it.0)).collect();
        assert!(strange.is_empty(), "no gate begins so");
    }
}
