//! Scenario: an outsider overwrites a scheduler's nomination while the victim still holds.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: the scheduler is woken, finds the same place again and puts its nomination
//! back within milliseconds. Of the outsider nothing is left in the Pod, not even in managedFields; no second victim is
//! told to end. If he empties the field, it is the same.

use serde_json::Value;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::text;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "overwritten-preemption",
    about: "A preempting Pod's nomination is overwritten and emptied during the wait, and the scheduler puts it back.",
    moments: &["overwritten", "put-back", "bound"],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let hold = stage.hold().await?;
    let preemptor = stage.preempt(&hold.lifecycle()).await?;
    stage.nominate(&preemptor, "n2", &Value::Null).await?;
    // The scheduler's own correction wakes it once more, and only then says so.
    let words = "not eligible due to a terminating pod on the nominated node";
    let pod = stage.unschedulable("preemptor", words).await?;
    let found = text(&pod, "/status/nominatedNodeName");
    if found != "n1" {
        return Err(ScenarioError::Unexpected(format!(
            "the nomination was not put back: {found:?}"
        )));
    }
    stage.at("overwritten", "preemptor").await?;

    stage.take_back(&pod, &Value::Null).await?;
    let version = text(&pod, "/metadata/resourceVersion");
    stage
        .pod("preemptor", "nominated again", |pod| {
            text(pod, "/metadata/resourceVersion") != version
                && text(pod, "/status/nominatedNodeName") == "n1"
        })
        .await?;
    stage.at("put-back", "preemptor").await?;

    stage.release(hold, "victim").await?;
    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
