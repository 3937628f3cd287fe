//! `features conformance` against real schedulers: upstream's, and two that are wrong in one thing each.
//!
//! Which trials fail is written down here before they are run. It must leave nothing behind, and looks whether it did.

use std::error::Error;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::wrong_binder::WrongBinder;
use testkit::{Cluster, ClusterOptions, Configured};

use crate::clusters::Clusters;
use crate::plugin::{Run, kubectl};
use crate::skew::due;

pub(crate) const NAME: &str = "conformance_tells_schedulers_apart";

/// What a user may do who may try a scheduler; nobody's Pods but the suite's are touched.
const ALLOWED: &str = "--allow-node-changes";

/// The trial, on minors whose scheduler minds declared features by default.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let options = ClusterOptions::new(minor).nodes(&["n1", "n2"]);
    clusters.apart(&options, |cluster| {
        real_ones_pass(cluster)?;
        fleets_that_are_alike_prove_little(cluster)?;
        one_that_ignores_features_fails(cluster)?;
        one_that_writes_node_names_fails(cluster)?;
        one_that_is_not_there_is_told(cluster)?;
        those_who_may_not_are_told_before(cluster)?;
        it_takes_all_back_when_interrupted(cluster)
    })
}

/// Name of the trial on the oldest minor.
pub(crate) const OLD: &str = "conformance_says_what_an_old_server_cannot_show";

/// The API server does not know the feature, so that nothing about it can be tried; the rest can.
pub(crate) fn on_an_old_server(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let options = ClusterOptions::new(minor).nodes(&["n1", "n2"]);
    clusters.apart(&options, |cluster| {
        let (run, answer) = conformance(cluster, "admin", "default-scheduler", &[ALLOWED])?;
        let unknown = [
            "accepts-declaring-node",
            "names-the-reason",
            "reacts-to-declaration",
            "refuses-lacking-node",
            "treats-undeclared-as-unsupported",
        ];
        due(
            &format!("unknown: {answer}"),
            &ids(&answer, "Unknown"),
            &unknown.to_vec(),
        )?;
        due("passed", &ids(&answer, "Pass").len(), &7)?;
        due("code", &run.code, &Some(5))
    })
}

fn conformance(
    cluster: &Cluster,
    user: &str,
    scheduler: &str,
    more: &[&str],
) -> Result<(Run, Value), Box<dyn Error>> {
    let command = [
        "features",
        "conformance",
        "--scheduler",
        scheduler,
        "-o",
        "json",
    ];
    let run = kubectl(cluster, user, &[&command[..], more].concat())?;
    let answer = serde_json::from_str(&run.stdout).map_err(|error| format!("{error}: {run:?}"))?;
    nothing_is_left(cluster)?;
    Ok((run, answer))
}

/// Objects of the suite have names of their own.
fn nothing_is_left(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    for kind in ["nodes", "priorityclasses"] {
        let names = kubectl(cluster, "admin", &["get", kind, "-o", "name"])?.stdout;
        due(kind, &names.contains("conformance-"), &false)?;
    }
    // The namespace controller may still be at it.
    let namespaces = ["wait", "--for=delete", "--timeout=60s", "namespaces"];
    let names = kubectl(cluster, "admin", &["get", "namespaces", "-o", "name"])?.stdout;
    for name in names.lines().filter(|name| name.contains("conformance-")) {
        let name = name.trim_start_matches("namespace/");
        let run = kubectl(cluster, "admin", &[&namespaces[..], &[name]].concat())?;
        due("end of the namespace", &run.code, &Some(0))?;
    }
    Ok(())
}

/// The ids of checks with a status.
fn ids<'a>(answer: &'a Value, status: &str) -> Vec<&'a str> {
    let checks = answer["checks"].as_array().into_iter().flatten();
    checks
        .filter(|check| check["status"] == status)
        .filter_map(|check| check["id"].as_str())
        .collect()
}

fn real_ones_pass(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let (run, answer) = conformance(cluster, "admin", "default-scheduler", &[ALLOWED])?;
    let checks = &answer["checks"];
    due(
        &format!("result: {checks}"),
        &answer["result"],
        &json!("Pass"),
    )?;
    due("code", &run.code, &Some(0))?;
    due("checks that passed", &ids(&answer, "Pass").len(), &12)?;
    let says = run.stderr.contains("needs: create nodes");
    due(
        &format!("the rights are printed: {}", run.stderr),
        &says,
        &true,
    )
}

