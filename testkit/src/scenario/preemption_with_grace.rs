//! Scenario: a Pod preempts another one that takes its time to end.
//!
//! The nomination stands while the victim holds within its grace period, and the Pod is bound when the victim has gone.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "preemption-with-grace",
    about: "A Pod of high priority waits for its victim's grace period and takes its place.",
    moments: &["waiting", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

/// How long the victim holds: enough to look at the moment, and well within its grace period.
const HOLD_SECONDS: u32 = 12;

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let lifecycle = json!({"preStop": {"sleep": {"seconds": HOLD_SECONDS}}});
    stage.preempt(&lifecycle).await?;
    stage.at("waiting", "preemptor").await?;

    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
