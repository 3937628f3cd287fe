//! A roll-out over three pools of real kubelets: a guard lets a step pass that does what it should, and stops at one that does not.
//!
//! What is due is written before it is looked at; a guard that watches is started before the thing that it has to see.

use std::error::Error;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::declared;
use crate::explained::restarting;
use crate::machinery::block_on;
use crate::plugin::{Run, kubectl};
use crate::skew::{due, list, reach, word};

pub(crate) const NAME: &str = "guard_stops_a_roll_out_that_goes_wrong";

/// The pools, and their nodes.
const POOLS: [(&str, &[&str]); 3] = [
    ("blue", &["n1", "n2"]),
    ("green", &["n3"]),
    ("red", &["n4"]),
];

/// On by default; a Pod may require it.
const BROKEN: &str = "RestartAllContainersOnContainerExits";

/// Pods that no scheduler places are looked at as they are.
const PODS: &str = "/api/v1/namespaces/default/pods";

/// The trial.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let nodes = ["n1", "n2", "n3", "n4"];
    let mut options = ClusterOptions::new(minor).nodes(&nodes);
    // Its step over the pools is another where no kubelet declares anything by default.
    let rolled_out = match minor {
        "1.35" => None,
        "1.36" => {
            // It has no feature that is off by default and that a kubelet here could declare.
            let feature = "ExtendWebSocketsToKubelet";
            let off = format!("--feature-gates={feature}=false");
            for node in nodes {
                options = options.argument(&format!("kubelet-{node}"), &off);
            }
            Some(feature)
        }
        _ => Some("InPlacePodVerticalScalingMemoryBackedVolumes"),
    };
    clusters.apart(&options, |cluster| {
        for (pool, nodes) in POOLS {
            for node in nodes {
                let label = format!("pool={pool}");
                let run = kubectl(cluster, "admin", &["label", "node", node, &label])?;
                due("exit code of a label", &run.code, &Some(0))?;
            }
        }
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("before.json");
        let run = guard(cluster, "admin", &["baseline"])?;
        due(&format!("exit code: {}", run.stdout), &run.code, &Some(0))?;
        std::fs::write(&file, &run.stdout)?;

        nothing_changed(cluster, &file)?;
        those_who_may_not_see_are_told(cluster, &file)?;
        let Some(rolled_out) = rolled_out else {
            return where_nothing_is_declared(cluster, &file, minor);
        };
        a_step_that_works(cluster, &file, minor, rolled_out)?;
        a_step_that_breaks(cluster, &file, minor)?;
        a_pod_that_waits(cluster, &file)?;
        a_kubelet_that_refuses(cluster, &file)
    })
}

fn nothing_changed(cluster: &Cluster, file: &Path) -> Result<(), Box<dyn Error>> {
    let (code, answer) = against(cluster, "admin", file, &[])?;
    due(&format!("exit code: {answer:#}"), &code, &Some(0))?;
    for check in list(&answer["checks"]) {
        let id = word(&check["id"]);
        // No Pod was there to be placed.
        let is_quiet = id == "attempt-latency";
        let status = if is_quiet { "Skipped" } else { "Pass" };
        due(id, &word(&check["status"]), &status)?;
        for finding in list(&check["findings"]) {
            let measured = &finding["measurement"];
            due(id, &measured["value"], &measured["baseline"])?;
        }
        due(id, &list(&check["findings"]).is_empty(), &is_quiet)?;
    }
    // It looks until its time is over, and no longer.
    let (code, _) = against(cluster, "admin", file, &["--for", "2s", "--every", "1s"])?;
    due("exit code of a quiet watch", &code, &Some(0))
}

/// What is denied is unknown, and no pass.
fn those_who_may_not_see_are_told(cluster: &Cluster, file: &Path) -> Result<(), Box<dyn Error>> {
    let (code, answer) = against(cluster, "nobody", file, &[])?;
    due(&format!("exit code: {answer:#}"), &code, &Some(5))?;
    let statuses: Vec<&str> = list(&answer["checks"])
        .iter()
        .map(|check| word(&check["status"]))
        .collect();
    due(
        "what nobody knows",
        &statuses.iter().all(|it| *it == "Unknown"),
        &true,
    )
}

