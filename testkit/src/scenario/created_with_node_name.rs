//! Scenario: Pods run that no scheduler has bound.
//!
//! Observed on 1.37.2: the creator of a Pod that names its node owns spec.nodeName for ever. After a binding, by whomever,
//! nobody owns it; the Pod that somebody else bound looks like any other, only there is no event that it was scheduled.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "created-with-node-name",
    about: "A Pod is created with its node, and another one is bound by somebody who is no scheduler.",
    moments: &["running", "bound-by-other"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let mut spec = wanting(100);
    spec["nodeName"] = json!("n1");
    stage.create("named", &spec).await?;
    stage.running_unreported_on("named", "n1").await?;
    stage.at("running", "named").await?;

    let mut spec = wanting(100);
    spec["schedulerName"] = json!("nobody-serves-this");
    let pod = stage.create("bound", &spec).await?;
    stage.bind(&pod, "n1").await?;
    stage.running_unreported_on("bound", "n1").await?;
    stage.at("bound-by-other", "bound").await
}
