//! Scenario: a Pod needs a declared feature that its node's kubelet does not have.
//!
//! Observed on 1.37.2 with the feature's gate off in one kubelet: the scheduler passes the node over without naming the
//! feature; a kubelet that gets the Pod all the same refuses it, and names it.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "unsupported-feature",
    about: "A Pod that needs a declared feature finds no node, and another one is refused by a kubelet without it.",
    moments: &["passed-over", "refused"],
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let spec = restarting_all(wanting_on("n2", 100));
    stage.create("passed-over", &spec).await?;
    stage
        .unschedulable("passed-over", "didn't match Pod's required features")
        .await?;
    stage.at("passed-over", "passed-over").await?;

    let mut spec = restarting_all(wanting(100));
    spec["schedulerName"] = json!("nobody-serves-this");
    let bound = stage.create("refused", &spec).await?;
    stage.bind(&bound, "n2").await?;
    stage.refused("refused", "PodFeatureUnsupported").await?;
    stage.at("refused", "refused").await
}

/// Needs `RestartAllContainersOnContainerExits`.
fn restarting_all(mut spec: Value) -> Value {
    let container = &mut spec["containers"][0];
    container["restartPolicy"] = json!("Never");
    container["restartPolicyRules"] = json!([{
        "action": "RestartAllContainers",
        "exitCodes": {"operator": "In", "values": [42]},
    }]);
    spec
}
