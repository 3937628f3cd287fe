//! Scenario: the server refuses the scheduler's binding.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: a policy at admission refuses POST pods/binding; the scheduler reports a
//! `SchedulerError` with the policy's words, and tries again after a while.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "binding-refused",
    about: "A policy at admission refuses the binding of a Pod that has a node.",
    moments: &["refused"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.refuse_bindings("no bindings here").await?;
    stage.create("refused", &wanting(100)).await?;
    stage.unschedulable("refused", "no bindings here").await?;
    stage.at("refused", "refused").await
}
