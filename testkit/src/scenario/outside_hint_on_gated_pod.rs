//! Scenario: an outsider nominates a gated Pod, and the scheduler follows when the gate goes.
//!
//! The first Pod gets the bare field, the second one field and decision in one request.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{decision, wanting};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "outside-hint-on-gated-pod",
    about: "Gated Pods are nominated by an outsider, without and with a decision, and bound there when the gate goes.",
    moments: &[
        "gated",
        "nominated",
        "bound",
        "decided-nominated",
        "decided-bound",
    ],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let mut spec = wanting(100);
    spec["schedulingGates"] = json!([{"name": "example.com/hold"}]);

    let pod = stage.create("hinted", &spec).await?;
    stage.at("gated", "hinted").await?;
    stage.nominate(&pod, "n2", &Value::Null).await?;
    stage.at("nominated", "hinted").await?;
    stage.remove_gates("hinted").await?;
    stage.running_on("hinted", "n2").await?;
    stage.at("bound", "hinted").await?;

    let pod = stage.create("decided", &spec).await?;
    stage.nominate(&pod, "n2", &decision(&pod, "n2")?).await?;
    stage.at("decided-nominated", "decided").await?;
    stage.remove_gates("decided").await?;
    stage.running_on("decided", "n2").await?;
    stage.at("decided-bound", "decided").await
}
