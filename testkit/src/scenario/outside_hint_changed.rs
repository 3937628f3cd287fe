//! Scenario: an outsider nominates a Pod that fits nowhere, and then changes its mind.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: changing a standing nomination wakes the scheduler, as if the old node's room
//! had become free. The Pod still fits nowhere, so the scheduler clears the field within milliseconds. The only event
//! is one more `FailedScheduling`, about the outsider's version of the Pod.
//!
//! The first Pod gets the bare field, the second one field and decision in one request.

use serde_json::Value;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{decision, text, wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "outside-hint-changed",
    about: "Pods that fit nowhere are nominated to another node than before, and the scheduler clears the field.",
    moments: &["cleared", "decided-cleared"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let cpu = stage.cpu_of("n1").await?.min(stage.cpu_of("n2").await?);
    for (filler, node) in [("filler-1", "n1"), ("filler-2", "n2")] {
        let spec = wanting_on(node, stage.cpu_of(node).await? * 3 / 4);
        stage.create(filler, &spec).await?;
    }
    stage.running_on("filler-1", "n1").await?;
    stage.running_on("filler-2", "n2").await?;
    for (name, moment, decided) in [
        ("hinted", "cleared", false),
        ("decided", "decided-cleared", true),
    ] {
        stage.create(name, &wanting(cpu * 3 / 4)).await?;
        let mut pod = stage.unschedulable(name, "Insufficient cpu").await?;
        for node in ["n2", "n1"] {
            let annotations = if decided {
                decision(&pod, node)?
            } else {
                Value::Null
            };
            pod = stage.nominate(&pod, node, &annotations).await?;
        }
        let version = text(&pod, "/metadata/resourceVersion");
        stage
            .event_where(&pod, "FailedScheduling", |event| {
                text(event, "/regarding/resourceVersion") == version
            })
            .await?;
        stage
            .pod(name, "without a nomination", |pod| {
                text(pod, "/status/nominatedNodeName").is_empty()
            })
            .await?;
        stage.at(moment, name).await?;
    }
    Ok(())
}
