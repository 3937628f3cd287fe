//! Whether an API server serves the APIs that gates are about, with its gates on and as `--runtime-config` has it.
//!
//! Nothing is predicted here: what the check `served-api` takes for needed is held against what is really served.

use std::error::Error;

use kube_placement::internals;
use libtest_mimic::Failed;
use serde_json::Value;
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::skew::{due, list};

pub(crate) const NAME: &str = "gates_have_their_apis_where_they_are_served";

const SERVER: &str = "kube-apiserver";

/// Gates with which an API server becomes ready also where their APIs are not served. With `PodCertificateRequest` on 1.35.4 and
/// `GenericWorkload` on 1.36.3 it never does: `informer-sync` waits for what is not served.
const HARMLESS: [&str; 2] = ["ClusterTrustBundle", "StorageVersionMigrator"];

/// What `CompositePodGroup` of 1.37 needs beside.
const BESIDE: &str = "TopologyAwareWorkloadScheduling=true";

/// The trial: with nothing said, and with all versions served.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let number = minor.rsplit('.').next().and_then(|text| text.parse().ok());
    let gates = internals::apis_of_gates(number.ok_or("a minor has a number")?);
    let harmless = gates.iter().filter(|(gate, _)| HARMLESS.contains(gate));
    let harmless: Vec<_> = harmless.copied().collect();
    let options = ClusterOptions::new(minor).argument(SERVER, &on(&harmless));
    clusters.apart(&options, |cluster| {
        for version in versions(&harmless) {
            let is_stable = !version.contains("alpha") && !version.contains("beta");
            due(
                &format!("{version} is served"),
                &is_served(cluster, version)?,
                &is_stable,
            )?;
        }
        Ok(())
    })?;
    let config: Vec<String> = versions(&gates)
        .map(|version| format!("{version}=true"))
        .collect();
    let config = format!("--runtime-config={}", config.join(","));
    let mut flag = on(&gates);
    if gates.iter().any(|(gate, _)| *gate == "CompositePodGroup") {
        flag = format!("{flag},{BESIDE}");
    }
    let options = ClusterOptions::new(minor)
        .argument(SERVER, &flag)
        .argument(SERVER, &config);
    clusters.apart(&options, |cluster| {
        for version in versions(&gates) {
            due(
                &format!("{version} is served as told"),
                &is_served(cluster, version)?,
                &true,
            )?;
        }
        Ok(())
    })
}

type Apis<'g> = [(&'g str, &'g [&'g str])];

fn on(gates: &Apis<'_>) -> String {
    let on: Vec<String> = gates
        .iter()
        .map(|(gate, _)| format!("{gate}=true"))
        .collect();
    format!("--feature-gates={}", on.join(","))
}

fn versions<'g>(gates: &'g Apis<'g>) -> impl Iterator<Item = &'g str> {
    gates
        .iter()
        .flat_map(|(_, versions)| versions.iter().copied())
}

/// Whether a group and version is served with any resource.
fn is_served(cluster: &Cluster, version: &str) -> Result<bool, Box<dyn Error>> {
    let groups: Value = block_on(async {
        let admin = cluster.client("admin").await?;
        Ok::<_, Box<dyn Error>>(admin.get("/apis").await?)
    })?;
    let groups = list(&groups["groups"]).iter();
    let mut known = groups.flat_map(|group| list(&group["versions"]));
    if !known.any(|known| known["groupVersion"] == version) {
        return Ok(false);
    }
    let found: Value = block_on(async {
        let admin = cluster.client("admin").await?;
        Ok::<_, Box<dyn Error>>(admin.get(&format!("/apis/{version}")).await?)
    })?;
    Ok(!list(&found["resources"]).is_empty())
}
