//! Two API servers with other gates on one etcd, each at an address of its own: read there, or told apart behind a balancer.
//!
//! What each says is fetched by kubectl, at its own address. It must not take the plugin's word for how many there are.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::proxy::Proxy;
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::plugin::kubectl;
use crate::skew::{BY_FLAG, Gates, due, features, list, run, runs, says, word};

pub(crate) const NAME: &str = "skew_reaches_every_api_server";

/// Of a range for tests (RFC 2544); nobody's on this machine but the trial's.
const ADDRESSES: [&str; 2] = ["198.18.0.1", "198.18.0.2"];

/// A name that is in the certificates of both.
const SHARED: &str = "kubernetes.default.svc";

/// A name that is in the certificate of the first alone.
const OF_FIRST: &str = "localhost";

/// The trial.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let trial = || {
        let options = ClusterOptions::new(minor)
            .nodes(&["n1"])
            .address(ADDRESSES[0]);
        clusters.apart(&options, |cluster| {
            // Before there is a second server, which would learn of it later.
            grant_metrics(cluster)?;
            let off = format!("--feature-gates={BY_FLAG}=false");
            let other = cluster.start_api_server(ADDRESSES[1], &[&off])?;
            each_is_read_at_its_address(cluster)?;
            a_strange_certificate_costs_one(cluster)?;
            they_are_told_apart_behind_a_balancer(cluster)?;
            a_balancer_that_keeps_to_one_is_told(cluster)?;
            one_that_hangs_costs_itself(cluster, &other)?;
            one_that_goes_away_costs_itself(cluster, &other)
        })
    };
    testkit::network::apart(&ADDRESSES, trial).map_err(|error| error.to_string())?
}

fn url(address: &str) -> String {
    format!("https://{address}:6443")
}

/// A trial's arguments: API servers alone.
const SERVERS: [&str; 2] = ["--component", "kube-apiserver"];

/// What each says of its gates, by the name that its address makes.
fn by_address(cluster: &Cluster) -> Result<BTreeMap<String, Gates>, Box<dyn Error>> {
    let of = |address: &str| {
        let gates = says(cluster, &url(address), "/metrics")?;
        Ok((format!("kube-apiserver/{address}:6443"), gates))
    };
    ADDRESSES.into_iter().map(of).collect()
}

/// The same, by the name that its start makes: a header of its metrics, which a verbose kubectl shows.
fn by_start(cluster: &Cluster) -> Result<BTreeMap<String, Gates>, Box<dyn Error>> {
    const HEADER: &str = "Process-Start-Time-Unix: ";
    let of = |address: &str| {
        let server = url(address);
        let metrics = ["get", "--raw", "/metrics", "--server", &server, "-v=8"];
        let said = kubectl(cluster, "admin", &metrics)?.stderr;
        let seconds = said.split_once(HEADER).map(|(_, rest)| rest);
        let seconds = seconds.and_then(|rest| rest.split_whitespace().next());
        let seconds = seconds.ok_or_else(|| format!("no {HEADER}in {said}"))?;
        let started = jiff::Timestamp::from_second(seconds.parse()?)?;
        let gates = says(cluster, &server, "/metrics")?;
        Ok((format!("kube-apiserver/started-{started}"), gates))
    };
    ADDRESSES.into_iter().map(of).collect()
}

/// Each server of a snapshot runs what it says itself.
fn each_runs_what_it_says(
    snapshot: &Value,
    told: &BTreeMap<String, Gates>,
) -> Result<(), Box<dyn Error>> {
    let found = servers(snapshot);
    let names = |all: &BTreeMap<String, Gates>| all.keys().cloned().collect::<Vec<_>>();
    due("who was read", &names(&found), &names(told))?;
    for (name, gates) in told {
        let is_same = found.get(name) == Some(gates);
        due(&format!("{name} runs what it says"), &is_same, &true)?;
    }
    Ok(())
}

