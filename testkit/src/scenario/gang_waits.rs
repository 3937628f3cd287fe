//! Scenario: a member of a group that is not complete. Plays where gang scheduling is on.
//!
//! Observed on 1.37.2: the lone member gets no condition and no event, as if there were no scheduler. An outsider's hint
//! on it stands, and is followed when the group is complete.

use serde_json::Value;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{member_of, wanting};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "gang-waits",
    about: "A lone member of a group of two waits, is nominated by an outsider, and is bound there when the other comes.",
    moments: &["lone", "hinted", "bound"],
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.pod_group("pair", 2, None).await?;
    let spec = member_of("pair", wanting(100));
    let pod = stage.create("first", &spec).await?;
    // Nothing further will happen, so there is nothing to wait for.
    stage.at("lone", "first").await?;

    stage.nominate(&pod, "n2", &Value::Null).await?;
    stage.at("hinted", "first").await?;

    stage.create("second", &spec).await?;
    stage.running_on("first", "n2").await?;
    stage.at("bound", "first").await
}
