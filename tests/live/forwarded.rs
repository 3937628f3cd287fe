//! Schedulers and controller managers through their Pods: static Pods that say that they run what runs as a process here.
//!
//! The kubelets' runtime forwards a Pod's ports to the cluster's own address, where the real components listen, and strangers
//! of the trial. It must not take the plugin's word for what a component runs: kubectl asks it at its address.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::fake_server::{Answer, FakeServer, Routes};
use testkit::{Authority, Cluster, Identity};

use crate::machinery::{Check, block_on};
use crate::plugin::kubectl;
use crate::skew::{due, features, list, run, runs, says, word};

pub(crate) const CHECKS: &[(&str, Check)] = &[(
    "forwarded::skew_reaches_components_through_their_pods",
    works,
)];

const SYSTEM: &str = "/api/v1/namespaces/kube-system/pods";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const LABEL: &str = "node-role.kubernetes.io/control-plane";

const NEEDED: &str = "; a port is forwarded to who may get and create pods/portforward";

/// Only those that are reached so.
const KINDS: [&str; 4] = [
    "--component",
    "kube-scheduler",
    "--component",
    "kube-controller-manager",
];

/// What the trial put into the cluster that others use, too.
#[derive(Default)]
struct Traces {
    manifests: Vec<PathBuf>,
    objects: Vec<String>,
}

fn works(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let mut traces = Traces::default();
    let result = trial(cluster, &mut traces);
    let cleaned = clean(cluster, &traces);
    let unlabelled = block_on(label(cluster, &Value::Null));
    result.and(cleaned).and(unlabelled)
}

fn clean(cluster: &Cluster, traces: &Traces) -> Result<(), Box<dyn Error>> {
    for manifest in &traces.manifests {
        std::fs::remove_file(manifest)?;
    }
    block_on(async {
        let admin = cluster.client("admin").await?;
        for object in &traces.objects {
            admin.delete(object, Some(1)).await?;
        }
        for manifest in &traces.manifests {
            let stem = manifest.file_stem().unwrap_or_default().to_string_lossy();
            let name = stem.trim_start_matches("kube-system-").to_owned();
            for node in cluster.nodes() {
                admin
                    .watch_until_gone(SYSTEM, &format!("{name}-{node}"))
                    .await?;
            }
        }
        Ok(())
    })
}

/// Takes a static Pod away.
fn gone(cluster: &Cluster, traces: &mut Traces, name: &str) -> Result<(), Box<dyn Error>> {
    let file = format!("kube-system-{name}.json");
    let (these, others) = std::mem::take(&mut traces.manifests)
        .into_iter()
        .partition(|manifest| manifest.ends_with(&file));
    traces.manifests = others;
    let these = Traces {
        manifests: these,
        objects: Vec::new(),
    };
    clean(cluster, &these)
}

async fn label(cluster: &Cluster, value: &Value) -> Result<(), Box<dyn Error>> {
    let admin = cluster.client("admin").await?;
    let change = json!({"metadata": {"labels": {LABEL: value}}});
    admin.merge_patch("/api/v1/nodes/n1", &change).await?;
    Ok(())
}

/// A Pod that says that it runs a component of the control plane.
fn pod(name: &str, command: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system", "labels": {"tier": "control-plane"}},
        "spec": {
            "hostNetwork": true,
            "containers": [{"name": "c", "image": "busybox", "command": command}],
        },
    })
}

/// What is told of a component's metrics: state and detail.
fn told<'a>(answer: &'a Value, component: &str) -> Option<(&'a str, &'a str)> {
    let subject = format!("metrics of {component}");
    let mut lines = list(&answer["coverage"]).iter();
    let line = lines.find(|line| line["subject"] == subject.as_str())?;
    Some((word(&line["state"]), word(&line["detail"])))
}

fn begins(answer: &Value, component: &str, state: &str, words: &str) -> Result<(), Box<dyn Error>> {
    match told(answer, component) {
        Some((is, detail)) if is == state && detail.starts_with(words) => Ok(()),
        other => Err(format!("{component}: {other:?}, due {state}: {words}").into()),
    }
}

