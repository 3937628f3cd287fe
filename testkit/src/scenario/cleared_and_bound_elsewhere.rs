//! Scenario: a nomination is cleared because its node was closed, and the Pod is bound to another node later.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2. After the clearing nothing in the Pod tells of the nomination; only the
//! victim's event does.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::text;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "cleared-and-bound-elsewhere",
    about: "The nominated node is cordoned, the nomination goes, and the Pod is bound to another node.",
    moments: &["bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.cordon("n1").await?;
    stage.release(hold, "victim").await?;
    stage
        .pod("preemptor", "without a nomination", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
    stage.end("blocker").await?;
    stage.running_on("preemptor", "n2").await?;
    stage.at("bound", "preemptor").await
}