/// The API servers of a snapshot, and what each runs.
fn servers(snapshot: &Value) -> BTreeMap<String, Gates> {
    let mut all = runs(snapshot);
    all.retain(|name, _| name.starts_with("kube-apiserver"));
    all
}

fn names(answer: &Value) -> Vec<&str> {
    list(&answer["components"])
        .iter()
        .map(|row| word(&row["name"]))
        .collect()
}

/// A gate that is on in one and off in the other is an error, with who has it off and why.
fn the_difference_is_an_error(
    answer: &Value,
    told: &BTreeMap<String, Gates>,
) -> Result<(), Box<dyn Error>> {
    let differences = list(&answer["differences"]);
    let found: Vec<&str> = differences.iter().map(|it| word(&it["gate"])).collect();
    due("gates that differ", &found, &vec![BY_FLAG])?;
    let found = differences.first().cloned().unwrap_or_default();
    due("severity", &word(&found["severity"]), &"Error")?;
    let off: Vec<&String> = told
        .iter()
        .filter(|(_, gates)| gates.get(BY_FLAG) == Some(&false))
        .map(|(name, _)| name)
        .collect();
    let values = list(&found["values"]).iter();
    let mut values = values.filter(|it| it["value"] == "False");
    let value = values.next().cloned().unwrap_or_default();
    due("who has it off", &value["components"], &json!(off))?;
    due("why", &word(&value["cause"]), &"Flag")
}

fn each_is_read_at_its_address(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let told = by_address(cluster)?;
    let snapshot = features(cluster, "admin", "snapshot", &[])?;
    each_runs_what_it_says(&snapshot, &told)?;
    let run = run(cluster, "admin", "skew", &SERVERS)?;
    due("exit code", &run.code, &Some(3))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    the_difference_is_an_error(&answer, &told)
}

/// Where the name that the certificate is held against is not in one of them, nothing is sent there.
fn a_strange_certificate_costs_one(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let name = ["--tls-server-name", OF_FIRST];
    let run = run(cluster, "admin", "skew", &[&SERVERS[..], &name].concat())?;
    due("exit code", &run.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    let first = format!("kube-apiserver/{}:6443", ADDRESSES[0]);
    due("who was read", &names(&answer), &vec![first.as_str()])?;
    let subject = format!("metrics of kube-apiserver/{}:6443", ADDRESSES[1]);
    let line = coverage(&answer, &subject);
    due("state", &word(&line["state"]), &"Denied")?;
    let is_told =
        word(&line["detail"]).starts_with("nothing was sent: the certificate of 198.18.0.2");
    due(&format!("{line}"), &is_told, &true)
}

fn coverage(answer: &Value, subject: &str) -> Value {
    let mut lines = list(&answer["coverage"]).iter();
    let line = lines.find(|line| line["subject"] == subject);
    line.cloned().unwrap_or_default()
}

/// Makes of the viewer a user who sees leases, documents and no addresses.
fn grant_metrics(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    const API: &str = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{API}/v1"), "kind": "ClusterRole", "metadata": {"name": "metrics"},
        "rules": [{"nonResourceURLs": ["/metrics", "/flagz", "/statusz"], "verbs": ["get"]}],
    });
    let binding = json!({
        "apiVersion": format!("{API}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": API, "kind": "ClusterRole", "name": "metrics"},
        "subjects": [{"apiGroup": API, "kind": "User", "name": "viewer"}],
    });
    block_on(async {
        let admin = cluster.client("admin").await?;
        for (path, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
            let path = format!("/apis/{API}/v1/{path}");
            admin.create(&path, &object).await?;
        }
        Ok(())
    })
}

fn balancer(addresses: &[&str]) -> Result<Proxy, Box<dyn Error>> {
    let addresses: Result<Vec<SocketAddr>, _> = addresses
        .iter()
        .map(|address| format!("{address}:6443").parse())
        .collect();
    Ok(Proxy::balancing(&addresses?))
}

