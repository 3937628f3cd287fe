//! Scenario: a Pod preempts another one that takes its time to end.
//!
//! On n1 sits a Pod of low priority that holds for some seconds when it is told to end; on n2 one that may not be
//! preempted. So n1 is nominated, and the nomination stands while the victim holds.

use serde_json::{Value, json};

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{text, wanting};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "preemption-with-grace",
    about: "A Pod of high priority waits for its victim's grace period and takes its place.",
    moments: &["waiting", "bound"],
    run: |stage| Box::pin(run(stage)),
};

/// How long the victim holds: enough to look at the moment, and well within its grace period.
const HOLD_SECONDS: u32 = 6;

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    stage.priority_class("low", 100).await?;
    stage.priority_class("high", 1000).await?;

    let filling = |cpu: u64, node: &str, class: &str| {
        let mut spec = wanting(cpu * 3 / 4);
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
        spec["priorityClassName"] = json!(class);
        spec
    };
    let mut victim = filling(stage.cpu_of("n1").await?, "n1", "low");
    victim["containers"][0]["lifecycle"] = json!({"preStop": {"sleep": {"seconds": HOLD_SECONDS}}});
    let blocker = filling(stage.cpu_of("n2").await?, "n2", "high");
    stage.create("blocker", &blocker).await?;
    stage.create("victim", &victim).await?;
    stage.running_on("blocker", "n2").await?;
    stage.running_on("victim", "n1").await?;

    let mut spec = wanting(stage.cpu_of("n1").await? * 3 / 4);
    spec["priorityClassName"] = json!("high");
    stage.create("preemptor", &spec).await?;
    let nominated = stage
        .pod("preemptor", "nominated", |pod| {
            text(pod, "/status/nominatedNodeName") == "n1"
        })
        .await?;
    let leaving = stage
        .pod("victim", "leaving", |pod| {
            let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
            let disrupted = conditions
                .is_some_and(|all| all.iter().any(|one| one["type"] == "DisruptionTarget"));
            disrupted && pod.pointer("/metadata/deletionTimestamp").is_some()
        })
        .await?;
    stage.event(&leaving, "Preempted").await?;
    stage.event(&leaving, "Killing").await?;
    stage.event(&nominated, "FailedScheduling").await?;
    stage.at("waiting", "preemptor").await?;

    stage.running_on("preemptor", "n1").await?;
    stage.at("bound", "preemptor").await
}
