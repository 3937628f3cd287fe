//! A cluster in the middle of an upgrade: a kubelet and the scheduler are still of the minor before.
//!
//! It must not have rows of its own: what is due does not depend on who is of which minor.

#![expect(
    clippy::disallowed_methods,
    reason = "only the scheduler's log says its version"
)]

use std::error::Error;
use std::fs;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::scenario::SCENARIOS;
use testkit::{Binaries, Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::moments;
use crate::plugin::same;

pub(crate) const NAME: &str = "a_kubelet_and_the_scheduler_of_the_minor_before";

/// What is played.
const SCENARIO: &str = "preemption-with-grace";

/// The trial.
pub(crate) fn works(clusters: &Clusters, newest: &str, before: &str) -> Result<(), Failed> {
    let options = ClusterOptions::new(newest)
        .of_minor("kubelet-n2", before)
        .of_minor("kube-scheduler", before);
    clusters.apart(&options, |cluster| {
        let before = Binaries::of(before)?.version().to_owned();
        same(&versions(cluster)?, &json!([cluster.version(), before]))?;
        let log = fs::read_to_string(cluster.logs().join("kube-scheduler.log"))?;
        if !log.contains(&format!("version=\"{before}\"")) {
            return Err(format!("the scheduler does not say that it is {before}").into());
        }
        let mut scenarios = SCENARIOS.iter();
        let scenario = scenarios.find(|scenario| scenario.name == SCENARIO);
        moments::play(cluster, scenario.ok_or("the scenario has gone")?)
    })
}

/// The versions that the nodes report.
fn versions(cluster: &Cluster) -> Result<Value, Box<dyn Error>> {
    block_on(async {
        let admin = cluster.client("admin").await?;
        let mut versions = Vec::new();
        for name in cluster.nodes() {
            let node = admin.get(&format!("/api/v1/nodes/{name}")).await?;
            versions.push(node["status"]["nodeInfo"]["kubeletVersion"].clone());
        }
        Ok(Value::Array(versions))
    })
}
