//! A control plane with kubelets of three minors and odd gates: what `features skew` says is what each component says itself.
//!
//! The components' own answers are fetched by kubectl, not by the plugin. It must not know a gate's value by heart.

#![expect(
    clippy::disallowed_methods,
    reason = "whether to record is said by the environment"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::Value;
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::moments::RECORD;
use crate::plugin::{Run, kubectl};

pub(crate) const NAME: &str = "skew_says_what_each_component_says";

/// Off in one kubelet, on in the API server.
pub(crate) const BY_FLAG: &str = "ExtendWebSocketsToKubelet";

/// On in the scheduler alone.
pub(crate) const ALPHA: &str = "UserNamespacesHostNetworkSupport";

/// The time that all answers are judged by.
const NOW: &str = "2026-01-01T00:00:00Z";

pub(crate) type Gates = BTreeMap<String, bool>;

/// The trial.
pub(crate) fn works(clusters: &Clusters, minors: &[String]) -> Result<(), Failed> {
    let [.., oldest, before, newest] = minors else {
        return Err("three minors are needed".into());
    };
    let options = ClusterOptions::new(newest)
        .nodes(&["n1", "n2", "n3", "n4"])
        .of_minor("kubelet-n2", before)
        .of_minor("kubelet-n3", oldest)
        .argument("kubelet-n4", &format!("--feature-gates={BY_FLAG}=false"))
        .argument("kube-scheduler", &format!("--feature-gates={ALPHA}=true"));
    clusters.apart(&options, |cluster| {
        let told = told(cluster)?;
        let reach = reach(cluster);
        let reach: Vec<&str> = reach.iter().map(String::as_str).collect();

        let snapshot = features(
            cluster,
            "admin",
            "snapshot",
            &[&reach[..], &["--exact"]].concat(),
        )?;
        let held = runs(&snapshot);
        due(
            "who is in a snapshot",
            &held.keys().collect::<Vec<_>>(),
            &told.keys().collect(),
        )?;
        for (component, gates) in &told {
            let held = held.get(component).cloned().unwrap_or_default();
            let other: Vec<_> = gates
                .iter()
                .filter(|(name, on)| held.get(*name) != Some(on))
                .collect();
            due(
                &format!("gates of {component}"),
                &(held.len(), other),
                &(gates.len(), vec![]),
            )?;
        }

        let exact = features(
            cluster,
            "admin",
            "skew",
            &[&reach[..], &["--exact", "--all"]].concat(),
        )?;
        every_value_is_what_it_says(&exact, &told)?;
        alike_have_one_fingerprint(&exact, &told)?;

        let cheap = features(cluster, "admin", "skew", &[&reach[..], &["--all"]].concat())?;
        let addresses = kubelets(cluster);
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        let direct = [&reach[..], &addresses, &["--all"]].concat();
        let direct = features(cluster, "admin", "skew", &direct)?;
        for (way, other) in [("cheap", &cheap), ("direct", &direct)] {
            let is_seen = fingerprints(other) == fingerprints(&exact);
            due(
                &format!("fingerprints: {way}: {}", other["coverage"]),
                &is_seen,
                &true,
            )?;
        }
        kept_answers_are_the_same(cluster, &reach, &snapshot, &exact)?;
        the_odd_ones_are_named(cluster, &reach)?;
        if std::env::var_os(RECORD).is_some() {
            record(cluster, &reach)?;
        }
        those_who_may_not_see_are_told(cluster)
    })
}

/// Writes the snapshot that README reads.
fn record(cluster: &Cluster, reach: &[&str]) -> Result<(), Box<dyn Error>> {
    let snapshot = features(cluster, "admin", "snapshot", reach)?;
    let text = serde_json::to_string_pretty(&snapshot)? + "\n";
    let text = text.replace(cluster.server(), "https://192.0.2.10:6443");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/upgrade/snapshot.json");
    Ok(fs::write(file, text)?)
}

