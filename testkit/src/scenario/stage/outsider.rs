//! The outsider of scenarios, who writes `status.nominatedNodeName`, with or without a record of his decision.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Stage, text};
use crate::scenario::ScenarioError;

impl Stage<'_> {
    /// Has the outsider nominate a Pod to a node, with annotations in the same request; returns the Pod as it is then.
    pub(in crate::scenario) async fn nominate(
        &self,
        pod: &Value,
        node: &str,
        annotations: &Value,
    ) -> Result<Value, ScenarioError> {
        let mut metadata = json!({
            "uid": pod.pointer("/metadata/uid"),
            "resourceVersion": pod.pointer("/metadata/resourceVersion"),
        });
        if !annotations.is_null() {
            metadata["annotations"] = annotations.clone();
        }
        let change = json!({"metadata": metadata, "status": {"nominatedNodeName": node}});
        let path = format!("{}/{}/status", self.pods(), text(pod, "/metadata/name"));
        let answer = self.outsider.merge_patch(&path, &change).await?;
        // The server ignores fields that may not be set, and says nothing.
        if text(&answer, "/status/nominatedNodeName") == node {
            return Ok(answer);
        }
        Err(ScenarioError::Unexpected(format!(
            "the nomination to {node} was not taken up: {answer}"
        )))
    }

    /// Has the outsider empty the field, with annotations in the same request.
    pub(in crate::scenario) async fn take_back(
        &self,
        pod: &Value,
        annotations: &Value,
    ) -> Result<(), ScenarioError> {
        let mut metadata = json!({"uid": pod.pointer("/metadata/uid")});
        if !annotations.is_null() {
            metadata["annotations"] = annotations.clone();
        }
        let change = json!({"metadata": metadata, "status": {"nominatedNodeName": null}});
        let path = format!("{}/{}/status", self.pods(), text(pod, "/metadata/name"));
        self.outsider.merge_patch(&path, &change).await?;
        Ok(())
    }
}

/// The annotation that a decision stands in.
const DECISION: &str = "nominate.kube-placement.dev/decision";

/// Returns annotations with a decision that holds for ten minutes from the Pod's creation, by the server's clock.
pub(in crate::scenario) fn decision(pod: &Value, node: &str) -> Result<Value, ScenarioError> {
    decision_for(pod, node, SignedDuration::from_mins(10), false)
}

/// Returns annotations with a decision that holds for some time from the Pod's creation, by the server's clock; its
/// writer may have taken it back.
pub(in crate::scenario) fn decision_for(
    pod: &Value,
    node: &str,
    lifetime: SignedDuration,
    withdrawn: bool,
) -> Result<Value, ScenarioError> {
    let created = text(pod, "/metadata/creationTimestamp");
    let unexpected = |error: jiff::Error| {
        ScenarioError::Unexpected(format!("a Pod created at {created:?}: {error}"))
    };
    let written: Timestamp = created.parse().map_err(unexpected)?;
    let expires = written.checked_add(lifetime).map_err(unexpected)?;
    let mut decision = json!({
        "id": "6f1c1d2e-0000-4000-8000-000000000001",
        "node": node,
        "recommender": "observer",
        "algorithm": "most-room",
        "algorithmVersion": "1.0.0",
        "reason": "it has the most room",
        "writtenAt": written.to_string(),
        "expiresAt": expires.to_string(),
    });
    if withdrawn {
        decision["withdrawnAt"] = json!(written.to_string());
    }
    Ok(json!({DECISION: decision.to_string()}))
}
