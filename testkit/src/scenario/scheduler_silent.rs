//! Scenario: the scheduler stands still, and a Pod is left without a word.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "scheduler-silent",
    about: "A scheduler has placed one Pod, stands still, and another Pod is created.",
    moments: &["silent"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.create("placed", &wanting(100)).await?;
    stage.scheduled("placed").await?;
    stage.freeze("kube-scheduler")?;
    stage.create("unheeded", &wanting(100)).await?;
    stage.at("silent", "unheeded").await
}
