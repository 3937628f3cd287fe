//! Lists of declared features on kubelets of three minors: what the plugin says of each, and what then becomes of it.
//!
//! What is due is written before it is looked at: a list that outlives its gate, its version or its kubelet is called so, and one that
//! is called Fresh is written again by its kubelet. Lists are fetched by kubectl, not by the plugin.

#![expect(
    clippy::disallowed_methods,
    reason = "whether to record is said by the environment"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::normalise::Machine;
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::moments::RECORD;
use crate::plugin::kubectl;
use crate::skew::{due, list, word};

pub(crate) const NAME: &str = "declared_says_what_a_list_is_worth";

const NODES: &str = "/api/v1/nodes";

/// A name that no kubelet declares, and that the API server takes.
const BOGUS: &str = "Bogus";

/// On in the oldest kubelet, which has the mechanism off by default.
const ON: &str =
    "--feature-gates=NodeDeclaredFeatures=true,RestartAllContainersOnContainerExits=true";

/// The trial.
pub(crate) fn works(clusters: &Clusters, minors: &[String]) -> Result<(), Failed> {
    let [.., oldest, before, newest] = minors else {
        return Err("three minors are needed".into());
    };
    let options = ClusterOptions::new(newest)
        .nodes(&["n1", "n2", "n3"])
        .of_minor("kubelet-n2", before)
        .of_minor("kubelet-n3", oldest)
        .argument("kubelet-n3", ON);
    clusters.apart(&options, |cluster| {
        of_living_kubelets(cluster)?;
        those_who_may_not_see_are_told(cluster)?;
        a_bundle_says_the_same(cluster)?;
        a_hand_edit_is_taken_back(cluster)?;
        stale_after_the_gate_is_off(cluster, oldest)?;
        stale_after_a_downgrade(cluster, oldest)?;
        a_silent_kubelet_is_unknown(cluster)
    })
}

fn of_living_kubelets(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let answer = declared(cluster, "admin", &[])?;
    says(&answer, "n1", ["Fresh", "rewritten"])?;
    says(&answer, "n2", ["Fresh", "rewritten"])?;
    says(&answer, "n3", ["Fresh", "rewritten"])?;
    record(cluster, "living", &OBJECTS)?;
    for node in ["n1", "n2", "n3"] {
        let row = row(&answer, node);
        due("its list", &row["features"], &features(cluster, node)?)?;
        due("what it lacks", &row["missing"], &json!([]))?;
        due("what it cannot have", &row["unexpected"], &json!([]))?;
    }
    due("what is the matter", &answer["findings"], &json!([]))
}

