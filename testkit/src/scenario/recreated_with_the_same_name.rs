//! Scenario: a Pod that has preempted is deleted and created again with its name, and now fits nowhere.
//!
//! Observed on 1.37.2: a look for events by name brings those of both; only the UID tells them apart.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "recreated-with-the-same-name",
    about: "A Pod preempts and runs; another one of its name is unschedulable.",
    moments: &["bound", "again"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.release(hold, "victim").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await?;

    stage.end("preemptor").await?;
    let larger_than_a_node = stage.cpu_of("n1").await? + stage.cpu_of("n2").await?;
    let spec = wanting(larger_than_a_node);
    stage.create("preemptor", &spec).await?;
    stage
        .unschedulable("preemptor", "2 Insufficient cpu")
        .await?;
    stage.at("again", "preemptor").await
}
