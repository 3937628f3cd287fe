//! Scenario: a Pod's volume is on a node that is full.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "volume-pinned",
    about: "A Pod's volume can be reached from one node only, and that node has no room.",
    moments: &["pinned"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let cpu = stage.cpu_of("n1").await? * 3 / 4;
    stage.create("filler", &wanting_on("n1", cpu)).await?;
    stage.running_on("filler", "n1").await?;
    stage.pinned_claim("pinned", "n1").await?;
    stage.create_claiming("pinned", &wanting(cpu)).await?;
    // "had volume node affinity conflict" up to 1.36, "didn't match PersistentVolume's node affinity" on 1.37.
    stage.unschedulable("pinned", "olume").await?;
    stage.at("pinned", "pinned").await
}