/// Who may read no Nodes learns nothing; who may read no kubelet learns nothing of one whose gates decide.
fn those_who_may_not_see_are_told(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let run = kubectl(cluster, "nobody", &["features", "declared", "-o", "json"])?;
    due("exit code of nobody", &run.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    due("what nobody sees", &answer["nodes"], &json!([]))?;
    let denied = list(&answer["coverage"]).iter();
    let denied: Vec<&str> = denied
        .filter(|line| line["state"] == "Denied")
        .map(|line| word(&line["subject"]))
        .collect();
    due("what is denied", &denied, &vec!["leases of nodes", "nodes"])?;
    let run = kubectl(cluster, "viewer", &["features", "declared", "-o", "json"])?;
    due("exit code of the viewer", &run.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    says(&answer, "n1", ["Fresh", "rewritten"])?;
    says(&answer, "n2", ["Unknown", "gates-not-observed"])?;
    says(&answer, "n3", ["Unknown", "gates-not-observed"])
}

fn a_bundle_says_the_same(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let bundle = folder.path().join("bundle.tar.zst").display().to_string();
    let run = kubectl(cluster, "admin", &["features", "collect", "-o", &bundle])?;
    due("exit code of collect", &run.code, &Some(0))?;
    let kept = declared(cluster, "admin", &["--from", &bundle])?;
    let live = declared(cluster, "admin", &[])?;
    for key in ["groups", "pools", "features", "findings", "labels"] {
        due(key, &kept[key], &live[key])?;
    }
    let worth = |answer: &Value| -> Vec<Value> {
        let rows = list(&answer["nodes"]).iter();
        rows.map(|row| {
            json!([
                row["name"],
                row["freshness"],
                row["cause"],
                row["certainty"],
                row["writtenBy"]
            ])
        })
        .collect()
    };
    due("nodes", &worth(&kept), &worth(&live))
}

/// A list is Fresh because its kubelet writes it again: so it does. While the kubelet stands still the edit is seen.
fn a_hand_edit_is_taken_back(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let own = features(cluster, "n1")?;
    cluster.freeze("kubelet-n1")?;
    patch(cluster, "n1", &[BOGUS])?;
    let answer = declared(cluster, "admin", &[])?;
    record(cluster, "edited", &OBJECTS)?;
    cluster.thaw("kubelet-n1")?;
    says(&answer, "n1", ["Stale", "not-of-this-version"])?;
    let row = row(&answer, "n1");
    due("who wrote it", &row["writtenBy"], &json!(["kubectl-patch"]))?;
    due("what it cannot have", &row["unexpected"], &json!([BOGUS]))?;
    wait(cluster, "n1", "its own list", |node| {
        node["status"]["declaredFeatures"] == own
    })?;
    says(
        &declared(cluster, "admin", &[])?,
        "n1",
        ["Fresh", "rewritten"],
    )
}

fn stale_after_the_gate_is_off(cluster: &Cluster, oldest: &str) -> Result<(), Box<dyn Error>> {
    let left = features(cluster, "n3")?;
    cluster.stop("kubelet-n3")?;
    cluster.start_as("kubelet-n3", oldest, &[])?;
    beats(cluster, "n3")?;
    let answer = declared(cluster, "admin", &[])?;
    says(&answer, "n3", ["Stale", "mechanism-off"])?;
    record(cluster, "gate-off", &OBJECTS)?;
    let row = row(&answer, "n3");
    due("certainty", &row["certainty"], &json!("Proven"))?;
    due("its list", &features(cluster, "n3")?, &left)?;
    due("what it cannot have", &row["unexpected"], &left)?;
    // "Never touches the list": neither what is written by hand …
    patch(cluster, "n3", &[BOGUS])?;
    beats(cluster, "n3")?;
    due("its list", &features(cluster, "n3")?, &json!([BOGUS]))?;
    says(
        &declared(cluster, "admin", &[])?,
        "n3",
        ["Stale", "not-of-this-version"],
    )?;
    // … nor what the advice takes away.
    let remove = r#"[{"op":"remove","path":"/status/declaredFeatures"}]"#;
    let run = kubectl(
        cluster,
        "admin",
        &[
            "patch",
            "node",
            "n3",
            "--subresource=status",
            "--type=json",
            "-p",
            remove,
        ],
    )?;
    due("exit code of the patch", &run.code, &Some(0))?;
    beats(cluster, "n3")?;
    due("its list", &features(cluster, "n3")?, &Value::Null)?;
    says(
        &declared(cluster, "admin", &[])?,
        "n3",
        ["Fresh", "nothing-declared"],
    )
}

fn stale_after_a_downgrade(cluster: &Cluster, oldest: &str) -> Result<(), Box<dyn Error>> {
    let left = features(cluster, "n2")?;
    cluster.stop("kubelet-n2")?;
    cluster.start_as("kubelet-n2", oldest, &[])?;
    let minor = format!("v{oldest}.");
    wait(cluster, "n2", "its new version", |node| {
        word(&node["status"]["nodeInfo"]["kubeletVersion"]).starts_with(&minor)
    })?;
    beats(cluster, "n2")?;
    let answer = declared(cluster, "admin", &["--stale"])?;
    says(&answer, "n2", ["Stale", "not-of-this-version"])?;
    record(cluster, "downgraded", &OBJECTS)?;
    due(
        "certainty",
        &row(&answer, "n2")["certainty"],
        &json!("Proven"),
    )?;
    due("its list", &features(cluster, "n2")?, &left)?;
    let run = kubectl(
        cluster,
        "admin",
        &["features", "declared", "--node", "n2", "--fail-on=error"],
    )?;
    due("exit code", &run.code, &Some(3))?;
    // The other advice: a new Node has no list.
    cluster.stop("kubelet-n2")?;
    let run = kubectl(cluster, "admin", &["delete", "node", "n2"])?;
    due("exit code of the deletion", &run.code, &Some(0))?;
    cluster.start_as("kubelet-n2", oldest, &[])?;
    wait(cluster, "n2", "a ready kubelet", is_ready)?;
    says(
        &declared(cluster, "admin", &[])?,
        "n2",
        ["Fresh", "nothing-declared"],
    )
}

fn a_silent_kubelet_is_unknown(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    // A living kubelet may have been heard of in this very second: it is asked what will be in a minute.
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let arguments = ["--max-age", "10s", "--now", &later.to_string()];
    let answer = declared(cluster, "admin", &arguments)?;
    says(&answer, "n1", ["Unknown", "past-max-age"])?;
    cluster.kill("kubelet-n1")?;
    wait(cluster, "n1", "an unknown Ready", |node| {
        ready(node)["status"] == "Unknown"
    })?;
    let answer = declared(cluster, "admin", &[])?;
    says(&answer, "n1", ["Unknown", "kubelet-silent"])?;
    record(cluster, "silent", &OBJECTS)?;
    let advice = answer["findings"].to_string();
    due(
        "the advice to cordon it",
        &advice.contains("kubectl cordon n1"),
        &true,
    )?;
    cluster.start_again("kubelet-n1")?;
    wait(cluster, "n1", "a ready kubelet", is_ready)?;
    says(
        &declared(cluster, "admin", &[])?,
        "n1",
        ["Fresh", "rewritten"],
    )
}

/// What a recorded moment holds.
const OBJECTS: [(&str, &str); 2] = [
    ("nodes", NODES),
    (
        "leases",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    ),
];

/// Keeps what the server answers at a moment, for cases, if that is asked for.
pub(crate) fn record(
    cluster: &Cluster,
    moment: &str,
    objects: &[(&str, &str)],
) -> Result<(), Box<dyn Error>> {
    if std::env::var_os(RECORD).is_none() {
        return Ok(());
    }
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/declared");
    let place = place.join(moment);
    fs::create_dir_all(&place)?;
    let raw = |path: &str| kubectl(cluster, "admin", &["get", "--raw", path]);
    let machine = Machine::from_nodes(&raw(NODES)?.stdout)?;
    for (name, path) in objects {
        let text = machine.normalise(&raw(path)?.stdout);
        fs::write(place.join(format!("{name}.json")), text)?;
    }
    Ok(())
}

/// What the plugin says as data.
fn declared(cluster: &Cluster, user: &str, arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
    let always = ["features", "declared", "-o", "json"];
    let run = kubectl(cluster, user, &[&always[..], arguments].concat())?;
    serde_json::from_str(&run.stdout).map_err(|_| format!("{arguments:?}: {run:?}").into())
}

fn row(answer: &Value, node: &str) -> Value {
    let rows: BTreeMap<&str, &Value> = list(&answer["nodes"])
        .iter()
        .map(|row| (word(&row["name"]), row))
        .collect();
    rows.get(node).copied().cloned().unwrap_or_default()
}

fn says(answer: &Value, node: &str, is_due: [&str; 2]) -> Result<(), Box<dyn Error>> {
    let row = row(answer, node);
    let says = [word(&row["freshness"]), word(&row["cause"])];
    due(&format!("{node}: {row:#}"), &says, &is_due)
}

/// The list of a node, as kubectl has it.
pub(crate) fn features(cluster: &Cluster, node: &str) -> Result<Value, Box<dyn Error>> {
    let run = kubectl(cluster, "admin", &["get", "node", node, "-o", "json"])?;
    let node: Value = serde_json::from_str(&run.stdout)?;
    Ok(node["status"]["declaredFeatures"].clone())
}

/// Writes a list by hand.
fn patch(cluster: &Cluster, node: &str, features: &[&str]) -> Result<(), Box<dyn Error>> {
    let change = json!({"status": {"declaredFeatures": features}}).to_string();
    let run = kubectl(
        cluster,
        "admin",
        &[
            "patch",
            "node",
            node,
            "--subresource=status",
            "--type=merge",
            "-p",
            &change,
        ],
    )?;
    due(
        &format!("exit code of a patch: {run:?}"),
        &run.code,
        &Some(0),
    )
}

fn ready(node: &Value) -> Value {
    let conditions = list(&node["status"]["conditions"]).iter();
    let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
    ready.next().cloned().unwrap_or_default()
}

fn is_ready(node: &Value) -> bool {
    ready(node)["status"] == "True"
}

fn wait(
    cluster: &Cluster,
    node: &str,
    what: &str,
    wanted: impl FnMut(&Value) -> bool,
) -> Result<(), Box<dyn Error>> {
    let selector = format!("metadata.name={node}");
    block_on(async {
        let admin = cluster.client("admin").await?;
        admin.watch_until(what, NODES, &selector, wanted).await?;
        Ok(())
    })
}

/// Waits until the kubelet has written its status twice more: whatever it would write by itself is written then.
pub(crate) fn beats(cluster: &Cluster, node: &str) -> Result<(), Box<dyn Error>> {
    let mut beats: Vec<String> = Vec::new();
    wait(cluster, node, "three more heartbeats", |node| {
        let beat = ready(node)["lastHeartbeatTime"].to_string();
        if beats.last() != Some(&beat) && is_ready(node) {
            beats.push(beat);
        }
        // The first is of before.
        beats.len() > 2
    })
}
