//! Scenario: a second scheduler preempts for a Pod that asks for it.
//!
//! Observed on 1.37.2: events and the victim's condition name the profile; the field manager is the binary's name, and so
//! the same as of the first scheduler.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "second-scheduler",
    about: "A Pod that asks for a second scheduler preempts and takes its victim's place.",
    moments: &["waiting", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    const NAME: &str = "second-scheduler";
    stage.start_scheduler(NAME).await?;
    let hold = stage.hold().await?;
    stage.occupy(&hold.lifecycle()).await?;
    stage.claim_room(&json!({"schedulerName": NAME})).await?;
    stage.leaving("victim").await?;
    stage.at("waiting", "preemptor").await?;

    stage.release(hold, "victim").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
