//! Scenario: a Pod is deleted before it was bound, and a finalizer keeps its object.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting_on;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "deleted-before-binding",
    about: "A Pod that fits nowhere is deleted; a finalizer keeps its object.",
    moments: &["deleted"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let cpu = stage.cpu_of("n1").await?;
    stage
        .create("deleted", &wanting_on("n1", cpu.saturating_mul(2)))
        .await?;
    stage.unschedulable("deleted", "Insufficient cpu").await?;
    stage
        .set_finalizers("deleted", &["example.com/keeps-it"])
        .await?;
    stage.delete("deleted").await?;
    stage
        .pod("deleted", "deleted", |pod| {
            pod.pointer("/metadata/deletionTimestamp").is_some()
        })
        .await?;
    stage.at("deleted", "deleted").await
}
