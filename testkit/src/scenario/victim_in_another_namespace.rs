//! Scenario: a Pod preempts one of another namespace.
//!
//! The victim's events, which name who preempted it and for which node, are in the victim's namespace.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "victim-in-another-namespace",
    about: "A Pod takes the place of a victim that is in another namespace.",
    moments: &["waiting", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    let own = stage.namespace().to_owned();
    let other = format!("{own}-victims");
    stage.enter(&other).await?;
    stage.occupy(&hold.lifecycle()).await?;
    stage.enter(&own).await?;
    stage.claim_room(&json!({})).await?;
    stage.enter(&other).await?;
    stage.leaving("victim").await?;
    stage.enter(&own).await?;
    stage.at("waiting", "preemptor").await?;

    stage.enter(&other).await?;
    stage.release(hold, "victim").await?;
    stage.enter(&own).await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
