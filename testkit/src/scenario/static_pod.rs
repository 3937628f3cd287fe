//! Scenario: a kubelet runs a Pod of a manifest file, and shows the server a mirror of it.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "static-pod",
    about: "A kubelet runs a static Pod, past any scheduler.",
    moments: &["running"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.static_pod("n1", "static", &wanting(100)).await?;
    stage.at("running", "static-n1").await
}
