//! What `features rbac` prints, applied to real API servers by kubectl: roles are enough to read by, and policies refuse what they are
//! to refuse and nothing else. Writers that the plugin lists are those that the server lets write.
//!
//! The cluster is its own: a policy that stayed would be in the way of other trials.

#![expect(
    clippy::disallowed_methods,
    reason = "it writes what it applies, and looks at the clock while a server takes a policy up"
)]

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::declared::{beats, features, record};
use crate::machinery::block_on;
use crate::plugin::{Run, kubectl};
use crate::skew::{due, list, word};

pub(crate) const NAME: &str = "rbac_prints_what_servers_take";

/// How long a server may take to obey a new policy; nothing tells that it does.
const CEILING: Duration = Duration::from_mins(1);

const FEATURE: &str = "RestartAllContainersOnContainerExits";

/// Gates that the API server needs to take Pods which need a feature.
fn gates(minor: &str) -> &'static str {
    match minor {
        "1.35" => {
            "--feature-gates=NodeDeclaredFeatures=true,RestartAllContainersOnContainerExits=true,UserNamespacesHostNetworkSupport=true"
        }
        "1.36" => "--feature-gates=UserNamespacesHostNetworkSupport=true",
        _ => "--feature-gates=UserNamespacesHostNetworkSupport=true,VolumeBindMountOptions=true",
    }
}

/// The trial.
pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let options = ClusterOptions::new(minor)
        .nodes(&["n1", "n2"])
        .argument("kube-apiserver", gates(minor));
    clusters.apart(&options, |cluster| {
        let folder = tempfile::tempdir()?;
        roles_are_enough(cluster, folder.path())?;
        writers_are_those_that_may_write(cluster, folder.path())?;
        a_list_is_its_kubelets_own(cluster, folder.path())?;
        no_new_pod_needs_a_feature(cluster, folder.path())
    })
}

/// Runs `kubectl features rbac` and applies what it prints.
fn apply(cluster: &Cluster, folder: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let printed = kubectl(
        cluster,
        "nobody",
        &[&["features", "rbac"], arguments].concat(),
    )?;
    due(&format!("exit code: {printed:?}"), &printed.code, &Some(0))?;
    let file = folder.join("printed.yaml");
    fs::write(&file, printed.stdout)?;
    let applied = kubectl(
        cluster,
        "admin",
        &["apply", "-f", &file.display().to_string()],
    )?;
    due(
        &format!("what kubectl says: {applied:?}"),
        &(applied.code, applied.stderr.as_str()),
        &(Some(0), ""),
    )
}

fn roles_are_enough(cluster: &Cluster, folder: &Path) -> Result<(), Box<dyn Error>> {
    let as_reader = |arguments: &[&str]| -> Result<Value, Box<dyn Error>> {
        let always = ["features", "-o", "json", "--as", "reader"];
        let [first, rest @ ..] = always;
        let run = kubectl(cluster, "admin", &[&[first], arguments, &rest].concat())?;
        serde_json::from_str(&run.stdout).map_err(|_| format!("{arguments:?}: {run:?}").into())
    };
    let denied = |answer: &Value| -> BTreeSet<String> {
        let denied = list(&answer["coverage"]).iter();
        denied
            .filter(|line| line["state"] == "Denied")
            .map(|line| word(&line["subject"]).to_owned())
            .collect()
    };
    let commands: [&[&str]; 3] = [&["declared"], &["declared", "--writers"], &["skew"]];
    for command in commands {
        let before = denied(&as_reader(command)?);
        due(
            &format!("{command:?}: denied before"),
            &before.is_empty(),
            &false,
        )?;
    }
    apply(
        cluster,
        folder,
        &["declared", "writers", "skew", "--user", "reader"],
    )?;
    for command in commands {
        let after = denied(&as_reader(command)?);
        due(&format!("{command:?}: denied"), &after, &BTreeSet::new())?;
    }
    Ok(())
}