/// Addresses of what no Pod shows here.
pub(crate) fn reach(cluster: &Cluster) -> Vec<String> {
    let host = cluster.server().trim_end_matches(":6443");
    [
        ("kube-scheduler", 10259),
        ("kube-controller-manager", 10257),
    ]
    .into_iter()
    .flat_map(|(component, port)| {
        [
            "--component".to_owned(),
            format!("{component}/it={host}:{port}"),
        ]
    })
    .collect()
}

/// The kubelets' own addresses. Their Nodes tell of the machine's, on which they do not listen here.
fn kubelets(cluster: &Cluster) -> Vec<String> {
    let host = cluster.server().trim_end_matches(":6443");
    let of = |(node, port): (&String, u16)| {
        [
            "--component".to_owned(),
            format!("kubelet/{node}={host}:{port}"),
        ]
    };
    cluster.nodes().iter().zip(10250..).flat_map(of).collect()
}

/// Runs `kubectl features …`; its answer as data. Findings are no failure here.
pub(crate) fn features(
    cluster: &Cluster,
    user: &str,
    command: &str,
    arguments: &[&str],
) -> Result<Value, Box<dyn Error>> {
    let run = run(cluster, user, command, arguments)?;
    serde_json::from_str(&run.stdout).map_err(|_| format!("{arguments:?}: {run:?}").into())
}

pub(crate) fn run(
    cluster: &Cluster,
    user: &str,
    command: &str,
    arguments: &[&str],
) -> Result<Run, Box<dyn Error>> {
    let always = ["features", command, "--now", NOW, "-o", "json"];
    kubectl(cluster, user, &[&always[..], arguments].concat())
}

/// What each component says of its gates, by its own metrics.
pub(crate) fn told(cluster: &Cluster) -> Result<BTreeMap<String, Gates>, Box<dyn Error>> {
    let host = cluster.server().trim_end_matches(":6443").to_owned();
    let path = "jsonpath={.endpoints[0].addresses[0]}:{.ports[0].port}";
    let slice = [
        "get",
        "endpointslices",
        "kubernetes",
        "-n",
        "default",
        "-o",
        path,
    ];
    let address = kubectl(cluster, "admin", &slice)?.stdout;
    let mut places = vec![
        (
            format!("kube-apiserver/{address}"),
            cluster.server().to_owned(),
            "/metrics".to_owned(),
        ),
        (
            "kube-scheduler/it".to_owned(),
            format!("{host}:10259"),
            "/metrics".to_owned(),
        ),
        (
            "kube-controller-manager/it".to_owned(),
            format!("{host}:10257"),
            "/metrics".to_owned(),
        ),
    ];
    for node in cluster.nodes() {
        let path = format!("/api/v1/nodes/{node}/proxy/metrics");
        places.push((format!("kubelet/{node}"), cluster.server().to_owned(), path));
    }
    let mut told = BTreeMap::new();
    for (component, server, path) in places {
        let gates = says(cluster, &server, &path)?;
        told.insert(component, gates);
    }
    Ok(told)
}

/// What the metrics at a place say of gates.
pub(crate) fn says(cluster: &Cluster, server: &str, path: &str) -> Result<Gates, Box<dyn Error>> {
    let run = kubectl(
        cluster,
        "admin",
        &["get", "--raw", path, "--server", server],
    )?;
    let gates: Gates = run.stdout.lines().filter_map(gate).collect();
    if gates.len() < 200 {
        return Err(format!("{path} of {server} tells of {} gates: {run:?}", gates.len()).into());
    }
    Ok(gates)
}

fn gate(line: &str) -> Option<(String, bool)> {
    let rest = line.strip_prefix("kubernetes_feature_enabled{name=\"")?;
    let (name, rest) = rest.split_once('"')?;
    Some((name.to_owned(), rest.ends_with(" 1")))
}

/// The gates that a snapshot says each component runs.
pub(crate) fn runs(snapshot: &Value) -> BTreeMap<String, Gates> {
    let components = snapshot["components"].as_array().into_iter().flatten();
    components
        .filter_map(|component| {
            let statements = component["statements"].as_array()?;
            let runs = statements.iter().find_map(|it| it["runs"].as_object())?;
            let gates = runs.iter().map(|(name, on)| (name.clone(), *on == true));
            Some((component["name"].as_str()?.to_owned(), gates.collect()))
        })
        .collect()
}