/// One pool gets the feature, node by node. In its middle its kubelets differ, which is a warning.
fn a_step_that_works(
    cluster: &Cluster,
    file: &Path,
    minor: &str,
    rolled_out: &str,
) -> Result<(), Box<dyn Error>> {
    for (node, odd) in [("n1", "Fail"), ("n2", "Pass")] {
        again(
            cluster,
            node,
            minor,
            &format!("{rolled_out}=true"),
            |list| list.contains(rolled_out),
        )?;
        let (code, answer) = against(cluster, "admin", file, &["--min-sample", "1"])?;
        due(&format!("exit code: {answer:#}"), &code, &Some(0))?;
        due(
            "kubelets of the pool",
            &status(&answer, "odd-fingerprints"),
            &odd.to_owned(),
        )?;
        let declares = status(&answer, "missing-declarations");
        due("declarations", &declares, &"Pass".to_owned())?;
    }
    Ok(())
}

/// 1.35: the gate is alpha. Turned on in a pool its kubelets declare, and turned off again they leave the list behind, which is found.
fn where_nothing_is_declared(
    cluster: &Cluster,
    file: &Path,
    minor: &str,
) -> Result<(), Box<dyn Error>> {
    const DECLARED: &str = "GuaranteedQoSPodCPUResize";
    let is_there = |list: &str| list.contains(DECLARED);
    for node in ["n1", "n2"] {
        again(cluster, node, minor, "NodeDeclaredFeatures=true", is_there)?;
        let (code, answer) = against(cluster, "admin", file, &["--min-sample", "1"])?;
        due(&format!("exit code: {answer:#}"), &code, &Some(0))?;
    }
    again(cluster, "n1", minor, "NodeDeclaredFeatures=false", is_there)?;
    let (code, answer) = against(cluster, "admin", file, &["--min-sample", "1"])?;
    due(&format!("exit code: {answer:#}"), &code, &Some(3))?;
    let findings = findings(&answer, "stale-declarations");
    let subjects: Vec<&str> = findings.iter().map(|it| word(&it["subject"])).collect();
    let version = format!("v{}", cluster.version().trim_start_matches('v'));
    due(
        "where",
        &subjects,
        &vec![format!("pool blue {version}").as_str()],
    )?;
    due(
        "how much",
        &findings[0]["measurement"]["value"],
        &json!(0.5),
    )
}

/// The next pool loses a feature, while a guard watches.
fn a_step_that_breaks(cluster: &Cluster, file: &Path, minor: &str) -> Result<(), Box<dyn Error>> {
    let mut watching = Watching::start(cluster, file)?;
    again(cluster, "n3", minor, &format!("{BROKEN}=false"), |list| {
        !list.contains(BROKEN)
    })?;
    let (code, answer) = watching.end()?;
    due(&format!("exit code: {answer:#}"), &code, &Some(3))?;
    // One node alone shows nothing, unless somebody says so.
    let (code, of_one) = against(cluster, "admin", file, &[])?;
    due(&format!("exit code: {of_one:#}"), &code, &Some(5))?;
    let declares = status(&of_one, "missing-declarations");
    due("declarations", &declares, &"Unknown".to_owned())?;

    let findings = findings(&answer, "missing-declarations");
    let subjects: Vec<&str> = findings.iter().map(|it| word(&it["subject"])).collect();
    let version = format!("v{}", cluster.version().trim_start_matches('v'));
    due(
        "where",
        &subjects,
        &vec![format!("pool green {version} {BROKEN}").as_str()],
    )?;
    let measured = json!({
        "metric": "missing_declaration_share",
        "baseline": 0.0,
        "value": 1.0,
        "threshold": 0.1,
        "sample": 1,
    });
    due("how much", &findings[0]["measurement"], &measured)?;
    let evidence = findings[0]["evidence"].to_string();
    due("which node", &evidence.contains("n3"), &true)
}

