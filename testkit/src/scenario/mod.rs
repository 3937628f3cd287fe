//! Scenarios: each brings Pods of a cluster into a known situation and stops at named moments.
//!
//! A scenario is a file here and a line in [`SCENARIOS`], or in [`GATE_SCENARIOS`]. It plays in a namespace of its own, waits by watching, and
//! takes away what it made. It must not say what a tool should make of a moment: that is up to who observes.

mod binding_refused;
mod bound_elsewhere;
mod cleared_and_bound_elsewhere;
mod cordon_clears_nomination;
mod cordon_while_waiting;
mod created_with_node_name;
mod decision_ends;
mod deleted_before_binding;
mod deletion_that_is_no_preemption;
mod gang_preemption;
mod gang_waits;
mod gang_without_room;
mod hint_reserves_room;
mod hint_to_absent_node;
mod infeasible_hint;
mod kubelet_killed_while_waiting;
mod no_scheduler;
mod outside_hint_changed;
mod outside_hint_no_wake;
mod outside_hint_on_gated_pod;
mod overwritten_preemption;
mod prebind_timeout_clears;
mod prebind_timeout_keeps;
mod prebind_wait;
mod preemption_loop;
mod preemption_with_grace;
mod recreated_with_the_same_name;
mod refused_by_kubelet;
mod room_taken;
mod scheduler_restart_while_waiting;
mod scheduler_silent;
mod second_scheduler;
mod stage;
mod static_pod;
mod taint_while_waiting;
mod tried_again;
mod unsupported_feature;
mod victim_held_by_finalizer;
mod victim_in_another_namespace;
mod volume_pinned;

use std::error::Error;
use std::pin::Pin;

use crate::client::ClientError;
use crate::cluster::{Cluster, ClusterError};

pub use stage::Stage;

/// The scenarios that play on a cluster as it comes, sorted by name.
pub const SCENARIOS: &[Scenario] = &[
    binding_refused::SCENARIO,
    bound_elsewhere::SCENARIO,
    cleared_and_bound_elsewhere::SCENARIO,
    cordon_clears_nomination::SCENARIO,
    cordon_while_waiting::SCENARIO,
    created_with_node_name::SCENARIO,
    decision_ends::SCENARIO,
    deleted_before_binding::SCENARIO,
    deletion_that_is_no_preemption::SCENARIO,
    hint_reserves_room::SCENARIO,
    hint_to_absent_node::SCENARIO,
    infeasible_hint::SCENARIO,
    kubelet_killed_while_waiting::SCENARIO,
    no_scheduler::SCENARIO,
    outside_hint_changed::SCENARIO,
    outside_hint_no_wake::SCENARIO,
    outside_hint_on_gated_pod::SCENARIO,
    overwritten_preemption::SCENARIO,
    prebind_timeout_clears::SCENARIO,
    prebind_timeout_keeps::SCENARIO,
    prebind_wait::SCENARIO,
    preemption_loop::SCENARIO,
    preemption_with_grace::SCENARIO,
    recreated_with_the_same_name::SCENARIO,
    refused_by_kubelet::SCENARIO,
    room_taken::SCENARIO,
    scheduler_restart_while_waiting::SCENARIO,
    scheduler_silent::SCENARIO,
    second_scheduler::SCENARIO,
    static_pod::SCENARIO,
    taint_while_waiting::SCENARIO,
    tried_again::SCENARIO,
    victim_held_by_finalizer::SCENARIO,
    victim_in_another_namespace::SCENARIO,
    volume_pinned::SCENARIO,
];

/// The scenarios that play where gates are not as they come ([`crate::ClusterOptions::other_gates`]), sorted by name.
pub const GATE_SCENARIOS: &[Scenario] = &[
    gang_preemption::SCENARIO,
    gang_waits::SCENARIO,
    gang_without_room::SCENARIO,
    unsupported_feature::SCENARIO,
];

