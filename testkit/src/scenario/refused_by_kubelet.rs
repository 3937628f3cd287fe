//! Scenario: a Pod is on a node whose kubelet has no room for it, and is refused.
//!
//! Observed on 1.37.2: the kubelet replaces the whole status, so the condition `PodScheduled` is gone; spec.nodeName
//! stays. The first Pod was bound by a POST to pods/binding, as by a scheduler whose picture of the node is wrong; the
//! second one names its node itself.

use serde_json::json;

use super::{Scenario, ScenarioError, Stage};
use crate::scenario::stage::{wanting, wanting_on};

pub(super) const SCENARIO: Scenario = Scenario {
    name: "refused-by-kubelet",
    about: "Pods come to nodes that cannot take them, and the kubelet refuses them.",
    moments: &[
        "refused",
        "refused-with-node-name",
        "other-labels",
        "forbidden-sysctl",
    ],
    plays_on: |_| true,
    run: |stage| Box::pin(run(stage)),
};

async fn run(stage: &mut Stage<'_>) -> Result<(), ScenarioError> {
    let cpu = stage.cpu_of("n1").await? * 3 / 4;
    stage.create("filler", &wanting_on("n1", cpu)).await?;
    stage.running_on("filler", "n1").await?;

    let mut spec = wanting(cpu);
    // Nobody but this test is to bind it.
    spec["schedulerName"] = json!("nobody-serves-this");
    let bound = stage.create("bound", &spec).await?;
    stage.bind(&bound, "n1").await?;
    stage.refused("bound", "OutOfcpu").await?;
    stage.at("refused", "bound").await?;

    let mut spec = wanting(cpu);
    spec["nodeName"] = json!("n1");
    stage.create("named", &spec).await?;
    stage.refused("named", "OutOfcpu").await?;
    stage.at("refused-with-node-name", "named").await?;

    let mut spec = wanting_on("n2", 100);
    spec["schedulerName"] = json!("nobody-serves-this");
    let elsewhere = stage.create("elsewhere", &spec).await?;
    stage.bind(&elsewhere, "n1").await?;
    stage.refused("elsewhere", "NodeAffinity").await?;
    stage.at("other-labels", "elsewhere").await?;

    let mut spec = wanting(100);
    spec["securityContext"] = json!({"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]});
    stage.create("sysctl", &spec).await?;
    stage.refused("sysctl", "SysctlForbidden").await?;
    stage.at("forbidden-sysctl", "sysctl").await
}