/// A Pod that its own words allow on nodes of two pools, and that fits neither. The scheduler says of which nodes it did not even think.
fn a_pod_of_several_pools(
    cluster: &Cluster,
    file: &Path,
    flags: &[&str],
) -> Result<(), Box<dyn Error>> {
    let green =
        json!({"matchExpressions": [{"key": "pool", "operator": "In", "values": ["green"]}]});
    let first =
        json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]});
    let mut pod = restarting(
        "of-several",
        &json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [green, first],
        }}}}),
    );
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1000"}});
    let said = block_on(async {
        let admin = cluster.client("admin").await?;
        admin.create(PODS, &pod).await?;
        let is_refused = |pod: &Value| {
            let mut conditions = list(&pod["status"]["conditions"]).iter();
            conditions.any(|it| it["reason"] == "Unschedulable")
        };
        let selector = "metadata.name=of-several";
        let pod = admin
            .watch_until("a refusal", PODS, selector, is_refused)
            .await?;
        Ok(pod)
    })?;
    let said = said["status"]["conditions"].to_string();
    let due_words = "2 node(s) didn't match Pod's node affinity/selector";
    due(&said, &said.contains(due_words), &true)?;
    let (code, answer) = against(cluster, "admin", file, flags)?;
    due(&format!("exit code: {answer:#}"), &code, &Some(3))?;
    let counts: Vec<(String, String)> = findings(&answer, "pending-pods")
        .iter()
        .map(|it| {
            (
                word(&it["subject"]).to_owned(),
                it["measurement"]["value"].to_string(),
            )
        })
        .collect();
    let due_counts = [
        (BROKEN.to_owned(), "2.0".to_owned()),
        (format!("pool green {BROKEN}"), "1.0".to_owned()),
    ];
    due(
        "how many of which pool",
        &counts.as_slice(),
        &&due_counts[..],
    )?;
    let evidence = findings(&answer, "pending-pods")[0]["evidence"].to_string();
    due(
        "what is told",
        &evidence.contains("1 of them are of no pool"),
        &true,
    )
}

/// A Pod that only fits the broken pool waits, and is named; the scheduler's own count says the same.
fn a_pod_that_waits(cluster: &Cluster, file: &Path) -> Result<(), Box<dyn Error>> {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "needs-it", "namespace": "default"},
        "spec": {
            "nodeSelector": {"pool": "green"},
            "restartPolicy": "Never",
            "containers": [{
                "name": "c",
                "image": "none",
                "restartPolicy": "Never",
                "restartPolicyRules": [{
                    "action": "RestartAllContainers",
                    "exitCodes": {"operator": "In", "values": [42]},
                }],
            }],
        },
    });
    block_on(async {
        let admin = cluster.client("admin").await?;
        admin.create(PODS, &pod).await?;
        let is_refused = |pod: &Value| {
            let mut conditions = list(&pod["status"]["conditions"]).iter();
            conditions.any(|it| it["reason"] == "Unschedulable")
        };
        let selector = "metadata.name=needs-it";
        admin
            .watch_until("a refusal", PODS, selector, is_refused)
            .await?;
        Ok(())
    })?;
    let flags = [
        "--min-sample",
        "1",
        "--select",
        "pending-pods,scheduling-refusals",
    ];
    let (code, answer) = against(cluster, "admin", file, &flags)?;
    due(&format!("exit code: {answer:#}"), &code, &Some(3))?;
    let findings = findings(&answer, "pending-pods");
    due("of which feature", &findings[0]["subject"], &json!(BROKEN))?;
    let evidence = findings[0]["evidence"].to_string();
    due("which Pod", &evidence.contains("default/needs-it"), &true)?;
    let of_pool = format!("pool green {BROKEN}");
    due("of which pool", &findings[1]["subject"], &json!(of_pool))?;
    due("of how many", &findings.len(), &2)?;
    let refused = &self::findings(&answer, "scheduling-refusals")[0];
    let numbers = [
        &refused["measurement"]["value"],
        &refused["measurement"]["baseline"],
    ];
    due("how many", &numbers, &[&json!(1.0), &json!(0.0)])?;
    due("of whom", &refused["subject"], &json!("kube-scheduler/it"))?;
    // Who expects it says so.
    let expected = [
        "--threshold",
        "pending-pods=1",
        "--threshold",
        "scheduling-refusals=+1",
    ];
    let (code, _) = against(cluster, "admin", file, &[&flags[..], &expected].concat())?;
    due("exit code with a threshold", &code, &Some(0))?;
    let flags = ["--min-sample", "1", "--select", "pending-pods"];
    a_pod_of_several_pools(cluster, file, &flags)
}

