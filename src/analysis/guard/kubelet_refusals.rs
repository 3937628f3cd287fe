//! Condition: Pods that kubelets refused because of declared features since the baseline, by pool and version.
//!
//! By the Pods themselves: phase Failed, reason `PodFeatureUnsupported` (kubelet `pkg/kubelet/lifecycle/handlers.go`, 1.35.4 to 1.37.2; observed on
//! 1.36.3 and 1.37.2). A Pod that was removed since is not seen, as a `DaemonSet`'s is at once (`pkg/controller/daemon/daemon_controller.go`, 1.37.2).
//! `kubelet_admission_rejections_total` with that reason counts it all the same (alpha, `pkg/kubelet/kubelet.go`, 1.35.4 to 1.37.2), from the start
//! of the kubelet on, and a roll-out starts kubelets: of their texts no more is read than their gates, which end before that start is told.

use std::collections::BTreeMap;

use super::{Condition, Facts, How, Limit, Readings, Seen, of_node, wants};
use crate::answer::gate_skew::Severity;
use crate::model::baseline::{Nodes, Of};
use crate::model::coverage::State;

/// A kubelet's word.
const REASON: &str = "PodFeatureUnsupported";

pub(super) const CONDITION: Condition = Condition {
    id: "kubelet-refusals",
    title: "kubelets refused no Pod for declared features",
    severity: Severity::Error,
    metric: "refused_pods",
    limit: Limit::Most(0.0),
    number: None,
    how: How::Level,
    advice: "see why its node lacks what the scheduler took it to have: kubectl features declared",
    read,
};

fn read(facts: &Facts<'_>) -> Readings {
    let mut readings = Readings::default();
    if facts.world.state_of(&wants::failed_pods()) != Some(State::Complete) {
        let text = "Pods that failed were not all read";
        readings.unknown.push(text.to_owned());
        return readings;
    }
    let mut refused: BTreeMap<Option<Nodes>, Vec<String>> = facts
        .groups()
        .into_keys()
        .map(|nodes| (Some(nodes), Vec::new()))
        .collect();
    for pod in facts.world.pods().map(|pod| &pod.value) {
        let at = pod.start.or(pod.created);
        let is_old = at.is_some_and(|at| at <= facts.since);
        if is_old || pod.reason.as_deref() != Some(REASON) {
            continue;
        }
        // A node that is gone has no pool; one that is not looked at is none of ours.
        let own = facts
            .nodes
            .iter()
            .find(|it| Some(&it.node.name) == pod.node.as_ref());
        let is_here = |name: &String| facts.world.node(name).is_some();
        if own.is_none() && pod.node.as_ref().is_some_and(is_here) {
            continue;
        }
        let name = format!("{}/{}", pod.name.namespace, pod.name.name);
        refused.entry(own.map(of_node)).or_default().push(name);
    }
    readings
        .seen
        .extend(refused.into_iter().map(|(nodes, pods)| {
            let of = Of {
                nodes,
                ..Of::default()
            };
            Seen::pods(
                of,
                "were refused by their kubelets since the baseline",
                &pods,
            )
        }));
    readings
}
