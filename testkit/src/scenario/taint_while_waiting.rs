//! Scenario: the nominated node gets a taint while a Pod waits there for its victim.
//!
//! Observed on 1.37.2: as with a cordon the nomination stands until the victim has gone. Earlier minors clear it at
//! once, see `cordon_clears_nomination`.

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "taint-while-waiting",
    about: "The nominated node gets a taint that the preempting Pod does not tolerate, and loses it again.",
    moments: &["tainted", "bound"],
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.taint("n1").await?;
    stage.at("tainted", "preemptor").await?;

    stage.untaint("n1").await?;
    stage.release(hold, "victim").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
