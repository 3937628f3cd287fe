//! Scenario: an outsider nominates Pods to a node that does not exist.
//!
//! Observed on 1.37.2: the server takes the name without looking for the node. A gated Pod is bound elsewhere when its
//! gate goes, without an event that says why; of a Pod that fits nowhere the field stands.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "hint-to-absent-node",
    about: "Pods are nominated to a node that does not exist: one that was tried in vain, and a gated one.",
    moments: &["standing", "nominated", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

const ABSENT: &str = "no-such-node";

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage
        .create("standing", &wanting_on("nowhere", 100))
        .await?;
    let pod = stage
        .unschedulable("standing", "didn't match Pod's node affinity/selector")
        .await?;
    stage.nominate(&pod, ABSENT, &Value::Null).await?;
    // Nothing further will happen, so there is nothing to wait for.
    stage.at("standing", "standing").await?;

    let mut spec = wanting(100);
    spec["schedulingGates"] = json!([{"name": "example.com/hold"}]);
    // So that it is known where it goes.
    spec["nodeSelector"] = json!({"kubernetes.io/hostname": "n1"});
    let pod = stage.create("hinted", &spec).await?;
    stage.nominate(&pod, ABSENT, &Value::Null).await?;
    stage.at("nominated", "hinted").await?;
    stage.remove_gates("hinted").await?;
    stage.running_on("hinted", "n1").await?;
    stage.at("bound", "hinted").await
}
