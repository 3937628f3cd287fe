//! `features probe` on a 1.37 control plane: a pool that has a feature, one that does not, and one whose list is not true.
//!
//! The namespace takes Pods of the restricted standard only. What is due was written down before it ran. It must leave no Pod
//! behind, whatever ends it, and looks whether it did.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::plugin::{Run, kubectl};
use crate::skew::{due, list, word};

pub(crate) const NAME: &str = "probe_finds_the_pool_that_lacks_a_feature";

const FEATURE: &str = "RestartAllContainersOnContainerExits";
const PODS: &str = "/api/v1/namespaces/probes/pods";

/// The fake runtime has no ids for images with a tag.
const ALWAYS: [&str; 8] = [
    "-n",
    "probes",
    "--image",
    "busybox",
    "--pool-label",
    "example.com/pool",
    "-o",
    "json",
];

/// The trial.
pub(crate) fn works(clusters: &Clusters, minors: &[String]) -> Result<(), Failed> {
    let [.., oldest, _, newest] = minors else {
        return Err("three minors are needed".into());
    };
    let options = ClusterOptions::new(newest)
        .nodes(&["n1", "n2", "n3"])
        .argument("kubelet-n2", &format!("--feature-gates={FEATURE}=false"))
        .of_minor("kubelet-n3", oldest);
    clusters.apart(&options, |cluster| {
        prepare(cluster)?;
        placement(cluster)?;
        updates(cluster)?;
        dry_runs(cluster)?;
        refusals(cluster)?;
        a_kubelet_that_knows_better_refuses(cluster)?;
        nothing_is_left_in_time(cluster)?;
        nothing_is_left_after_a_signal(cluster)?;
        a_lost_connection_is_waited_for(cluster)?;
        the_next_run_removes_what_a_killed_one_left(cluster)
    })
}

/// A pool a node, and a list that somebody wrote for a kubelet that writes none.
fn prepare(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    block_on(async {
        let admin = cluster.client("admin").await?;
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let namespace = json!({"metadata": {"name": "probes", "labels": labels}});
        admin.create("/api/v1/namespaces", &namespace).await?;
        for (node, pool) in [("n1", "blue"), ("n2", "green"), ("n3", "red")] {
            let labels = json!({"metadata": {"labels": {"example.com/pool": pool}}});
            admin
                .merge_patch(&format!("/api/v1/nodes/{node}"), &labels)
                .await?;
        }
        let list = json!({"status": {"declaredFeatures": [FEATURE]}});
        admin.merge_patch("/api/v1/nodes/n3/status", &list).await?;
        Ok(())
    })
}

/// Runs a probe; nothing is left behind it.
fn probe(cluster: &Cluster, feature: &str, more: &[&str]) -> Result<(Run, Value), Box<dyn Error>> {
    let run = probe_by(cluster, "admin", feature, more)?;
    let answer = serde_json::from_str(&run.stdout).map_err(|_| format!("{run:?}"))?;
    Ok((run, answer))
}

fn probe_by(
    cluster: &Cluster,
    user: &str,
    feature: &str,
    more: &[&str],
) -> Result<Run, Box<dyn Error>> {
    let command = ["features", "probe", "--feature", feature];
    let run = kubectl(cluster, user, &[&command[..], &ALWAYS, more].concat())?;
    nothing_is_left(cluster)?;
    Ok(run)
}

fn nothing_is_left(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let left = pods(cluster)?;
    due("Pods that are left", &left, &Vec::new())
}

fn pods(cluster: &Cluster) -> Result<Vec<String>, Box<dyn Error>> {
    let run = kubectl(
        cluster,
        "admin",
        &["get", "pods", "-n", "probes", "-o", "name"],
    )?;
    due("code of get pods", &run.code, &Some(0))?;
    Ok(run.stdout.lines().map(str::to_owned).collect())
}

/// The status of each check, by pool and id.
fn statuses(answer: &Value) -> BTreeMap<(String, String), String> {
    let checks = list(&answer["checks"]).iter();
    let row = |check: &Value| {
        let title = word(&check["title"]);
        let pool = title.split(':').next().unwrap_or_default();
        let pool = pool.trim_start_matches("pool ").to_owned();
        let id = word(&check["id"]).to_owned();
        ((pool, id), word(&check["status"]).to_owned())
    };
    checks.map(row).collect()
}