/// Every kubelet here declares the same list, so that no node is to be refused.
fn fleets_that_are_alike_prove_little(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let (run, answer) = conformance(cluster, "admin", "default-scheduler", &[])?;
    due("result", &answer["result"], &json!("Incomplete"))?;
    due("code", &run.code, &Some(5))?;
    let unknown = [
        "names-the-reason",
        "refuses-lacking-node",
        "treats-undeclared-as-unsupported",
    ];
    due("unknown", &ids(&answer, "Unknown"), &unknown.to_vec())?;
    due(
        "skipped",
        &ids(&answer, "Skipped"),
        &vec!["reacts-to-declaration"],
    )?;
    due("failed", &ids(&answer, "Fail"), &vec![])
}

fn one_that_ignores_features_fails(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let careless = Configured {
        profile: json!({"plugins": {"multiPoint": {"disabled": [{"name": "NodeDeclaredFeatures"}]}}}),
        whole: Value::Null,
    };
    cluster.start_scheduler_with("careless", &careless)?;
    let (run, answer) = conformance(cluster, "admin", "careless", &[ALLOWED])?;
    due("code", &run.code, &Some(3))?;
    let failed = ["refuses-lacking-node", "treats-undeclared-as-unsupported"];
    due(
        &format!("failed: {answer}"),
        &ids(&answer, "Fail"),
        &failed.to_vec(),
    )
}

fn one_that_writes_node_names_fails(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let binder = WrongBinder::start(&cluster.kubeconfig("admin"))?;
    cluster.start_scheduler_with("unbinding", &binder.configuration())?;
    let (run, answer) = conformance(cluster, "admin", "unbinding", &[ALLOWED])?;
    due("code", &run.code, &Some(3))?;
    let failed = ids(&answer, "Fail");
    due(
        &format!("failed: {answer}"),
        &failed,
        &vec!["binds-by-binding"],
    )
}

/// Nothing can be said of it: one failure, and the rest unknown.
fn one_that_is_not_there_is_told(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let (run, answer) = conformance(cluster, "admin", "nobody", &[ALLOWED, "--timeout", "2s"])?;
    due("code", &run.code, &Some(3))?;
    due(
        "failed",
        &ids(&answer, "Fail"),
        &vec!["schedules-ordinary-pods"],
    )?;
    due("unknown", &ids(&answer, "Unknown").len(), &11)
}

/// No request of theirs changes anything.
fn those_who_may_not_are_told_before(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let command = [
        "features",
        "conformance",
        "--scheduler",
        "default-scheduler",
    ];
    let run = kubectl(cluster, "viewer", &command)?;
    due(&format!("code: {}", run.stderr), &run.code, &Some(1))?;
    let is_told = run.stderr.contains("you may not: ") && run.stderr.contains("create namespaces");
    due(&format!("what is denied: {}", run.stderr), &is_told, &true)?;
    due("stdout", &run.stdout, &String::new())?;
    nothing_is_left(cluster)
}

/// A scheduler that does not exist keeps it waiting, with its Pods there.
fn it_takes_all_back_when_interrupted(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let mut going = Command::new(env!("CARGO_BIN_EXE_kubectl-features"))
        .args(["conformance", "--scheduler", "nobody", ALLOWED])
        .env_clear()
        .env("KUBECONFIG", cluster.kubeconfig("admin"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let waits = ["--for=create", "--timeout=60s", "-n", "conformance-nobody"];
    let waits = [&["wait", "pods/ordinary"][..], &waits].concat();
    let is_there = kubectl(cluster, "admin", &waits)?;
    let interrupt = format!("kill -INT {}", going.id());
    Command::new("sh").args(["-c", &interrupt]).status()?;
    let code = going.wait()?.code();
    due(
        &format!("its Pod: {}", is_there.stderr),
        &is_there.code,
        &Some(0),
    )?;
    due("code", &code, &Some(130))?;
    nothing_is_left(cluster)
}
