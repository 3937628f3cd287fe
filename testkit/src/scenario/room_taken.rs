//! Scenario: the room that a victim leaves is taken by others before the scheduler comes back to the Pod.
//!
//! It is a race (kubernetes/kubernetes#106780). Here the scheduler stands still meanwhile, so that the moment lasts;
//! when it goes on, it fails and clears the nomination (observed on 1.35.4, 1.36.3 and 1.37.2).

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{text, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "room-taken",
    about: "A preempting Pod's room is taken by Pods of equal and of higher priority while the scheduler stands still.",
    moments: &["taken-by-equal", "taken-by-higher", "cleared"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let whole = stage.cpu_of("n1").await?;
    stage.priority_class("higher", 2000).await?;
    let hold = stage.hold().await?;
    stage.occupy(&hold.lifecycle()).await?;
    let mut spec = wanting_on("n1", whole * 7 / 8);
    spec["priorityClassName"] = json!("high");
    stage.create("preemptor", &spec).await?;
    stage.nominated("preemptor").await?;
    stage.leaving("victim").await?;

    stage.freeze("kube-scheduler")?;
    stage
        .take_room("equal", "high", whole / 4, &Value::Null)
        .await?;
    stage.release(hold, "victim").await?;
    stage.at("taken-by-equal", "preemptor").await?;

    // It comes before the other one goes: the scheduler never sees room there.
    stage
        .take_room("taker", "higher", whole / 4, &Value::Null)
        .await?;
    stage.end("equal").await?;
    stage.at("taken-by-higher", "preemptor").await?;

    stage.thaw("kube-scheduler")?;
    stage
        .pod("preemptor", "without a nomination", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
    stage.at("cleared", "preemptor").await
}