pub(crate) fn every_value_is_what_it_says(
    answer: &Value,
    told: &BTreeMap<String, Gates>,
) -> Result<(), Box<dyn Error>> {
    let mut compared = 0;
    let mut listed = BTreeSet::new();
    for difference in list(&answer["differences"]) {
        let gate = word(&difference["gate"]);
        listed.insert(gate);
        for values in list(&difference["values"]) {
            for component in list(&values["components"]) {
                let says = told.get(word(component)).ok_or("an unknown component")?;
                let says = match says.get(gate) {
                    Some(true) => "True",
                    Some(false) => "False",
                    None => "NotInVersion",
                };
                due(
                    &format!("{gate} of {component}"),
                    &word(&values["value"]),
                    &says,
                )?;
                due("known", &word(&values["known"]), &"Observed")?;
                compared += 1;
            }
        }
    }
    // Whatever two components say otherwise is listed.
    let names: BTreeSet<&String> = told.values().flat_map(BTreeMap::keys).collect();
    for name in names.into_iter().filter(|name| !name.starts_with("All")) {
        let values: BTreeSet<bool> = told
            .values()
            .filter_map(|gates| gates.get(name))
            .copied()
            .collect();
        if values.len() > 1 && !listed.contains(name.as_str()) {
            return Err(format!("{name} differs and is not listed").into());
        }
    }
    if compared < 100 {
        return Err(format!("only {compared} values were compared").into());
    }
    Ok(())
}

/// Components that say the same have one fingerprint, and others have another.
fn alike_have_one_fingerprint(
    answer: &Value,
    told: &BTreeMap<String, Gates>,
) -> Result<(), Box<dyn Error>> {
    let prints = fingerprints(answer);
    for (one, gates) in told.iter().filter(|(name, _)| name.starts_with("kubelet/")) {
        for (other, others) in told.iter().filter(|(name, _)| name.starts_with("kubelet/")) {
            let is_one = prints.get(one) == prints.get(other);
            due(
                &format!("one fingerprint for {one} and {other}"),
                &is_one,
                &(gates == others),
            )?;
        }
    }
    let none = prints.values().filter(|print| print.is_null()).count();
    due("components without a fingerprint", &none, &0)
}

pub(crate) fn fingerprints(answer: &Value) -> BTreeMap<String, Value> {
    list(&answer["components"])
        .iter()
        .map(|row| (word(&row["name"]).to_owned(), row["fingerprintAll"].clone()))
        .collect()
}

/// A snapshot and a bundle that are read again give the answer that the cluster gave.
fn kept_answers_are_the_same(
    cluster: &Cluster,
    reach: &[&str],
    snapshot: &Value,
    live: &Value,
) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, bundle) = (path("snapshot.json"), path("bundle.tar.zst"));
    fs::write(&file, snapshot.to_string())?;
    let collect = ["features", "collect", "--exact", "-o", &bundle];
    let run = kubectl(cluster, "admin", &[&collect, reach].concat())?;
    due(
        "exit code of collect",
        &(run.code, run.stderr.as_str()),
        &(Some(0), ""),
    )?;
    let of_snapshot = features(cluster, "admin", "skew", &["--from", &file, "--all"])?;
    let of_bundle = features(cluster, "admin", "skew", &["--from", &bundle, "--all"])?;
    for kept in [&of_snapshot, &of_bundle] {
        for key in [
            "components",
            "groups",
            "differences",
            "contradictions",
            "versionSkew",
        ] {
            due(key, &kept[key], &live[key])?;
        }
    }
    due("coverage", &seen(&of_bundle), &seen(live))?;
    // Nothing has changed since.
    let same = features(
        cluster,
        "admin",
        "skew",
        &["--from", &bundle, "--against", &file, "--all"],
    )?;
    due("what changed", &same["differences"], &serde_json::json!([]))
}

