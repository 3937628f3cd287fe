//! Scenario: an outsider's nomination of a gated Pod keeps another Pod from a node that has room.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: the nomination reserves room against Pods of equal and lower priority, though
//! its own Pod is gated. The message is "Insufficient cpu" and names no nomination. A Pod of higher priority is bound
//! there at once.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "hint-reserves-room",
    about: "A gated Pod is nominated to a free node, and a Pod of equal priority is kept from it.",
    moments: &["nominated", "blocked", "higher-bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.priority_class("middle", 500).await?;
    stage.priority_class("high", 1000).await?;
    let cpu = stage.cpu_of("n1").await?;

    let mut filler = wanting_on("n2", stage.cpu_of("n2").await? * 3 / 4);
    filler["priorityClassName"] = json!("high");
    stage.create("filler", &filler).await?;
    stage.running_on("filler", "n2").await?;

    let mut spec = wanting(cpu * 3 / 4);
    spec["priorityClassName"] = json!("middle");
    spec["schedulingGates"] = json!([{"name": "example.com/hold"}]);
    let holder = stage.create("holder", &spec).await?;
    stage.nominate(&holder, "n1", &Value::Null).await?;
    stage.at("nominated", "holder").await?;

    let mut spec = wanting(cpu / 2);
    spec["priorityClassName"] = json!("middle");
    stage.create("blocked", &spec).await?;
    stage.unschedulable("blocked", "2 Insufficient cpu").await?;
    stage.at("blocked", "blocked").await?;

    spec["priorityClassName"] = json!("high");
    stage.create("higher", &spec).await?;
    stage.running_on("higher", "n1").await?;
    stage.at("higher-bound", "higher").await
}
