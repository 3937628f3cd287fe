//! Scenario: a Pod asks for a scheduler that nobody runs.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "no-scheduler",
    about: "A Pod names a scheduler that nobody serves, so nobody ever looks at it.",
    moments: &["pending"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let mut spec = wanting(100);
    spec["schedulerName"] = json!("nobody-serves-this");
    stage.create("forgotten", &spec).await?;
    // Nothing further will happen, so there is nothing to wait for.
    stage.at("pending", "forgotten").await
}