/// A Pod that somebody binds past the scheduler is refused by its kubelet, and named.
fn a_kubelet_that_refuses(cluster: &Cluster, file: &Path) -> Result<(), Box<dyn Error>> {
    let pod = restarting("refused", &json!({"nodeName": "n3"}));
    block_on(async {
        let admin = cluster.client("admin").await?;
        admin.create(PODS, &pod).await?;
        let is_refused = |pod: &Value| pod["status"]["reason"] == "PodFeatureUnsupported";
        let selector = "metadata.name=refused";
        admin
            .watch_until("its refusal", PODS, selector, is_refused)
            .await?;
        Ok(())
    })?;
    // Its own count says so as well, and keeps it when the Pod is gone; docs/guard.md tells what keeps a guard from reading it.
    let counted = block_on(async {
        let admin = cluster.client("admin").await?;
        Ok(admin.raw("/api/v1/nodes/n3/proxy/metrics").await?)
    })?;
    let line = "kubelet_admission_rejections_total{reason=\"PodFeatureUnsupported\"} 1";
    due("its count", &counted.lines().any(|it| it == line), &true)?;
    let flags = ["--min-sample", "1", "--select", "kubelet-refusals"];
    let (code, answer) = against(cluster, "admin", file, &flags)?;
    due(&format!("exit code: {answer:#}"), &code, &Some(3))?;
    let findings = findings(&answer, "kubelet-refusals");
    let [finding] = findings.as_slice() else {
        return Err(format!("one pool is due: {answer:#}").into());
    };
    let is_green = word(&finding["subject"]).starts_with("pool green v");
    due("where", &is_green, &true)?;
    let evidence = finding["evidence"].to_string();
    due("which Pod", &evidence.contains("default/refused"), &true)?;
    // It was refused before a baseline of now.
    let run = guard(cluster, "admin", &["baseline"])?;
    let later = file.with_file_name("later.json");
    std::fs::write(&later, &run.stdout)?;
    let (code, answer) = against(cluster, "admin", &later, &flags)?;
    due(&format!("exit code: {answer:#}"), &code, &Some(0))
}

/// Starts a kubelet again with a gate set, and waits until its node's list is as it should be.
fn again(
    cluster: &Cluster,
    node: &str,
    minor: &str,
    gate: &str,
    is_due: impl Fn(&str) -> bool,
) -> Result<(), Box<dyn Error>> {
    let kubelet = format!("kubelet-{node}");
    cluster.stop(&kubelet)?;
    cluster.start_as(&kubelet, minor, &[&format!("--feature-gates={gate}")])?;
    let selector = format!("metadata.name={node}");
    block_on(async {
        let admin = cluster.client("admin").await?;
        let is_due = |node: &Value| is_due(&node["status"]["declaredFeatures"].to_string());
        admin
            .watch_until("its list", "/api/v1/nodes", &selector, is_due)
            .await?;
        Ok(())
    })?;
    declared::beats(cluster, node)
}

/// A guard that looks each second, and ends with its trial.
struct Watching(Child);

impl Watching {
    fn start(cluster: &Cluster, file: &Path) -> Result<Self, Box<dyn Error>> {
        let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-features"));
        let watching = Command::new(plugin)
            .args(["guard", "-o", "json", "--pool-label", "pool"])
            .args(["--min-sample", "1", "--for", "2m", "--every", "1s"])
            .args(reach(cluster))
            .arg("--baseline")
            .arg(file)
            .env_clear()
            .env("KUBECONFIG", cluster.kubeconfig("admin"))
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self(watching))
    }

    /// Waits for its own end; its exit code and its answer.
    fn end(&mut self) -> Result<(Option<i32>, Value), Box<dyn Error>> {
        let mut text = String::new();
        let mut stdout = self.0.stdout.take().ok_or("it has no output")?;
        stdout.read_to_string(&mut text)?;
        let code = self.0.wait()?.code();
        let answer = serde_json::from_str(&text);
        Ok((code, answer.map_err(|_| format!("{code:?}: {text:?}"))?))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn guard(cluster: &Cluster, user: &str, arguments: &[&str]) -> Result<Run, Box<dyn Error>> {
    let last = ["-o", "json", "--pool-label", "pool"];
    // No Pod shows the scheduler here.
    let reach = reach(cluster);
    let reach: Vec<&str> = reach.iter().map(String::as_str).collect();
    let all = [&["features", "guard"], arguments, &last, &reach].concat();
    kubectl(cluster, user, &all)
}

fn against(
    cluster: &Cluster,
    user: &str,
    file: &Path,
    arguments: &[&str],
) -> Result<(Option<i32>, Value), Box<dyn Error>> {
    let file = file.display().to_string();
    let run = guard(cluster, user, &[&["--baseline", &file], arguments].concat())?;
    let answer = serde_json::from_str(&run.stdout);
    Ok((
        run.code,
        answer.map_err(|_| format!("{arguments:?}: {run:?}"))?,
    ))
}

pub(crate) fn check<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let mut checks = list(&answer["checks"]).iter();
    checks
        .find(|check| check["id"] == id)
        .unwrap_or(&Value::Null)
}

pub(crate) fn status(answer: &Value, id: &str) -> String {
    word(&check(answer, id)["status"]).to_owned()
}

fn findings(answer: &Value, id: &str) -> Vec<Value> {
    list(&check(answer, id)["findings"]).to_vec()
}
