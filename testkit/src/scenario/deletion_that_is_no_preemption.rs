//! Scenario: a person deletes a Pod, and while it still terminates a Pod of higher priority is nominated to its room.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: the scheduler counts the Pod among those it preempts, but it only nominates:
//! there is no event `Preempted`, the Pod gets no condition `DisruptionTarget`, and it keeps its own time to end.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "deletion-that-is-no-preemption",
    about: "A Pod is nominated to the room of one that a person has deleted.",
    moments: &["waiting", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.occupy(&hold.lifecycle()).await?;
    stage.begin_to_end("victim").await?;
    stage.claim_room(&json!({})).await?;
    stage.at("waiting", "preemptor").await?;

    stage.release(hold, "victim").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
