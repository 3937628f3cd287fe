//! Scenario: the scheduler is killed and starts again while a Pod waits for its victim.
//!
//! Observed on 1.37.2: the nomination is kept by the server, and the new process honours it. At its start it tries the
//! Pod once and says that it waits; no second victim is told to end.

use super::{Scenario, ScenarioError, Stage};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "scheduler-restart-while-waiting",
    about: "The scheduler is killed while a preempting Pod waits for its victim; the next one takes the nomination over.",
    moments: &["restarted", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.restart("kube-scheduler")?;
    let words = "not eligible due to a terminating pod on the nominated node";
    stage.unschedulable("preemptor", words).await?;
    stage.at("restarted", "preemptor").await?;

    stage.release(hold, "victim").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