fn expected(rows: &[(&str, &[(&str, &str)])]) -> BTreeMap<(String, String), String> {
    let rows = rows.iter().flat_map(|(pool, checks)| {
        let row = |(id, status): &(&str, &str)| {
            (((*pool).to_owned(), (*id).to_owned()), (*status).to_owned())
        };
        checks.iter().map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

fn placement(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let (run, answer) = probe(cluster, FEATURE, &[])?;
    let due_statuses = expected(&[
        (
            "blue",
            &[
                ("declared", "Pass"),
                ("control-pod", "Pass"),
                ("placed", "Pass"),
                ("running", "Pass"),
            ],
        ),
        (
            "green",
            &[
                ("declared", "Fail"),
                ("control-pod", "Pass"),
                ("placed", "Fail"),
                ("running", "Skipped"),
            ],
        ),
        // The scheduler believes the list, and a kubelet of 1.35 does not look.
        (
            "red",
            &[
                ("declared", "Fail"),
                ("control-pod", "Pass"),
                ("placed", "Fail"),
                ("running", "Fail"),
            ],
        ),
    ]);
    due(
        &format!("{}", answer["checks"]),
        &statuses(&answer),
        &due_statuses,
    )?;
    due("code", &run.code, &Some(3))?;
    let checks = list(&answer["checks"]).iter();
    let measured = checks.flat_map(|check| list(&check["findings"]));
    let metrics = measured.filter(|finding| finding["measurement"]["value"].as_f64().is_some());
    due("times that were measured", &metrics.count(), &7)?;
    let (run, answer) = probe(cluster, FEATURE, &["--pool", "blue"])?;
    due("code of a pool", &run.code, &Some(0))?;
    due("result of a pool", &answer["result"], &json!("Pass"))
}

fn updates(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let (run, answer) = probe(cluster, "InPlacePodLevelResourcesVerticalScaling", &[])?;
    let update = |answer: &Value, pool: &str| {
        let key = (pool.to_owned(), "update".to_owned());
        statuses(answer).get(&key).cloned().unwrap_or_default()
    };
    due("code", &run.code, &Some(3))?;
    let due_updates = ["Pass", "Pass", "Fail"].map(str::to_owned);
    let found = ["blue", "green", "red"].map(|pool| update(&answer, pool));
    due(
        &format!("updates: {}", answer["checks"]),
        &found,
        &due_updates,
    )?;
    let refusal = "pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node \\\"n3\\\"";
    due(
        "the server's words",
        &answer.to_string().contains(refusal),
        &true,
    )?;
    revive(cluster, &["n1", "n2"])?;
    let blue = ["--pool", "blue"];
    let (run, answer) = probe(cluster, "InPlacePodVerticalScalingInitContainers", &blue)?;
    revive(cluster, &["n1"])?;
    due(
        &format!("init containers: {}", answer["checks"]),
        &run.code,
        &Some(0),
    )?;
    // Its gate is off everywhere.
    let (run, answer) = probe(
        cluster,
        "InPlacePodVerticalScalingMemoryBackedVolumes",
        &blue,
    )?;
    due("code without the gate", &run.code, &Some(3))?;
    due(
        "update without the gate",
        &update(&answer, "blue").as_str(),
        &"Fail",
    )?;
    let (run, answer) = probe(cluster, "VolumeBindMountOptions", &blue)?;
    due("code without the gate", &run.code, &Some(3))?;
    let placed = statuses(&answer).remove(&("blue".to_owned(), "placed".to_owned()));
    due(
        &format!("placed: {}", answer["checks"]),
        &placed.as_deref(),
        &Some("Unknown"),
    )
}

/// A kubelet of 1.37.2 that manages no cgroups (`cgroupsPerQOS: false`, as here) panics when it carries out an update of resources:
/// `doPodResizeAction` reads a configuration that there is not (`pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
fn revive(cluster: &Cluster, nodes: &[&str]) -> Result<(), Box<dyn Error>> {
    for node in nodes {
        let kubelet = format!("kubelet-{node}");
        cluster.kill(&kubelet)?;
        cluster.start_again(&kubelet)?;
    }
    Ok(())
}

fn dry_runs(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    for (strategy, status) in [("client", "Skipped"), ("server", "Pass")] {
        let strategy = format!("--dry-run={strategy}");
        let (_, answer) = probe(cluster, FEATURE, &["--pool", "blue", &strategy])?;
        let due_statuses = expected(&[(
            "blue",
            &[
                ("declared", "Pass"),
                ("control-pod", status),
                ("placed", status),
            ],
        )]);
        due(&strategy, &statuses(&answer), &due_statuses)?;
        due("plan", &list(&answer["plan"]).len(), &2)?;
    }
    Ok(())
}

fn refusals(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let run = probe_by(cluster, "viewer", FEATURE, &[])?;
    let is_told = run.stderr.contains("you may not: create pods -n probes");
    due(
        &format!("what is denied: {}", run.stderr),
        &(run.code, is_told),
        &(Some(1), true),
    )?;
    let run = probe_by(cluster, "admin", FEATURE, &["-n", "absent"])?;
    due(&format!("usage: {}", run.stderr), &run.code, &Some(2))?;
    let command = ["features", "probe", "--feature", FEATURE, "-n", "absent"];
    let run = kubectl(cluster, "admin", &command)?;
    let is_told = run
        .stderr
        .starts_with("Error from server (NotFound): namespaces \"absent\" not found");
    due(
        &format!("no namespace: {}", run.stderr),
        &(run.code, is_told),
        &(Some(1), true),
    )?;
    // An API server whose gate is off says so before the namespace's standard would.
    let privileged = ["--allow-privileged-namespace", "--pool", "blue"];
    let (run, answer) = probe(cluster, "UserNamespacesHostNetworkSupport", &privileged)?;
    due("code", &run.code, &Some(3))?;
    let is_told = answer
        .to_string()
        .contains("hostNetwork: Forbidden: when `hostUsers` is false");
    due(&format!("refused: {answer}"), &is_told, &true)
}

/// Nobody decides while the scheduler stands still.
fn nothing_is_left_in_time(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    cluster.freeze("kube-scheduler")?;
    let ended = probe(cluster, FEATURE, &["--pool", "blue", "--timeout", "2s"]);
    cluster.thaw("kube-scheduler")?;
    let (run, answer) = ended?;
    due("code", &run.code, &Some(5))?;
    let due_statuses = expected(&[(
        "blue",
        &[
            ("declared", "Pass"),
            ("control-pod", "Unknown"),
            ("placed", "Unknown"),
            ("running", "Skipped"),
        ],
    )]);
    due("statuses", &statuses(&answer), &due_statuses)
}

/// A probe of a pool that goes on, when a Pod of it is as wanted.
fn going(
    cluster: &Cluster,
    pool: &str,
    more: &[&str],
    wanted: impl Fn(&Value) -> bool,
) -> Result<Child, Box<dyn Error>> {
    let going = Command::new(env!("CARGO_BIN_EXE_kubectl-features"))
        .args(["probe", "--feature", FEATURE, "--pool", pool])
        .args(ALWAYS)
        .args(more)
        .env_clear()
        .env("KUBECONFIG", cluster.kubeconfig("admin"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    block_on(async {
        let admin = cluster.client("admin").await?;
        admin
            .watch_until("the probe's Pods", PODS, "", wanted)
            .await?;
        Ok(())
    })?;
    Ok(going)
}

/// It is the second one that is made.
fn is_second(pod: &Value) -> bool {
    word(&pod["metadata"]["name"]).ends_with("-needs")
}

/// A probe that waits for a scheduler that stands still, when both of its Pods are there.
fn waiting(cluster: &Cluster, more: &[&str]) -> Result<Child, Box<dyn Error>> {
    going(cluster, "blue", more, is_second)
}

/// The scheduler believes a list that the kubelet, which stands still meanwhile, did not write.
fn a_kubelet_that_knows_better_refuses(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    cluster.freeze("kubelet-n2")?;
    let placed = block_on(async {
        let admin = cluster.client("admin").await?;
        let list = json!({"status": {"declaredFeatures": [FEATURE]}});
        admin.merge_patch("/api/v1/nodes/n2/status", &list).await?;
        Ok(())
    })
    .and_then(|()| {
        let is_bound = |pod: &Value| is_second(pod) && pod["spec"]["nodeName"] == "n2";
        going(cluster, "green", &[], is_bound)
    });
    cluster.thaw("kubelet-n2")?;
    let output = placed?.wait_with_output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    due("code", &output.status.code(), &Some(3))?;
    let mut found = statuses(&answer);
    let of = |id: &str| ("green".to_owned(), id.to_owned());
    let found = ["control-pod", "placed", "running"].map(|id| found.remove(&of(id)));
    let due_statuses = ["Pass", "Pass", "Fail"].map(|status| Some(status.to_owned()));
    due(&format!("{}", answer["checks"]), &found, &due_statuses)?;
    let is_told = answer
        .to_string()
        .contains("PodFeatureUnsupported: Pod was rejected: ");
    due("the kubelet's words", &is_told, &true)?;
    nothing_is_left(cluster)
}

fn nothing_is_left_after_a_signal(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        cluster.freeze("kube-scheduler")?;
        let ended = waiting(cluster, &[]).and_then(|mut going| {
            let kill = format!("kill -{signal} {}", going.id());
            Command::new("sh").args(["-c", &kill]).status()?;
            Ok(going.wait()?.code())
        });
        cluster.thaw("kube-scheduler")?;
        due(signal, &ended?, &Some(code))?;
        nothing_is_left(cluster)?;
    }
    Ok(())
}

/// The server stands still while the probe takes back what it made, until the probe has said that it hears nothing.
fn a_lost_connection_is_waited_for(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    cluster.freeze("kube-scheduler")?;
    let mut going = waiting(cluster, &["--request-timeout", "1s"])?;
    cluster.freeze("kube-apiserver")?;
    let kill = format!("kill -INT {}", going.id());
    let killed = Command::new("sh").args(["-c", &kill]).status();
    let said = going.stderr.take().ok_or("its errors go nowhere")?;
    let mut lines = BufReader::new(said).lines();
    let first = lines.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line.ends_with("trying again"))
    });
    cluster.thaw("kube-apiserver")?;
    cluster.thaw("kube-scheduler")?;
    killed?;
    due("whether the loss was told", &first.is_some(), &true)?;
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    due(
        &format!("code: {rest:?}"),
        &going.wait()?.code(),
        &Some(130),
    )?;
    nothing_is_left(cluster)
}

fn the_next_run_removes_what_a_killed_one_left(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    cluster.freeze("kube-scheduler")?;
    let killed = waiting(cluster, &["--timeout", "8s", "--ttl", "8s"]).and_then(|mut going| {
        going.kill()?;
        Ok(going.wait()?)
    });
    cluster.thaw("kube-scheduler")?;
    killed?;
    due("Pods of the killed run", &pods(cluster)?.len(), &2)?;
    // What is not left behind for long enough may be another run's.
    let (run, _) = unswept(cluster)?;
    due("what is said of a young one", &run.stderr.as_str(), &"")?;
    due("Pods of the killed run", &pods(cluster)?.len(), &2)?;
    // Their kubelet ends them in time, though nobody removes them.
    block_on(async {
        let admin = cluster.client("admin").await?;
        for name in pods(cluster)? {
            let selector = format!("metadata.name={}", name.trim_start_matches("pod/"));
            let is_over = |pod: &Value| pod["status"]["reason"] == "DeadlineExceeded";
            admin
                .watch_until("the end of a Pod", PODS, &selector, is_over)
                .await?;
        }
        Ok(())
    })?;
    let (run, _) = probe(cluster, FEATURE, &["--pool", "blue"])?;
    let removed = run
        .stderr
        .matches(", which a run before left behind")
        .count();
    due(&format!("what was removed: {}", run.stderr), &removed, &2)
}

/// A run beside Pods that are there.
fn unswept(cluster: &Cluster) -> Result<(Run, Value), Box<dyn Error>> {
    let command = ["features", "probe", "--feature", FEATURE, "--pool", "blue"];
    let run = kubectl(cluster, "admin", &[&command[..], &ALWAYS].concat())?;
    let answer = serde_json::from_str(&run.stdout).map_err(|_| format!("{run:?}"))?;
    Ok((run, answer))
}
