//! Scenario: an outsider nominates a gated Pod to a node that has no room for it.
//!
//! The server takes the nomination all the same, and the scheduler binds the Pod elsewhere without a word.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{decision, wanting};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "infeasible-hint",
    about: "A gated Pod is nominated to a full node and is bound to another one when its gate goes.",
    moments: &["nominated", "bound", "decided-bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let mut filler = wanting(stage.cpu_of("n2").await? * 3 / 4);
    filler["nodeSelector"] = json!({"kubernetes.io/hostname": "n2"});
    stage.create("filler", &filler).await?;
    stage.running_on("filler", "n2").await?;

    let mut spec = wanting(stage.cpu_of("n1").await? / 2);
    spec["schedulingGates"] = json!([{"name": "example.com/hold"}]);
    let pod = stage.create("hinted", &spec).await?;
    stage.nominate(&pod, "n2", &Value::Null).await?;
    stage.at("nominated", "hinted").await?;

    stage.remove_gates("hinted").await?;
    stage.running_on("hinted", "n1").await?;
    stage.at("bound", "hinted").await?;

    spec["containers"][0]["resources"]["requests"]["cpu"] = json!("100m");
    spec["nodeSelector"] = json!({"kubernetes.io/hostname": "n1"});
    let pod = stage.create("decided", &spec).await?;
    stage.nominate(&pod, "n2", &decision(&pod, "n2")?).await?;
    stage.remove_gates("decided").await?;
    stage.running_on("decided", "n1").await?;
    stage.at("decided-bound", "decided").await
}