/// What was to be read and what came of it, whoever was asked.
fn seen(answer: &Value) -> BTreeSet<(String, String, String)> {
    list(&answer["coverage"])
        .iter()
        .map(|line| {
            let word = |key: &str| word(&line[key]).to_owned();
            (word("subject"), word("state"), word("detail"))
        })
        .collect()
}

/// The kubelet with a gate off is an error with its cause, the scheduler with one more on is a warning.
fn the_odd_ones_are_named(cluster: &Cluster, reach: &[&str]) -> Result<(), Box<dyn Error>> {
    let run = run(cluster, "admin", "skew", reach)?;
    due("exit code", &run.code, &Some(3))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    let of = |gate: &str| {
        let differences = list(&answer["differences"]);
        differences
            .iter()
            .find(|it| it["gate"] == gate)
            .cloned()
            .unwrap_or_default()
    };
    due("severity", &word(&of(BY_FLAG)["severity"]), &"Error")?;
    let off = list(&of(BY_FLAG)["values"])
        .iter()
        .find(|it| it["value"] == "False")
        .cloned();
    let off = off.unwrap_or_default();
    due(
        "who has it off",
        &off["components"],
        &serde_json::json!(["kubelet/n4"]),
    )?;
    due("why", &word(&off["cause"]), &"Flag")?;
    due("severity", &word(&of(ALPHA)["severity"]), &"Warning")?;
    let on = list(&of(ALPHA)["values"])
        .iter()
        .find(|it| it["value"] == "True")
        .cloned();
    let on = on.unwrap_or_default();
    due(
        "who has it on",
        &on["components"],
        &serde_json::json!(["kube-scheduler/it"]),
    )?;
    due("why", &word(&on["cause"]), &"Flag")
}

/// Who may not see is told so, and gets no "no difference".
fn those_who_may_not_see_are_told(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    let nobody = run(cluster, "nobody", "skew", &[])?;
    due("exit code of nobody", &nobody.code, &Some(5))?;
    let answer: Value = serde_json::from_str(&nobody.stdout)?;
    let denied = |answer: &Value| {
        let lines = list(&answer["coverage"]).iter();
        let denied = lines.filter(|line| line["state"] == "Denied");
        denied
            .map(|line| word(&line["subject"]).to_owned())
            .collect::<Vec<_>>()
    };
    if !denied(&answer).contains(&"nodes".to_owned()) {
        return Err(format!("nobody is not told that nodes are denied: {answer:#}").into());
    }
    // At the kubelet's own address the right to metrics is enough for what runs; the proxy takes nodes/proxy.
    let by_proxy = run(cluster, "monitor", "skew", &["--component", "kubelet"])?;
    due("exit code by proxy", &by_proxy.code, &Some(5))?;
    let addresses = kubelets(cluster);
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let direct = [&["--component", "kubelet"], &addresses[..]].concat();
    let direct = features(cluster, "monitor", "skew", &direct)?;
    let known: BTreeSet<&str> = list(&direct["components"])
        .iter()
        .map(|row| word(&row["known"]))
        .collect();
    due("what a monitor sees", &known, &BTreeSet::from(["Observed"]))?;
    // Nobody who is not verified gets a token.
    let folder = tempfile::tempdir()?;
    let other = folder.path().join("other.crt");
    fs::write(&other, testkit::Authority::new("other")?.certificate())?;
    let other = other.display().to_string();
    let distrusted = ["--component", "kubelet", "--kubelet-ca", other.as_str()];
    let distrusted = [&distrusted[..], &addresses].concat();
    let distrusted = features(cluster, "monitor", "skew", &distrusted)?;
    let first = denied(&distrusted);
    if !first
        .iter()
        .any(|subject| subject.starts_with("configz of kubelet/"))
    {
        return Err(format!("a stranger was trusted: {distrusted:#}").into());
    }
    Ok(())
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn due<T: PartialEq + std::fmt::Debug>(
    what: &str,
    is: &T,
    due: &T,
) -> Result<(), Box<dyn Error>> {
    if is == due {
        Ok(())
    } else {
        Err(format!("{what}: {is:?}, due {due:?}").into())
    }
}
