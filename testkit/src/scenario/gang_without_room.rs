//! Scenario: a group of two that fits nowhere. Plays where gang scheduling is on.
//!
//! Observed on 1.37.2: only the member that was tried is told what is missing; the other one is told of the group.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{member_of, wanting};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "gang-without-room",
    about: "A group of two is complete, and no node has room for a member of it.",
    moments: &["tried", "untried"],
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let cpu = stage.cpu_of("n1").await?.max(stage.cpu_of("n2").await?);
    stage.pod_group("pair", 2, None).await?;
    let spec = member_of("pair", wanting(cpu * 2));
    stage.create("first", &spec).await?;
    stage.create("second", &spec).await?;
    stage.unschedulable("first", "Insufficient cpu").await?;
    stage.unschedulable("second", "minCount (2)").await?;
    stage.at("tried", "first").await?;
    stage.at("untried", "second").await
}
