//! Scenario: an outsider nominates a gated Pod, and the scheduler follows when the gate goes.
//!
//! The first Pod gets the bare field, the second one field and decision in one request.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{text, wanting};

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
    run: |stage| Box::pin(run(stage)),
};

/// The annotation that a decision stands in.
const DECISION: &str = "nominate.kube-placement.dev/decision";

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
    stage
        .nominate(&pod, "n2", &json!({DECISION: decision(&pod)?.to_string()}))
        .await?;
    stage.at("decided-nominated", "decided").await?;
    stage.remove_gates("decided").await?;
    stage.running_on("decided", "n2").await?;
    stage.at("decided-bound", "decided").await
}

/// Returns a decision that holds for ten minutes from the Pod's creation, by the server's clock.
fn decision(pod: &Value) -> Result<Value, ScenarioError> {
    let created = text(pod, "/metadata/creationTimestamp");
    let unexpected = |error: jiff::Error| {
        ScenarioError::Unexpected(format!("a Pod created at {created:?}: {error}"))
    };
    let written: Timestamp = created.parse().map_err(unexpected)?;
    let expires = written
        .checked_add(SignedDuration::from_mins(10))
        .map_err(unexpected)?;
    Ok(json!({
        "id": "6f1c1d2e-0000-4000-8000-000000000001",
        "node": "n2",
        "recommender": "observer",
        "algorithm": "most-room",
        "algorithmVersion": "1.0.0",
        "reason": "n2 has the most room",
        "writtenAt": written.to_string(),
        "expiresAt": expires.to_string(),
    }))
}