/// A future on the thread that made it.
pub type Step<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// One scenario.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Names the scenario and its namespace; the file's name in kebab case.
    pub name: &'static str,
    /// What happens, in a sentence.
    pub about: &'static str,
    /// The moments at which it stops, in order.
    pub moments: &'static [&'static str],
    /// Whether a minor of Kubernetes 1 does what happens here.
    plays_on: fn(u16) -> bool,
    run: for<'a, 'b> fn(&'a mut Stage<'b>) -> Step<'a, Result<(), ScenarioError>>,
}

/// A moment at which a scenario stops.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// The moment's name, unique within the scenario.
    pub name: &'a str,
    /// The namespace that the scenario plays in.
    pub namespace: &'a str,
    /// The Pod that the moment is about.
    pub pod: &'a str,
}

/// Looks at the moments of a scenario, while the cluster stands as it is.
pub trait Observer {
    /// Is called at a moment; the scenario goes on when it returns.
    fn at<'a>(
        &'a mut self,
        cluster: &'a Cluster,
        moment: Moment<'a>,
    ) -> Step<'a, Result<(), Box<dyn Error>>>;
}

/// Why a scenario did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The cluster did not do what the scenario needs.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A component did not end or start.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The cluster did something else.
    #[error("{0}")]
    Unexpected(String),
    /// The observer was not content.
    #[error("at the moment {moment} of Pod {pod}: {source}")]
    Observer {
        moment: String,
        pod: String,
        source: Box<dyn Error>,
    },
}

impl Scenario {
    /// Says whether the scenario can be played on a minor such as `1.37`.
    pub fn is_for(&self, minor: &str) -> bool {
        let number = minor
            .strip_prefix("1.")
            .and_then(|minor| minor.parse().ok());
        number.is_some_and(self.plays_on)
    }

    /// Plays the scenario on a cluster and takes away what it made.
    pub async fn play(
        &self,
        cluster: &Cluster,
        observer: &mut dyn Observer,
    ) -> Result<(), ScenarioError> {
        let mut stage = Stage::set(cluster, self.name, observer).await?;
        let played = (self.run)(&mut stage).await;
        let seen = stage.moments().to_vec();
        // Also after a failure: the next scenario needs the room.
        let cleared = stage.clear().await;
        played?;
        cleared?;
        if seen != self.moments {
            let (wanted, name) = (self.moments, self.name);
            return Err(ScenarioError::Unexpected(format!(
                "{name} stopped at {seen:?} and promises {wanted:?}"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sorted_and_has_every_file() {
        for list in [SCENARIOS, GATE_SCENARIOS] {
            assert!(list.is_sorted_by_key(|scenario| scenario.name));
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scenario");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the sources are there")
            .flatten()
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .strip_suffix(".rs")
                    .map(|stem| stem.replace('_', "-"))
            })
            .filter(|stem| stem != "mod" && stem != "stage")
            .collect();
        files.sort();
        let all = SCENARIOS.iter().chain(GATE_SCENARIOS);
        let mut names: Vec<&str> = all.map(|scenario| scenario.name).collect();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn a_scenario_is_for_the_minors_that_do_what_happens() {
        let late = Scenario {
            plays_on: |minor| minor >= 37,
            ..no_scheduler::SCENARIO
        };
        for (minor, due) in [
            ("1.36", false),
            ("1.37", true),
            ("1.100", true),
            ("2.0", false),
        ] {
            assert_eq!(late.is_for(minor), due, "{minor}");
        }
    }

    #[test]
    fn moments_are_unique_within_a_scenario() {
        for scenario in SCENARIOS.iter().chain(GATE_SCENARIOS) {
            let mut moments = scenario.moments.to_vec();
            moments.sort_unstable();
            moments.dedup();
            assert_eq!(moments.len(), scenario.moments.len(), "{}", scenario.name);
        }
    }
}
