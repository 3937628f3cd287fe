//! Scenario: Pods wait for volumes that nobody provides yet.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: the scheduler nominates without a condition and without an event, and names the
//! node in an annotation of the claim. An outsider's overwrite during that time is not corrected, and the Pod is bound
//! where the scheduler prepared it; the last to write the field was then the outsider.
//!
//! A Pod that was tried in vain before keeps the condition of that attempt: that it is unschedulable stands beside the
//! nomination, as with a preemption.

use serde_json::Value;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::wanting_on;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "prebind-wait",
    about: "Pods are nominated while their volumes are prepared; one nomination is overwritten.",
    moments: &[
        "preparing",
        "overwritten",
        "preparing-after-failure",
        "bound",
        "overwritten-bound",
    ],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let class = stage.storage_class().await?;
    let spec = wanting_on("n1", 100);
    for pod in ["plain", "overwritten"] {
        stage.create_claim(pod, &class).await?;
        stage.create_claiming(pod, &spec).await?;
    }
    stage.preparing("plain", "n1").await?;
    stage.at("preparing", "plain").await?;

    let pod = stage.preparing("overwritten", "n1").await?;
    stage.nominate(&pod, "n2", &Value::Null).await?;
    stage.at("overwritten", "overwritten").await?;

    stage.create_claiming("late", &spec).await?;
    stage.unschedulable("late", "not found").await?;
    stage.create_claim("late", &class).await?;
    stage.preparing("late", "n1").await?;
    stage.at("preparing-after-failure", "late").await?;

    for (moment, pod) in [("bound", "plain"), ("overwritten-bound", "overwritten")] {
        stage.provide(pod, &class).await?;
        stage.running_on(pod, "n1").await?;
        stage.at(moment, pod).await?;
    }
    Ok(())
}
