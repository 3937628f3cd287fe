//! Scenario: a Pod preempts again and again, because others take each room that it frees.
//!
//! What takes the room is bound by somebody who does not heed nominations, as a second scheduler does not (public
//! reports; observed on 1.37.2). Each victim takes six seconds to end, so that the preemptions are apart; the last takes longer, so that
//! it can be looked at.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{text, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "preemption-loop",
    about: "A Pod preempts three times, and each time another Pod has taken the room.",
    moments: &["preempting-again", "cleared"],
    // It takes a quarter of a minute; what happens is the same on all minors.
    plays_on: |minor| minor >= 37,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let slow = json!({"preStop": {"sleep": {"seconds": 6}}});
    let slower = json!({"preStop": {"sleep": {"seconds": 12}}});
    let whole = stage.cpu_of("n1").await?;
    stage.occupy(&slow).await?;
    let mut spec = wanting_on("n1", whole * 7 / 8);
    spec["priorityClassName"] = json!("high");
    stage.create("preemptor", &spec).await?;
    stage.leaving("victim").await?;
    for (last, thief, hold) in [
        ("victim", "thief-1", &slow),
        ("thief-1", "thief-2", &slower),
    ] {
        // It fits beside what still terminates, and leaves too little when that has gone.
        stage.take_room(thief, "low", whole / 4, hold).await?;
        stage.gone(last).await?;
        stage.leaving(thief).await?;
    }
    stage.at("preempting-again", "preemptor").await?;

    stage.priority_class("higher", 2000).await?;
    stage
        .take_room("taker", "higher", whole / 4, &Value::Null)
        .await?;
    stage
        .pod("preemptor", "without a nomination", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
    stage.at("cleared", "preemptor").await
}