/// Roles in all the forms that count, and some that do not.
fn writers_are_those_that_may_write(
    cluster: &Cluster,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let role = |name: &str, verbs: &[&str], group: &str, resource: &str, names: &[&str]| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name, "labels": {"part": name}},
            "rules": [{"verbs": verbs, "apiGroups": [group], "resources": [resource], "resourceNames": names}]})
    };
    let roles = [
        role("by-name", &["patch"], "", "nodes/status", &["n1"]),
        role("by-any-status", &["update"], "", "*/status", &[]),
        role("by-everything", &["*"], "*", "*", &[]),
        role("by-creation", &["create"], "", "nodes", &[]),
        role("not-by-all-of-nodes", &["*"], "", "nodes/*", &[]),
        role("not-by-nodes", &["patch", "update"], "", "nodes", &[]),
        role("not-by-another-group", &["*"], "apps", "*", &[]),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "by-aggregation"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "by-any-status"}}]}, "rules": []}),
    ];
    let names = roles.iter().map(|role| word(&role["metadata"]["name"]));
    let bindings = names.map(|name| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]})
    });
    let all: Vec<Value> = roles.iter().cloned().chain(bindings).collect();
    let file = folder.join("roles.json");
    fs::write(
        &file,
        json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string(),
    )?;
    let run = kubectl(
        cluster,
        "admin",
        &["apply", "-f", &file.display().to_string()],
    )?;
    due(&format!("roles: {run:?}"), &run.code, &Some(0))?;
    let run = kubectl(
        cluster,
        "admin",
        &["features", "declared", "--writers", "-o", "json"],
    )?;
    due("exit code", &run.code, &Some(0))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    let writers = list(&answer["writers"]);
    let known: BTreeSet<&str> = writers.iter().map(|it| word(&it["name"])).collect();
    for role in &roles {
        let name = word(&role["metadata"]["name"]);
        due(name, &known.contains(name), &name.starts_with("by-"))?;
    }
    let of = |name: &str| {
        writers
            .iter()
            .find(|it| it["name"] == name)
            .cloned()
            .unwrap_or_default()
    };
    due("names", &of("by-name")["nodes"], &json!(["n1"]))?;
    due("expected", &of("by-name")["expected"], &json!(false))?;
    due(
        "whose rules they are",
        &of("by-aggregation")["through"][0]["aggregatedFrom"],
        &json!(["by-any-status"]),
    )?;
    due(
        "what grants nothing",
        &answer["harmless"][0]["clusterRole"],
        &json!("not-by-all-of-nodes"),
    )?;
    if testkit::minors()
        .last()
        .is_some_and(|newest| newest == cluster.minor())
    {
        let place = "/apis/rbac.authorization.k8s.io/v1";
        let [roles, bindings] =
            ["clusterroles", "clusterrolebindings"].map(|name| format!("{place}/{name}"));
        record(
            cluster,
            "writers",
            &[("roles", &roles), ("bindings", &bindings)],
        )?;
    }
    // The server itself says the same of each, right by right.
    let mut asked = 0;
    let strangers = roles
        .iter()
        .map(|role| json!({"kind": "User", "name": role["metadata"]["name"], "rights": []}));
    let strangers = strangers.filter(|it| word(&it["name"]).starts_with("not-"));
    for writer in writers.iter().cloned().chain(strangers) {
        let rights: BTreeSet<&str> = list(&writer["rights"]).iter().map(word).collect();
        for right in ["create nodes", "patch nodes/status", "update nodes/status"] {
            let allowed = may(cluster, &writer, right)?;
            due(
                &format!("{right}: {writer}"),
                &allowed,
                &rights.contains(right),
            )?;
            asked += 1;
        }
    }
    due("writers were asked for", &(asked >= 21), &true)?;
    for role in &roles {
        let name = word(&role["metadata"]["name"]);
        let run = kubectl(
            cluster,
            "admin",
            &["delete", "clusterrole,clusterrolebinding", name],
        )?;
        due(&format!("deletion: {run:?}"), &run.code, &Some(0))?;
    }
    Ok(())
}

/// What the server says of a right.
fn may(cluster: &Cluster, writer: &Value, right: &str) -> Result<bool, Box<dyn Error>> {
    let (verb, resource) = right.split_once(' ').ok_or("a right has two words")?;
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    let name = word(&writer["name"]);
    let who = match word(&writer["kind"]) {
        "ServiceAccount" => format!(
            "--as=system:serviceaccount:{}:{name}",
            word(&writer["namespace"])
        ),
        "Group" => format!("--as-group={name}"),
        _ => format!("--as={name}"),
    };
    let mut arguments = vec!["auth", "can-i", verb];
    let named = list(&writer["nodes"])
        .first()
        .map(|node| format!("{resource}/{}", word(node)));
    arguments.push(
        named
            .as_deref()
            .filter(|_| verb != "create")
            .unwrap_or(resource),
    );
    let part = format!("--subresource={part}");
    if part != "--subresource=" {
        arguments.push(&part);
    }
    arguments.push(&who);
    if who.starts_with("--as-group") {
        arguments.push("--as=somebody");
    }
    let run = kubectl(cluster, "admin", &arguments)?;
    match run.stdout.trim() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("{arguments:?}: {run:?}").into()),
    }
}

