//! Scenario: room comes on another node while a Pod waits for its victim.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: the scheduler looks at the nominated node first, where the victim still is,
//! and then at all others; it binds to the other node, and the victim ends for nothing.

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "bound-elsewhere",
    about: "A preempting Pod waits for its victim, and is bound to another node where room came first.",
    moments: &["bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.end("blocker").await?;
    stage.running_on("preemptor", "n2").await?;
    stage.at("bound", "preemptor").await?;
    stage.release(hold, "victim").await
}
