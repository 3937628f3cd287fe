//! The verdict due at a moment with the scheduler's log beside the other witness, where it is another one than without; and a trial of the forms
//! that such a log has, of what components say when they start, and of an audit log that is rotated.
//!
//! The log is that of `-v=4`. What a row says was seen on every minor that plays the scenario.

#![expect(
    clippy::disallowed_methods,
    reason = "a recording is asked for by the environment, and made of files"
)]

use std::error::Error;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::normalise::Machine;
use testkit::{Client, Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::moments::RECORD;
use crate::plugin::kubectl;
use crate::rows::Row;
use crate::watch;

pub(crate) const NAME: &str = "logs_tell_of_hints_in_text_and_in_json";

/// Beside the objects.
pub(crate) const BESIDE_FILES: &[Row] = &[
    (
        "deletion-that-is-no-preemption",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    ("gang-preemption", "bound", "Honoured", None, "Inferred"),
    ("gang-waits", "bound", "Honoured", None, "Inferred"),
    (
        "hint-to-absent-node",
        "bound",
        "Moved",
        Some("outside-hint-infeasible"),
        "Inferred",
    ),
    (
        "outside-hint-on-gated-pod",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "victim-in-another-namespace",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
];

/// Beside the audit log, which tells when a hint was written to a microsecond.
pub(crate) const BESIDE_AUDIT: &[Row] = &[
    (
        "hint-to-absent-node",
        "bound",
        "Moved",
        Some("outside-hint-infeasible"),
        "Proven",
    ),
    (
        "infeasible-hint",
        "bound",
        "Moved",
        Some("outside-hint-infeasible"),
        "Inferred",
    ),
    (
        "infeasible-hint",
        "decided-bound",
        "Moved",
        Some("outside-hint-infeasible"),
        "Inferred",
    ),
    (
        "outside-hint-no-wake",
        "bound",
        "Moved",
        Some("outside-hint-infeasible"),
        "Inferred",
    ),
    (
        "prebind-wait",
        "overwritten-bound",
        "Moved",
        Some("outside-hint-late"),
        "Inferred",
    ),
];

const PODS: &str = "/api/v1/namespaces/default/pods";
/// The scheduler whose log is JSON.
const JSON: &str = "json";
/// A gate that all components know, asked for as it is by default.
const ASKED: &str = "--feature-gates=NominatedNodeNameForExpectation=true";

/// Name, scheduler, nominated node, verdict and cause that are due from objects and scheduler's log.
const HINTS: &[(&str, &str, &str, [&str; 3])] = &[
    (
        "text-absent",
        "default-scheduler",
        "no-such-node",
        ["Moved", "outside-hint-infeasible", "Inferred"],
    ),
    (
        "text-kept",
        "default-scheduler",
        "n2",
        ["Honoured", "", "Inferred"],
    ),
    (
        "json-absent",
        JSON,
        "no-such-node",
        ["Moved", "outside-hint-infeasible", "Inferred"],
    ),
    ("json-kept", JSON, "n2", ["Honoured", "", "Inferred"]),
];

/// The trial.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let options = ClusterOptions::new(minor)
        .argument("kube-apiserver", "--v=1")
        .argument("kube-apiserver", "--audit-log-maxsize=1")
        .argument("kubelet", "--v=1")
        .argument(&format!("kube-scheduler-{JSON}"), "--logging-format=json");
    let options = ["kube-apiserver", "kube-scheduler", "kubelet"]
        .iter()
        .fold(options, |options, component| {
            options.argument(component, ASKED)
        });
    clusters.apart(&options, |cluster| {
        cluster.start_scheduler(JSON)?;
        let folder = tempfile::tempdir()?;
        let file = |name: &str| folder.path().join(name).display().to_string();
        let now = block_on(async {
            let admin = cluster.client("admin").await?;
            for (name, scheduler, node, _) in HINTS {
                bind(&admin, name, scheduler, node).await?;
            }
            for (name, path) in [("pods.json", PODS), ("nodes.json", "/api/v1/nodes")] {
                fs::write(file(name), admin.raw(path).await?)?;
            }
            Ok(jiff::Timestamp::now().to_string())
        })?;
        let log = |name: &str| cluster.logs().join(name).display().to_string();
        let logs = [log("kube-scheduler.log"), log("kube-scheduler-json.log")];
        for (name, _, _, due) in HINTS {
            let mut arguments = vec!["nominate", "explain", name, "-n", "default", "-o", "json"];
            let objects = [file("pods.json"), file("nodes.json")];
            for from in objects.iter().chain(&logs) {
                arguments.extend(["--from", from]);
            }
            arguments.extend(["--now", &now]);
            let run = kubectl(cluster, "nobody", &arguments)?;
            let answer: Value =
                serde_json::from_str(&run.stdout).map_err(|error| format!("{error}: {run:?}"))?;
            let verdict = &answer["verdict"];
            let found =
                ["kind", "cause", "certainty"].map(|key| verdict[key].as_str().unwrap_or_default());
            if found != *due {
                return Err(format!("{name}: {due:?} is due, found {answer:#}").into());
            }
        }
        if std::env::var_os(RECORD).is_some() {
            record(cluster, folder.path())?;
        }
        watch::follows_a_rotated_log(cluster)
    })
}

/// Makes a gated Pod, nominates it and lets the scheduler at it; returns when it is bound.
async fn bind(
    admin: &Client,
    name: &str,
    scheduler: &str,
    node: &str,
) -> Result<(), Box<dyn Error>> {
    let pod = json!({
        "metadata": {"name": name},
        "spec": {
            "schedulerName": scheduler,
            "schedulingGates": [{"name": "example.com/hold"}],
            "containers": [{"name": "c", "image": "busybox"}],
        },
    });
    admin.create(PODS, &pod).await?;
    let hint = json!({"status": {"nominatedNodeName": node}});
    let path = format!("{PODS}/{name}");
    admin.merge_patch(&format!("{path}/status"), &hint).await?;
    let ungated = json!({"spec": {"schedulingGates": null}});
    admin.merge_patch(&path, &ungated).await?;
    let selector = format!("metadata.name={name}");
    let bound = |pod: &Value| pod["spec"]["nodeName"].is_string();
    admin
        .watch_until("a bound Pod", PODS, &selector, bound)
        .await?;
    Ok(())
}

/// Keeps what the plain tests read: the objects, what the schedulers said of them, and which flags components said they were given.
fn record(cluster: &Cluster, objects: &Path) -> Result<(), Box<dyn Error>> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recorded/logs")
        .join(cluster.minor());
    fs::create_dir_all(&place)?;
    let machine = Machine::from_nodes(&fs::read_to_string(objects.join("nodes.json"))?)?;
    for name in ["pods.json", "nodes.json"] {
        let text = fs::read_to_string(objects.join(name))?;
        fs::write(place.join(name), machine.normalise(&text))?;
    }
    let is_kept = |line: &&str| {
        let of_pods = HINTS.iter().any(|(name, ..)| line.contains(name));
        // Other flags name the machine's folders.
        let of_gates = line.contains("feature-gates") || line.contains("feature gates");
        of_gates || (of_pods && line.contains("default"))
    };
    for (component, log) in [
        ("kube-apiserver", "kube-apiserver.log"),
        ("kube-scheduler", "kube-scheduler.log"),
        ("kube-scheduler-json", "kube-scheduler-json.log"),
        ("kubelet", "kubelet-n1.log"),
    ] {
        let text = fs::read_to_string(cluster.logs().join(log))?;
        let kept: String = text.split_inclusive('\n').filter(is_kept).collect();
        if kept.is_empty() {
            return Err(format!("{log} has no line to keep").into());
        }
        fs::write(
            place.join(format!("{component}.log")),
            machine.normalise(&kept),
        )?;
    }
    Ok(())
}