fn they_are_told_apart_behind_a_balancer(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let told = by_start(cluster)?;
    due("replicas that started apart", &told.len(), &2)?;
    let balancer = balancer(&ADDRESSES)?;
    let server = format!("https://{}", balancer.address());
    let through = ["--server", &server, "--tls-server-name", SHARED];
    let snapshot = features(cluster, "viewer", "snapshot", &through)?;
    each_runs_what_it_says(&snapshot, &told)?;
    let run = run(
        cluster,
        "viewer",
        "skew",
        &[&SERVERS[..], &through].concat(),
    )?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    let line = coverage(&answer, "samples of API servers");
    due(&format!("{line}"), &word(&line["state"]), &"Complete")?;
    due("exit code", &run.code, &Some(3))?;
    the_difference_is_an_error(&answer, &told)?;
    // Kept, it gives the same answer.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("snapshot.json");
    fs::write(&file, snapshot.to_string())?;
    let file = file.display().to_string();
    let from = [&SERVERS[..], &["--from", &file]].concat();
    let kept = features(cluster, "admin", "skew", &from)?;
    for key in ["components", "groups", "differences"] {
        due(&format!("{key} when kept"), &kept[key], &answer[key])?;
    }
    Ok(())
}

fn a_balancer_that_keeps_to_one_is_told(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let balancer = balancer(&ADDRESSES[..1])?;
    let server = format!("https://{}", balancer.address());
    let through = ["--server", &server, "--tls-server-name", SHARED];
    let run = run(
        cluster,
        "viewer",
        "skew",
        &[&SERVERS[..], &through].concat(),
    )?;
    due("exit code", &run.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    due("who was read", &names(&answer).len(), &1)?;
    let line = coverage(&answer, "samples of API servers");
    due("state", &word(&line["state"]), &"Partial")?;
    let is_told = word(&line["detail"])
        .starts_with("8 connections reached 1 API server, and leases and addresses tell of 2: ");
    due(&format!("{line}"), &is_told, &true)
}

/// A server that stands still takes connections and says nothing.
fn one_that_hangs_costs_itself(cluster: &Cluster, other: &str) -> Result<(), Box<dyn Error>> {
    cluster.freeze(other)?;
    let limit = ["--request-timeout", "3s"];
    let run = run(cluster, "admin", "skew", &[&SERVERS[..], &limit].concat());
    cluster.thaw(other)?;
    let run = run?;
    due("exit code", &run.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    let first = format!("kube-apiserver/{}:6443", ADDRESSES[0]);
    due("who was read", &names(&answer), &vec![first.as_str()])?;
    let subject = format!("metrics of kube-apiserver/{}:6443", ADDRESSES[1]);
    let line = coverage(&answer, &subject);
    due("state", &word(&line["state"]), &"Unreachable")?;
    due("why", &word(&line["detail"]), &"no answer within 3s")
}

/// A server that is no more while its address and its lease still are.
fn one_that_goes_away_costs_itself(cluster: &Cluster, other: &str) -> Result<(), Box<dyn Error>> {
    cluster.kill(other)?;
    // What is read at once before may take as many connections as there are reads; those that are samples come later.
    let [first, second] = ADDRESSES;
    let balancer = balancer(&[&[first; 8][..], &[second; 3]].concat())?;
    let server = format!("https://{}", balancer.address());
    let through = ["--server", &server, "--tls-server-name", SHARED];
    let run = run(
        cluster,
        "viewer",
        "skew",
        &[&SERVERS[..], &through].concat(),
    )?;
    due(&format!("exit code of {run:?}"), &run.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    due("who was read", &names(&answer).len(), &1)?;
    let line = coverage(&answer, "samples of API servers");
    due("state", &word(&line["state"]), &"Partial")?;
    let is_told = word(&line["detail"]).contains(" connections failed: ");
    due(&format!("{line}"), &is_told, &true)
}
