//! Scenario: the nominated node is cordoned while a Pod waits there for its victim, and the nomination goes at once.
//!
//! Observed on 1.35.4 and 1.36.3: the node's new taint wakes every Pod that lacks resources, so the scheduler tries,
//! fails and clears the nomination while the victim still terminates (`buildQueueingHintMap` in pkg/scheduler/scheduler.go
//! registers taints for every plugin that waits for nodes; 1.37 does not, see `cordon_while_waiting`).

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::text;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "cordon-clears-nomination",
    about: "The nominated node is cordoned while a preempting Pod waits for its victim; that clears the nomination.",
    moments: &["cleared", "victim-gone", "bound"],
    plays_on: |minor| minor <= 36,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.cordon("n1").await?;
    stage
        .unschedulable("preemptor", "1 node(s) were unschedulable")
        .await?;
    stage
        .pod("preemptor", "without a nomination", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
    stage.at("cleared", "preemptor").await?;

    stage.release(hold, "victim").await?;
    stage.at("victim-gone", "preemptor").await?;

    stage.uncordon("n1").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
