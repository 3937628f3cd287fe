//! Scenario: the scheduler gives up on a volume that nobody provides, and clears the nomination.
//!
//! Observed on 1.36.3 and 1.37.2: the patch that says so also clears the nomination (1.35 does not, see
//! `prebind_timeout_keeps`). The reason is `SchedulerError`, not `Unschedulable`.
//!
//! The scheduler tries again a second later and looks the same as before, so it is killed in between.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::component::{IMPATIENT, SCHEDULER};
use crate::scenario::stage::{text, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "prebind-timeout-clears",
    about: "A volume is not there in time, and the scheduler clears the nomination.",
    moments: &["timed-out"],
    plays_on: |minor| minor >= 36,
    run: |stage| Box::pin(time_out(stage, "")),
};

/// Lets the scheduler give up on a volume, and makes sure of the nomination that is left.
pub(super) async fn time_out(stage: &mut Stage<'_>, left: &str) -> Result<(), ScenarioError> {
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
    if found != left {
        return Err(ScenarioError::Unexpected(format!(
            "the nomination is {found:?} after the failure"
        )));
    }
    stage.at("timed-out", "claiming").await?;

    stage.start_again(SCHEDULER)
}
