//! Scenario: the nominated node is cordoned while a Pod waits there for its victim.
//!
//! Observed on 1.37.2: the nomination stands, though nothing will come of it, until the victim has gone. Then the
//! scheduler tries, fails and clears it: the victim ended for nothing. After the node is uncordoned the Pod is bound
//! there, without a nomination. Earlier minors clear it with the cordon, see `cordon_clears_nomination`.

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::text;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "cordon-while-waiting",
    about: "The nominated node is cordoned while a preempting Pod waits for its victim, and uncordoned later.",
    moments: &["cordoned", "cleared", "bound"],
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    stage.preempt(&hold.lifecycle()).await?;
    stage.cordon("n1").await?;
    stage.at("cordoned", "preemptor").await?;

    stage.release(hold, "victim").await?;
    stage
        .unschedulable("preemptor", "1 node(s) were unschedulable")
        .await?;
    stage
        .pod("preemptor", "without a nomination", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
    stage.at("cleared", "preemptor").await?;

    stage.uncordon("n1").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