fn trial(cluster: &mut Cluster, traces: &mut Traces) -> Result<(), Box<dyn Error>> {
    let host = cluster.server().trim_end_matches(":6443").to_owned();
    let ip = host.trim_start_matches("https://").to_owned();
    // Of no authority that anybody named.
    let other = Authority::new("other")?;
    let stranger = other.server("localhost", &["localhost", "127.0.0.1"])?;
    let at = SocketAddr::new(ip.parse()?, 0);
    let metrics = "kubernetes_feature_enabled{name=\"A\",stage=\"\"} 1\n";
    let routes = Routes::new().get("/metrics", Answer::text(metrics));
    let strange = FakeServer::start_tls_at(at, routes, &stranger);
    // It takes connections and says nothing.
    let mute = TcpListener::bind(at)?;
    let port = |port: u16| format!("--secure-port={port}");
    let of_stranger = port(strange.address().port());
    let of_mute = port(mute.local_addr()?.port());

    block_on(label(cluster, &json!("")))?;
    let pods: [(&str, &str, &[&str]); 7] = [
        ("n1", "kube-scheduler", &["kube-scheduler"]),
        (
            "n1",
            "kube-controller-manager",
            &[
                "/usr/local/bin/kube-controller-manager",
                "--secure-port=10257",
            ],
        ),
        ("n1", "strange", &["kube-scheduler", &of_stranger]),
        ("n1", "mute", &["kube-scheduler", &of_mute]),
        ("n1", "nobody", &["kube-scheduler", "--secure-port=1"]),
        // etcd is there, and hangs up on who speaks TLS.
        ("n1", "etcd", &["kube-scheduler", "--secure-port=2379"]),
        // A worker's kubelet may say so, and is not believed.
        ("n2", "worker", &["kube-scheduler", &of_stranger]),
    ];
    for (node, name, command) in pods {
        traces
            .manifests
            .push(cluster.run_static_pod(node, &pod(name, command))?);
    }
    // Nor is one that somebody made on the control plane's node without its kubelet, unless it is named.
    let mut made = pod("made", &["kube-scheduler", &of_stranger]);
    made["spec"]["nodeName"] = json!("n1");
    block_on(async {
        let admin = cluster.client("admin").await?;
        admin.create(SYSTEM, &made).await?;
        traces.objects.push(format!("{SYSTEM}/made"));
        let mirrors = pods.map(|(node, name, _)| format!("{name}-{node}"));
        for name in mirrors.iter().map(String::as_str).chain(["made"]) {
            let selector = format!("metadata.name={name}");
            let is_running = |pod: &Value| pod["status"]["phase"] == "Running";
            admin
                .watch_until("a running Pod", SYSTEM, &selector, is_running)
                .await?;
        }
        Ok(())
    })?;
    let told = BTreeMap::from([
        (
            "kube-controller-manager/kube-controller-manager-n1".to_owned(),
            says(cluster, &format!("{host}:10257"), "/metrics")?,
        ),
        (
            "kube-scheduler/kube-scheduler-n1".to_owned(),
            says(cluster, &format!("{host}:10259"), "/metrics")?,
        ),
    ]);

    each_loss_has_its_word(cluster, &told)?;
    // Nobody needs to wait for it again.
    gone(cluster, traces, "mute")?;
    due("requests of strangers", &strange.requests().len(), &0)?;
    rights_on_the_way(cluster, traces, &told)?;
    due("requests of strangers", &strange.requests().len(), &0)?;
    one_that_is_named(cluster, &told)?;
    due("requests of strangers", &strange.requests().len(), &0)?;
    who_is_pinned_is_asked(cluster, &stranger, &strange)?;
    who_is_trusted_is_asked(cluster, &other, &strange)
}

type Told = BTreeMap<String, BTreeMap<String, bool>>;

