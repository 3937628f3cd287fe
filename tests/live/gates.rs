//! A server that does not empty the field with the binding, and what is told with and without knowing that.
//!
//! Observed on 1.37.2 with the gate off: the bound Pod shows the nomination until its kubelet first writes the status; then the value
//! and its owner's entry are gone, as on a server before 1.35.

use std::error::Error;
use std::fs;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::plugin::kubectl;

pub(crate) const NAME: &str = "the_gate_as_observed_wins_over_the_version";

const GATE: &str = "ClearingNominatedNodeNameAfterBinding";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// The trial.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let off = format!("--feature-gates={GATE}=false");
    let options = ClusterOptions::new(minor).argument("kube-apiserver", &off);
    clusters.apart(&options, |cluster| {
        // While the kubelet stands still, the field stays.
        cluster.freeze("kubelet-n1")?;
        block_on(bind(cluster))?;
        let standing = explain(cluster, &[])?;
        due(&standing, ["Honoured", "", "Proven"])?;
        cluster.thaw("kubelet-n1")?;
        let folder = tempfile::tempdir()?;
        let (objects, metrics) = (
            folder.path().join("objects"),
            folder.path().join("metrics.txt"),
        );
        block_on(async {
            let admin = cluster.client("admin").await?;
            let taken_up = |pod: &Value| pod["status"]["startTime"].is_string();
            admin
                .watch_until(
                    "Pod hinted taken up",
                    PODS,
                    "metadata.name=hinted",
                    taken_up,
                )
                .await?;
            testkit::collect::collect(cluster, "default", "hinted", &objects).await?;
            fs::write(&metrics, admin.raw("/metrics").await?)?;
            Ok(())
        })?;
        let (objects, metrics) = (
            objects.display().to_string(),
            format!("metrics@kube-apiserver:{}", metrics.display()),
        );
        // The version alone tells the wrong default, and says that it rests on it.
        let unaware = explain(cluster, &["--from", &objects])?;
        due(&unaware, ["NotNominated", "", "Inferred"])?;
        if !unaware["verdict"]["evidence"].to_string().contains(GATE) {
            return Err(format!("it does not say what it rests on: {unaware:#}").into());
        }
        let aware = explain(cluster, &["--from", &objects, "--from", &metrics])?;
        due(&aware, ["Unknown", "trace-wiped", "Inferred"])
    })
}

/// Makes a gated Pod, nominates it to n1 and lets the scheduler at it; returns when it is bound.
async fn bind(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let admin = cluster.client("admin").await?;
    let pod = json!({
        "metadata": {"name": "hinted"},
        "spec": {
            "schedulingGates": [{"name": "example.com/hold"}],
            "containers": [{"name": "c", "image": "busybox"}],
        },
    });
    admin.create(PODS, &pod).await?;
    let hint = json!({"status": {"nominatedNodeName": "n1"}});
    admin
        .merge_patch(&format!("{PODS}/hinted/status"), &hint)
        .await?;
    admin
        .merge_patch(
            &format!("{PODS}/hinted"),
            &json!({"spec": {"schedulingGates": null}}),
        )
        .await?;
    let bound = |pod: &Value| pod["spec"]["nodeName"] == "n1";
    admin
        .watch_until("Pod hinted bound", PODS, "metadata.name=hinted", bound)
        .await?;
    Ok(())
}

fn explain(cluster: &Cluster, more: &[&str]) -> Result<Value, Box<dyn Error>> {
    let mut arguments = vec![
        "nominate", "explain", "hinted", "-n", "default", "-o", "json",
    ];
    arguments.extend(more);
    let run = kubectl(cluster, "viewer", &arguments)?;
    serde_json::from_str(&run.stdout).map_err(|error| format!("{error}: {run:?}").into())
}

fn due(answer: &Value, due: [&str; 3]) -> Result<(), Box<dyn Error>> {
    let found =
        ["kind", "cause", "certainty"].map(|key| answer["verdict"][key].as_str().unwrap_or(""));
    if found == due {
        return Ok(());
    }
    Err(format!("{due:?} is due, found {answer:#}").into())
}
