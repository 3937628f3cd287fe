//! Scenario: an outsider nominates a Pod that fits nowhere. Nothing happens.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: setting the empty field wakes nobody, and it stands unchanged, without a
//! condition or an event. A new label wakes nobody either. When room comes on another node, the Pod is bound there.

use serde_json::Value;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{text, wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "outside-hint-no-wake",
    about: "A Pod that fits nowhere is nominated to a full node, and is bound to another one when room comes there.",
    moments: &["hinted", "labelled", "bound"],
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
    stage.create("hinted", &wanting(cpu * 3 / 4)).await?;
    let pod = stage.unschedulable("hinted", "Insufficient cpu").await?;

    let hinted = stage.nominate(&pod, "n2", &Value::Null).await?;
    // Nothing further will happen, so there is nothing to wait for.
    stage.at("hinted", "hinted").await?;
    unchanged(stage, &hinted).await?;
    let labelled = stage.label("hinted", "example.com/seen", "yes").await?;
    stage.at("labelled", "hinted").await?;
    unchanged(stage, &labelled).await?;

    stage.end("filler-1").await?;
    stage.running_on("hinted", "n1").await?;
    stage.at("bound", "hinted").await
}

/// Makes sure that nobody has written since.
async fn unchanged(stage: &Stage<'_>, since: &Value) -> Result<(), ScenarioError> {
    let later = stage.pod("hinted", "as it is", |_| true).await?;
    let version = |pod: &Value| text(pod, "/metadata/resourceVersion");
    if version(&later) == version(since) {
        return Ok(());
    }
    Err(ScenarioError::Unexpected(format!(
        "somebody woke and wrote: {later}"
    )))
}