/// A client certificate proves who asks; each loss is told as what it is.
fn each_loss_has_its_word(cluster: &Cluster, told: &Told) -> Result<(), Box<dyn Error>> {
    let few = ["--request-timeout", "3s"];
    let snapshot = features(cluster, "admin", "snapshot", &few)?;
    let mut found = runs(&snapshot);
    found.retain(|name, _| !name.starts_with("kube-apiserver/") && !name.starts_with("kubelet/"));
    due("who was read", &found, told)?;
    let answer = features(cluster, "admin", "skew", &[&KINDS[..], &few].concat())?;
    begins(
        &answer,
        "kube-scheduler/strange-n1",
        "Denied",
        "nothing was sent: the certificate of port ",
    )?;
    begins(
        &answer,
        "kube-scheduler/mute-n1",
        "Unreachable",
        "no answer within 3s",
    )?;
    let nobody = "kube-scheduler/nobody-n1";
    begins(
        &answer,
        nobody,
        "Unreachable",
        "error forwarding port 1 to pod ",
    )?;
    begins(
        &answer,
        "kube-scheduler/etcd-n1",
        "Unreachable",
        "port 2379 of pod kube-system/etcd-n1: ",
    )?;
    for name in ["worker-n2", "made"] {
        let name = format!("kube-scheduler/{name}");
        due(&name, &self::told(&answer, &name), &None)?;
    }
    Ok(())
}

/// A token does as well. Both verbs are needed; what is missing is told in the API server's words.
fn rights_on_the_way(
    cluster: &Cluster,
    traces: &mut Traces,
    told: &Told,
) -> Result<(), Box<dyn Error>> {
    let few = [&KINDS[..], &["--request-timeout", "3s"]].concat();
    let of_scheduler = "kube-scheduler/kube-scheduler-n1";
    let mut grant = |name: &str, rule: &Value| {
        let role = json!({"metadata": {"name": name}, "rules": [rule]});
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}],
        });
        block_on(async {
            let admin = cluster.client("admin").await?;
            for (kind, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
                admin.create(&format!("{RBAC}/{kind}"), &object).await?;
                traces.objects.push(format!("{RBAC}/{kind}/{name}"));
            }
            Ok(())
        })
    };
    let documents = ["/metrics", "/flagz", "/statusz"];
    grant(
        "documents",
        &json!({"nonResourceURLs": documents, "verbs": ["get"]}),
    )?;
    // Of the second verb the server does not say that it lacks.
    let of_get = ": User \"viewer\" cannot get resource \"pods/portforward\" in API group \"\" in the namespace \"kube-system\"";
    for (verb, reason) in [("", of_get), ("get", "")] {
        if !verb.is_empty() {
            grant(&format!("forward-{verb}"), &forward(verb))?;
        }
        let answer = features(cluster, "viewer", "skew", &few)?;
        let words = format!(
            "Error from server (Forbidden): pods \"kube-scheduler-n1\" is forbidden{reason}{NEEDED}"
        );
        begins(&answer, of_scheduler, "Denied", &words)?;
        rights_are_printed(cluster, verb)?;
    }
    grant("forward-create", &forward("create"))?;
    rights_are_printed(cluster, "get create")?;
    let snapshot = features(cluster, "viewer", "snapshot", &few)?;
    let found = runs(&snapshot);
    for (name, gates) in told {
        due(name, &found.get(name), &Some(gates))?;
    }
    Ok(())
}

fn forward(verb: &str) -> Value {
    json!({"apiGroups": [""], "resources": ["pods/portforward"], "verbs": [verb]})
}

/// What is printed as needed is what the API server says of it.
fn rights_are_printed(cluster: &Cluster, granted: &str) -> Result<(), Box<dyn Error>> {
    let run = kubectl(cluster, "viewer", &["features", "collect", "--dry-run"])?;
    let rows = run.stdout.lines().map(str::split_whitespace);
    let rows = rows.map(|row| row.take(5).collect::<Vec<_>>());
    let found: Vec<Vec<&str>> = rows
        .filter(|row| row.contains(&"pods/portforward"))
        .collect();
    let due_rows = ["create", "get"].map(|verb| {
        let allowed = granted.split(' ').any(|known| known == verb);
        let answer = if allowed { "Yes" } else { "No" };
        vec![verb, "pods/portforward", "-n", "kube-system", answer]
    });
    due("rights", &found, &due_rows.to_vec())
}

