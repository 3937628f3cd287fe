//! Condition: Pods without a node that require a declared feature (KEP-5328), by feature, and by pool where only its nodes may take them.
//!
//! Of which pool a Pod is its `nodeSelector` and its required node affinity say, held against the nodes' labels: taints and room may
//! leave it fewer, but never others.
//! By the rules of the newest minor: what an older scheduler passes over stands here all the same. A Pod that somebody holds back by
//! a scheduling gate waits for no node.

use std::collections::{BTreeMap, BTreeSet};

use super::{Condition, Facts, How, Limit, Readings, Seen, wants};
use crate::analysis::requirement::{self, NEWEST};
use crate::answer::gate_skew::Severity;
use crate::model::baseline::Of;
use crate::model::coverage::State;
use crate::model::pod::Pod;
use crate::model::version::Release;

pub(super) const CONDITION: Condition = Condition {
    id: "pending-pods",
    title: "no more Pods wait for a node with a declared feature than before",
    severity: Severity::Error,
    metric: "pending_pods",
    limit: Limit::Above(0.0),
    number: None,
    how: How::Level,
    advice: "see why each of them waits: kubectl features explain POD",
    read,
};

fn read(facts: &Facts<'_>) -> Readings {
    let mut readings = Readings::default();
    let state = facts.world.state_of(&wants::unplaced_pods());
    if state != Some(State::Complete) {
        let text = "Pods without a node were not all read";
        readings.unknown.push(text.to_owned());
        return readings;
    }
    let newest = Release {
        minor: NEWEST,
        patch: 0,
    };
    // A node that was not seen may be of any pool.
    readings = facts.of_nodes();
    let pools = if readings.unknown.is_empty() {
        pools(facts)
    } else {
        BTreeMap::new()
    };
    let mut waiting: BTreeMap<&str, Waiting> = BTreeMap::new();
    for feature in requirement::registered(NEWEST) {
        let of_pools = pools.keys().map(|pool| (*pool, Vec::new()));
        let none = Waiting {
            of_pools: of_pools.collect(),
            ..Waiting::default()
        };
        waiting.insert(feature.name, none);
    }
    for pod in facts.world.pods().map(|pod| &pod.value) {
        let is_waiting = pod.node.is_none()
            && pod.gates.is_empty()
            && pod.deletion.is_none()
            && pod.phase.as_deref().is_none_or(|phase| phase == "Pending");
        let Some(needs) = pod.needs.as_deref().filter(|_| is_waiting) else {
            continue;
        };
        let required = requirement::for_scheduling(needs, newest);
        let pool = (!required.is_empty())
            .then(|| only_pool(facts, pod))
            .flatten();
        for required in required {
            let name = format!("{}/{}", pod.name.namespace, pod.name.name);
            let waiting = waiting.entry(required.feature.name).or_default();
            match pool.and_then(|pool| waiting.of_pools.get_mut(pool)) {
                Some(of_pool) => of_pool.push(name.clone()),
                None => waiting.of_no_pool += 1,
            }
            waiting.all.push(name);
        }
    }
    for (feature, waiting) in waiting {
        let of = |pool: Option<&str>| Of {
            pool: pool.map(str::to_owned),
            feature: Some(feature.to_owned()),
            ..Of::default()
        };
        let what = format!("that require {feature} have no node");
        let mut all = Seen::pods(of(None), &what, &waiting.all);
        if waiting.of_no_pool > 0 && !pools.is_empty() {
            all.detail = format!(
                "{}; {} of them are of no pool: by their selectors nodes of several may take them, or none that was seen",
                all.detail, waiting.of_no_pool
            );
        }
        readings.seen.push(all);
        for (pool, names) in waiting.of_pools {
            let versions = pools
                .get(pool)
                .map(|it| it.iter().copied().collect::<Vec<_>>());
            let versions = versions.unwrap_or_default().join(", ");
            let what = format!("that only nodes of pool {pool} ({versions}) may take, and {what}");
            readings
                .seen
                .push(Seen::pods(of(Some(pool)), &what, &names));
        }
    }
    readings
}

/// Names of Pods.
#[derive(Default)]
struct Waiting<'f> {
    all: Vec<String>,
    of_pools: BTreeMap<&'f str, Vec<String>>,
    of_no_pool: usize,
}

/// The pools that are looked at, and the versions of their nodes.
fn pools<'f>(facts: &'f Facts<'_>) -> BTreeMap<&'f str, BTreeSet<&'f str>> {
    let mut pools: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for judged in &facts.nodes {
        if let Some(pool) = &judged.pool {
            let version = judged.node.kubelet_version.as_deref();
            let versions = pools.entry(pool).or_default();
            versions.insert(version.unwrap_or("of no known version"));
        }
    }
    pools
}

/// The pool of all nodes that a Pod's own words allow; null where they are of several, or none was seen.
fn only_pool<'f>(facts: &'f Facts<'_>, pod: &Pod) -> Option<&'f str> {
    let nodes = facts.world.nodes().map(|node| &node.value);
    let mut pools = nodes.filter(|node| pod.may_choose(node)).map(|node| {
        facts
            .pools
            .get(node.name.as_str())
            .and_then(Option::as_deref)
    });
    let first = pools.next()??;
    pools.all(|pool| pool == Some(first)).then_some(first)
}
