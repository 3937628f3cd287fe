//! Scenario: a victim has ended, but a finalizer keeps its object.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: the kubelet ends the containers and reports a final phase, and the object stays
//! with a deletionTimestamp that is past. The scheduler does not see Pods in a final phase, so the room is free for it and
//! the preempting Pod is bound.
//!
//! The scheduler is dead while the victim ends, so that this is a moment at all.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::component::SCHEDULER;
use crate::scenario::stage::text;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "victim-held-by-finalizer",
    about: "A preempting Pod takes the place of a victim whose object is still there.",
    moments: &["waiting", "victim-finished", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.occupy(&hold.lifecycle()).await?;
    stage
        .set_finalizers("victim", &["example.com/hold"])
        .await?;
    stage.claim_room(&json!({})).await?;
    stage.leaving("victim").await?;
    stage.at("waiting", "preemptor").await?;

    stage.kill(SCHEDULER)?;
    stage.let_go(hold, "victim").await?;
    stage
        .pod("victim", "finished", |pod| {
            let grace = pod.pointer("/metadata/deletionGracePeriodSeconds");
            // The kubelet's own last deletion, which the finalizer outlives.
            text(pod, "/status/phase") == "Succeeded" && grace == Some(&json!(0))
        })
        .await?;
    stage.at("victim-finished", "preemptor").await?;

    stage.start_again(SCHEDULER)?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
