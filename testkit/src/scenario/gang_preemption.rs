//! Scenario: a group preempts a Pod for each of its members. Plays where gang scheduling is on.
//!
//! Observed on 1.37.2: both members are nominated. The victims' events name the group's UID, and `cluster` for a node.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{member_of, text, wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "gang-preemption",
    about: "A group of two waits for a victim on each node, and takes their places.",
    moments: &["waiting", "other-waiting", "bound"],
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

/// How long the victims hold: enough to look at both moments, and well within their grace period.
const HOLD_SECONDS: u32 = 12;

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.priority_class("low", 100).await?;
    stage.priority_class("high", 1000).await?;
    for (victim, node) in [("victim-1", "n1"), ("victim-2", "n2")] {
        let mut spec = wanting_on(node, stage.cpu_of(node).await? * 3 / 4);
        spec["priorityClassName"] = json!("low");
        spec["containers"][0]["lifecycle"] =
            json!({"preStop": {"sleep": {"seconds": HOLD_SECONDS}}});
        stage.create(victim, &spec).await?;
    }
    stage.running_on("victim-1", "n1").await?;
    stage.running_on("victim-2", "n2").await?;

    stage.pod_group("pair", 2, Some("high")).await?;
    let cpu = stage.cpu_of("n1").await?.min(stage.cpu_of("n2").await?);
    let mut spec = member_of("pair", wanting(cpu * 3 / 4));
    spec["priorityClassName"] = json!("high");
    for member in ["first", "second"] {
        stage.create(member, &spec).await?;
    }
    let first = stage.nominated("first").await?;
    let second = stage.nominated("second").await?;
    let (node, other) = (nominated_to(&first), nominated_to(&second));
    if node == other {
        return Err(ScenarioError::Unexpected(format!(
            "both members were nominated to {node}"
        )));
    }
    stage.leaving("victim-1").await?;
    stage.leaving("victim-2").await?;
    stage.at("waiting", "first").await?;
    stage.at("other-waiting", "second").await?;

    stage.running_on("first", &node).await?;
    stage.running_on("second", &other).await?;
    stage.at("bound", "first").await
}

fn nominated_to(pod: &serde_json::Value) -> String {
    text(pod, "/status/nominatedNodeName")
}
