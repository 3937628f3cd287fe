//! Scenario: an outsider's decision stands, is taken back, and another one is removed after its time.
//!
//! What the writer does here is the protocol of `kubectl nominate`: value and record in one request.

use jiff::SignedDuration;
use serde_json::Value;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{decision_for, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "decision-ends",
    about: "Recorded decisions about a Pod that fits nowhere stand, are taken back and run out.",
    moments: &["standing", "withdrawn", "removed"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let lifetime = SignedDuration::from_secs(45);
    let cpu = stage.cpu_of("n1").await? * 3 / 4;
    stage.create("filler", &wanting_on("n1", cpu)).await?;
    stage.running_on("filler", "n1").await?;
    let words = "Insufficient cpu";

    stage.create("taken-back", &wanting_on("n1", cpu)).await?;
    let pod = stage.unschedulable("taken-back", words).await?;
    let decision = decision_for(&pod, "n1", lifetime, false)?;
    let pod = stage.nominate(&pod, "n1", &decision).await?;
    stage.at("standing", "taken-back").await?;

    let withdrawn = decision_for(&pod, "n1", lifetime, true)?;
    stage.take_back(&pod, &withdrawn).await?;
    stage.at("withdrawn", "taken-back").await?;

    stage.create("run-out", &wanting_on("n1", cpu)).await?;
    let pod = stage.unschedulable("run-out", words).await?;
    let decision = decision_for(&pod, "n1", lifetime, false)?;
    let pod = stage.nominate(&pod, "n1", &decision).await?;
    stage.take_back(&pod, &Value::Null).await?;
    stage.at("removed", "run-out").await
}