fn status(features: &Value) -> String {
    json!({"status": {"declaredFeatures": features}}).to_string()
}

/// Patches the status of n1 as the administrator.
fn patch(cluster: &Cluster, change: &str, dry: bool) -> Result<Run, Box<dyn Error>> {
    let mut arguments = vec![
        "patch",
        "node",
        "n1",
        "--subresource=status",
        "--type=merge",
        "-p",
        change,
    ];
    if dry {
        arguments.push("--dry-run=server");
    }
    kubectl(cluster, "admin", &arguments)
}

/// The same as a kubelet, who may patch a status and not get it as kubectl does first; the code of the refusal.
fn patched_by(
    cluster: &Cluster,
    kubelet: &str,
    features: &Value,
) -> Result<Option<u16>, Box<dyn Error>> {
    block_on(async {
        let client = cluster.client(kubelet).await?;
        let change = json!({"status": {"declaredFeatures": features}});
        let done = client.merge_patch("/api/v1/nodes/n1/status", &change).await;
        Ok(done.err().map(|error| error.code().unwrap_or_default()))
    })
}

/// Asks until the server refuses, which it does some time after it took a policy.
fn until_refused(
    what: &str,
    mut ask: impl FnMut() -> Result<Run, Box<dyn Error>>,
) -> Result<Run, Box<dyn Error>> {
    let begun = Instant::now();
    loop {
        let run = ask()?;
        if run.code != Some(0) {
            return Ok(run);
        }
        if begun.elapsed() > CEILING {
            return Err(format!("{what} is not refused: {run:?}").into());
        }
    }
}

fn a_list_is_its_kubelets_own(cluster: &Cluster, folder: &Path) -> Result<(), Box<dyn Error>> {
    let own = features(cluster, "n1")?;
    apply(cluster, folder, &["--protect"])?;
    let bogus = status(&json!(["Bogus"]));
    let refused = until_refused("a foreign list", || patch(cluster, &bogus, true))?;
    let sentence = "status.declaredFeatures of Node n1 is written by its kubelet alone, as user system:node:n1";
    due(
        &format!("the reason: {refused:?}"),
        &refused.stderr.contains(sentence),
        &true,
    )?;
    // Neither in earnest, nor to take it away, nor by another node's kubelet.
    let run = patch(cluster, &bogus, false)?;
    due(&format!("in earnest: {run:?}"), &run.code, &Some(1))?;
    if !own.is_null() {
        let run = patch(cluster, &status(&json!(null)), false)?;
        due(&format!("taking it away: {run:?}"), &run.code, &Some(1))?;
    }
    let code = patched_by(cluster, "kubelet-n2", &json!(["Bogus"]))?;
    due("another kubelet", &code, &Some(403))?;
    due("its list", &features(cluster, "n1")?, &own)?;
    // Whatever else there is in a status is nobody's concern, and a write of the Node itself says nothing of its status.
    let other = json!({"status": {"conditions": [{"type": "Example", "status": "True", "reason": "Tried", "message": "",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let run = kubectl(
        cluster,
        "admin",
        &[
            "patch",
            "node",
            "n1",
            "--subresource=status",
            "--type=strategic",
            "-p",
            &other.to_string(),
        ],
    )?;
    due(
        &format!("another part of the status: {run:?}"),
        &run.code,
        &Some(0),
    )?;
    let run = kubectl(cluster, "admin", &["label", "node", "n1", "tried=yes"])?;
    due(&format!("a label: {run:?}"), &run.code, &Some(0))?;
    // The kubelet's own: what it writes by itself, and what is written with its credentials.
    beats(cluster, "n1")?;
    for features in [&json!(["Tried"]), &own] {
        due(
            "its own",
            &patched_by(cluster, "kubelet-n1", features)?,
            &None,
        )?;
    }
    // A Node that is made with a list, and one without.
    for (name, features, code) in [("forged", json!(["Bogus"]), 1), ("plain", json!(null), 0)] {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"declaredFeatures": features}});
        let file = folder.join("node.json");
        fs::write(&file, node.to_string())?;
        let run = kubectl(
            cluster,
            "admin",
            &[
                "create",
                "--dry-run=server",
                "-f",
                &file.display().to_string(),
            ],
        )?;
        due(&format!("a Node {name}: {run:?}"), &run.code, &Some(code))?;
    }
    Ok(())
}

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}});
    if let (Some(to), Some(from)) = (pod["spec"].as_object_mut(), spec.as_object()) {
        to.extend(from.clone());
    }
    pod
}

