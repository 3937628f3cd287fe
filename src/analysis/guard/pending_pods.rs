//! Condition: Pods without a node that require a declared feature (KEP-5328), by feature.
//!
//! By the rules of the newest minor: what an older scheduler passes over stands here all the same. A Pod that somebody holds back by
//! a scheduling gate waits for no node.

use std::collections::BTreeMap;

use super::{Condition, Facts, How, Limit, Readings, Seen, wants};
use crate::analysis::requirement::{self, NEWEST};
use crate::answer::gate_skew::Severity;
use crate::model::baseline::Of;
use crate::model::coverage::State;
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
    let features = requirement::registered(NEWEST).map(|feature| feature.name);
    let mut waiting: BTreeMap<&str, Vec<String>> =
        features.map(|name| (name, Vec::new())).collect();
    for pod in facts.world.pods().map(|pod| &pod.value) {
        let is_waiting = pod.node.is_none()
            && pod.gates.is_empty()
            && pod.deletion.is_none()
            && pod.phase.as_deref().is_none_or(|phase| phase == "Pending");
        let Some(needs) = pod.needs.as_deref().filter(|_| is_waiting) else {
            continue;
        };
        for required in requirement::for_scheduling(needs, newest) {
            let name = format!("{}/{}", pod.name.namespace, pod.name.name);
            waiting.entry(required.feature.name).or_default().push(name);
        }
    }
    readings
        .seen
        .extend(waiting.into_iter().map(|(name, pods)| {
            let of = Of {
                feature: Some(name.to_owned()),
                ..Of::default()
            };
            Seen::pods(of, &format!("that require {name} have no node"), &pods)
        }));
    readings
}
