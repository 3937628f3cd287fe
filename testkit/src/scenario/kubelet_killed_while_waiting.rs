//! Scenario: the kubelet of the nominated node dies while a Pod waits there for its victim; then the node's object goes.
//!
//! Observed on 1.37.2: nobody clears the nomination when the node is not ready or gone, since nothing wakes the Pod. When
//! the victim's object is deleted by force, the scheduler tries and clears it.
//!
//! Only on one minor: it takes as long as the controller manager takes to miss a kubelet.

use super::{Scenario, ScenarioError, Stage};
use crate::component;
use crate::scenario::stage::text;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "kubelet-killed-while-waiting",
    about: "The nominated node is lost while a preempting Pod waits for its victim, and comes back.",
    moments: &["not-ready", "node-gone", "cleared", "bound"],
    plays_on: |minor| minor == 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let kubelet = component::kubelet("n1");
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.kill(&kubelet)?;
    // The next kubelet ends the container once more, and nothing is to hold it then.
    drop(hold);
    stage.node_reachable("n1", false).await?;
    stage.at("not-ready", "preemptor").await?;

    stage.delete_node("n1").await?;
    stage.at("node-gone", "preemptor").await?;

    stage.delete_by_force("victim").await?;
    stage.unschedulable("preemptor", "0/1 nodes").await?;
    stage
        .pod("preemptor", "without a nomination", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
    stage.at("cleared", "preemptor").await?;

    stage.start_again(&kubelet)?;
    stage.node_reachable("n1", true).await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