/// A Pod for each feature that the API server of that minor lets Pods need.
fn needing(minor: &str) -> Vec<(&'static str, Value)> {
    let rules = json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let restarting = json!({"containers": [{"name": "c", "image": "busybox", "restartPolicy": "Never", "restartPolicyRules": rules}]});
    let mut pods = vec![
        (FEATURE, restarting),
        (
            "UserNamespacesHostNetworkSupport",
            json!({"hostNetwork": true, "hostUsers": false}),
        ),
    ];
    if minor == "1.37" {
        let mounts = json!([{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]);
        pods.push((
            "VolumeBindMountOptions",
            json!({"volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "c", "image": "busybox", "volumeMounts": mounts}]}),
        ));
    }
    pods
}

fn no_new_pod_needs_a_feature(cluster: &Cluster, folder: &Path) -> Result<(), Box<dyn Error>> {
    let pods = needing(cluster.minor());
    let create = |name: &str, spec: &Value, dry: bool| -> Result<Run, Box<dyn Error>> {
        let file = folder.join("pod.json");
        fs::write(&file, pod(name, spec).to_string())?;
        let file = file.display().to_string();
        let mut arguments = vec!["create", "-f", &file];
        if dry {
            arguments.push("--dry-run=server");
        }
        kubectl(cluster, "admin", &arguments)
    };
    for (feature, spec) in &pods {
        let run = create("before", spec, true)?;
        due(&format!("{feature} before: {run:?}"), &run.code, &Some(0))?;
    }
    let (_, standing) = pods.first().ok_or("no Pod needs anything")?;
    let run = create("standing", standing, false)?;
    due(&format!("a Pod that stands: {run:?}"), &run.code, &Some(0))?;
    for (feature, spec) in &pods {
        apply(cluster, folder, &["--block", feature])?;
        let refused = until_refused(feature, || create("needing", spec, true))?;
        let sentence = format!("new Pods must not need the node feature {feature}");
        due(
            &format!("the reason: {refused:?}"),
            &refused.stderr.contains(&sentence),
            &true,
        )?;
    }
    // One that needs nothing is taken, half of a need is none, and what stands can be changed.
    for spec in [
        json!({}),
        json!({"hostUsers": false}),
        json!({"hostNetwork": true}),
    ] {
        let run = create("plain", &spec, true)?;
        due(&format!("{spec}: {run:?}"), &run.code, &Some(0))?;
    }
    let run = kubectl(cluster, "admin", &["label", "pod", "standing", "tried=yes"])?;
    due(&format!("a label: {run:?}"), &run.code, &Some(0))?;
    if cluster.minor() == "1.37" {
        a_need_that_comes_later_is_refused(cluster)?;
    }
    Ok(())
}

/// An ephemeral container may bring a need to a Pod that had none.
fn a_need_that_comes_later_is_refused(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    block_on(async {
        let admin = cluster.client("admin").await?;
        let plain = pod(
            "plain",
            &json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        );
        admin.create(PODS, &plain).await?;
        let with = |mount: Value| json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "busybox", "volumeMounts": [mount]}]}});
        let place = format!("{PODS}/plain/ephemeralcontainers");
        let needing = with(json!({"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}));
        let refused = admin.merge_patch(&place, &needing).await;
        let code = refused.as_ref().err().and_then(testkit::ClientError::code);
        due(
            &format!("a need that comes later: {refused:?}"),
            &code,
            &Some(403),
        )?;
        let harmless = with(json!({"name": "v", "mountPath": "/v"}));
        admin.merge_patch(&place, &harmless).await?;
        Ok(())
    })
}
