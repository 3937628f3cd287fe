//! `RestartAllContainersOnContainerExits`: a container whose exit restarts all of them (KEP-5532).
//!
//! Containers and init containers count, ephemeral ones do not; the rules never change later. Source: component-helpers
//! `nodedeclaredfeatures/features/restartallcontainers/restart_all_containers.go` (0.35.4, 0.36.3, 0.37.2).

use super::{Because, Feature, never_updated};
use crate::model::needs::{ContainerNeeds, PodNeeds};
use crate::model::version::Minor;

const ACTION: &str = "RestartAllContainers";

pub(super) const FEATURE: Feature = Feature {
    name: "RestartAllContainersOnContainerExits",
    since: Minor(35),
    until: None,
    max_version: None,
    gates: &["RestartAllContainersOnContainerExits"],
    declared: |kubelet| kubelet.gate("RestartAllContainersOnContainerExits"),
    scheduling,
    update: never_updated,
};

fn scheduling(pod: &PodNeeds) -> Vec<Because> {
    [
        ("containers", &pod.containers),
        ("initContainers", &pod.init_containers),
    ]
    .into_iter()
    .flat_map(|(list, containers)| {
        let containers = containers.iter().enumerate();
        containers.flat_map(move |(at, container)| because(list, at, container))
    })
    .collect()
}

fn because(list: &str, at: usize, container: &ContainerNeeds) -> Vec<Because> {
    let rules = container.exit_actions.iter().enumerate();
    rules
        .filter(|(_, action)| *action == ACTION)
        .map(|(rule, _)| {
            let field = format!("spec.{list}[{at}].restartPolicyRules[{rule}].action");
            Because::new(field, ACTION)
        })
        .collect()
}
