//! Scenario: a Pod is tried several times, and the scheduler says the same each time.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: a note that is repeated for the same version of the Pod makes a series of one
//! event; the first attempt has an event of its own, since its condition changed the Pod's version.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "tried-again",
    about: "Small Pods end one after the other, and each time a Pod is tried and does not fit.",
    moments: &["third-attempt"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    for (filler, node) in [("filler-1", "n1"), ("filler-2", "n2")] {
        let spec = wanting_on(node, stage.cpu_of(node).await? * 3 / 4);
        stage.create(filler, &spec).await?;
        stage.running_on(filler, node).await?;
    }
    for small in ["small-1", "small-2"] {
        stage.create(small, &wanting_on("n1", 100)).await?;
        stage.running_on(small, "n1").await?;
    }
    let cpu = stage.cpu_of("n1").await?.min(stage.cpu_of("n2").await?);
    stage.create("tried", &wanting(cpu * 3 / 4)).await?;
    let pod = stage.unschedulable("tried", "Insufficient cpu").await?;
    stage.end("small-1").await?;
    stage.attempts(&pod, 2).await?;
    stage.end("small-2").await?;
    stage.attempts(&pod, 3).await?;
    stage.at("third-attempt", "tried").await
}
