//! Scenario: the scheduler gives up on a volume that nobody provides, and keeps the nomination.
//!
//! Observed on 1.35.4: the patch that says so leaves the nomination, which then points where nothing goes on (from 1.36
//! on it is cleared, see `prebind_timeout_clears`).
//!
//! The scheduler tries again a second later and looks the same as before, so it is killed in between.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::component::{IMPATIENT, SCHEDULER};
use crate::scenario::stage::{text, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "prebind-timeout-keeps",
    about: "A volume is not there in time, and the scheduler keeps the nomination.",
    moments: &["timed-out"],
    plays_on: |minor| minor == 35,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let class = stage.storage_class().await?;
    let mut spec = wanting_on("n1", 100);
    spec["schedulerName"] = json!(IMPATIENT);
    stage.create_claim("claiming", &class).await?;
    stage.create_claiming("claiming", &spec).await?;
    stage.preparing("claiming", "n1").await?;
    stage
        .unschedulable("claiming", "running PreBind plugin")
        .await?;
    stage.kill(SCHEDULER)?;
    let found = stage.pod("claiming", "there", |_| true).await?;
    let found = text(&found, "/status/nominatedNodeName");
    if found != "n1" {
        return Err(ScenarioError::Unexpected(format!(
            "the nomination is {found:?} after the failure"
        )));
    }
    stage.at("timed-out", "claiming").await?;

    stage.start_again(SCHEDULER)
}