/// A Pod that no kubelet of the control plane vouches for is reached because the user says so.
fn one_that_is_named(cluster: &Cluster, told: &Told) -> Result<(), Box<dyn Error>> {
    let named = [
        "--component",
        "kube-scheduler/second=pod:kube-system/made:10259",
    ];
    let snapshot = features(cluster, "admin", "snapshot", &[&KINDS[..], &named].concat())?;
    let gates = told.get("kube-scheduler/kube-scheduler-n1");
    due(
        "the one that is named",
        &runs(&snapshot).get("kube-scheduler/second"),
        &gates,
    )?;
    let absent = ["--component", "kube-scheduler=pod:kube-system/absent"];
    let answer = features(cluster, "admin", "skew", &[&KINDS[..], &absent].concat())?;
    begins(
        &answer,
        "kube-scheduler/absent",
        "Absent",
        "Error from server (NotFound): pods \"absent\" not found",
    )?;
    let wrong = ["--component", "kubelet=pod:kube-system/made"];
    let run = run(cluster, "admin", "skew", &wrong)?;
    due("exit code of a kubelet's Pod", &run.code, &Some(2))
}

/// A certificate that signs itself is trusted by its fingerprint, and by no other; the others are verified as before.
fn who_is_pinned_is_asked(
    cluster: &Cluster,
    stranger: &Identity,
    strange: &FakeServer,
) -> Result<(), Box<dyn Error>> {
    let lines = stranger.certificate.lines();
    let body: String = lines.filter(|line| !line.starts_with("---")).collect();
    let fingerprint = Sha256::digest(STANDARD.decode(body)?);
    let pin = |bytes: &[u8]| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        format!("kube-scheduler/strange-n1={}", hex.join(":"))
    };
    let other = pin(&[7; 32]);
    let answer = features(
        cluster,
        "viewer",
        "skew",
        &[&KINDS[..], &["--pin", &other]].concat(),
    )?;
    begins(
        &answer,
        "kube-scheduler/strange-n1",
        "Denied",
        "nothing was sent: the certificate of port ",
    )?;
    due("requests of strangers", &strange.requests().len(), &0)?;
    let own = pin(&fingerprint);
    let snapshot = features(
        cluster,
        "viewer",
        "snapshot",
        &[&KINDS[..], &["--pin", &own]].concat(),
    )?;
    let found = runs(&snapshot);
    let of_stranger = BTreeMap::from([("A".to_owned(), true)]);
    due(
        "one that is pinned",
        &found.get("kube-scheduler/strange-n1"),
        &Some(&of_stranger),
    )?;
    let is_read = found.contains_key("kube-scheduler/kube-scheduler-n1");
    due("whether the other is read", &is_read, &true)
}

/// Whom the user trusts by another authority gets the token, and those of the cluster do not any more.
fn who_is_trusted_is_asked(
    cluster: &Cluster,
    other: &Authority,
    strange: &FakeServer,
) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("other.crt");
    std::fs::write(&file, other.certificate())?;
    let file = file.display().to_string();
    let trust = [
        &KINDS[..],
        &["--kubelet-ca", &file, "--request-timeout", "3s"],
    ]
    .concat();
    let snapshot = features(cluster, "viewer", "snapshot", &trust)?;
    let due_gates = BTreeMap::from([("A".to_owned(), true)]);
    due(
        "a stranger",
        &runs(&snapshot).get("kube-scheduler/strange-n1"),
        &Some(&due_gates),
    )?;
    let requests = strange.requests();
    let is_proven = requests
        .iter()
        .all(|request| request.header("authorization").is_some());
    due(
        "requests with a token",
        &(requests.is_empty(), is_proven),
        &(false, true),
    )?;
    let answer = features(cluster, "viewer", "skew", &trust)?;
    begins(
        &answer,
        "kube-scheduler/kube-scheduler-n1",
        "Denied",
        "nothing was sent: the certificate of port 10259 of pod kube-system/kube-scheduler-n1 is signed by an unknown authority; \
         name the right one with --kubelet-ca, or its own with --pin",
    )
}
