//! Runs the plugin as its users do: through the kubectl of the cluster's minor.

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use testkit::Cluster;

use crate::machinery::Check;

pub(crate) const CHECKS: &[(&str, Check)] = &[
    (
        "connection_flags_mean_what_they_mean_to_kubectl",
        connection_flags,
    ),
    ("show_access_says_what_kubectl_auth_can_i_says", show_access),
    ("selections_mean_what_they_mean_to_kubectl_get", selections),
    ("the_plugin_behaves_like_kubectl", behaves_like_kubectl),
];

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `kubectl ARGUMENTS` as a user, with the plugin on the PATH.
pub(crate) fn kubectl(
    cluster: &Cluster,
    user: &str,
    arguments: &[&str],
) -> Result<Run, Box<dyn Error>> {
    with_kubeconfig(cluster, cluster.kubeconfig(user).as_os_str(), arguments)
}

/// The same with any value of KUBECONFIG.
fn with_kubeconfig(
    cluster: &Cluster,
    kubeconfig: &OsStr,
    arguments: &[&str],
) -> Result<Run, Box<dyn Error>> {
    let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-nominate"));
    let output = Command::new(cluster.kubectl())
        .args(arguments)
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("PATH", plugin.parent().ok_or("the plugin is in no folder")?)
        .env("KUBECONFIG", kubeconfig)
        .output()?;
    Ok(Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

/// The same flags on `kubectl get` and on the plugin reach the same server as the same user: the server's answer tells.
fn connection_flags(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let view = |user: &str, what: &str| -> Result<String, Box<dyn Error>> {
        let path = format!("jsonpath={{{what}}}");
        Ok(kubectl(cluster, user, &["config", "view", "--raw", "-o", &path])?.stdout)
    };
    let decoded = |user: &str, what: &str, name: &str| -> Result<String, Box<dyn Error>> {
        std::fs::write(file(name), STANDARD.decode(view(user, what)?)?)?;
        Ok(file(name))
    };
    let authority = decoded(
        "viewer",
        ".clusters[0].cluster.certificate-authority-data",
        "ca.crt",
    )?;
    let certificate = decoded(
        "admin",
        ".users[0].user.client-certificate-data",
        "admin.crt",
    )?;
    let key = decoded("admin", ".users[0].user.client-key-data", "admin.key")?;
    let token = view("viewer", ".users[0].user.token")?;
    let server = cluster.server().to_owned();
    let none = file("absent");
    let lists = format!("{none}:{}:{none}", cluster.kubeconfig("viewer").display());
    let viewer = cluster.kubeconfig("viewer").display().to_string();
    let admin = cluster.kubeconfig("admin").display().to_string();
    let nobody = cluster.kubeconfig("nobody").display().to_string();
    let alone = [
        "--server",
        server.as_str(),
        "--certificate-authority",
        authority.as_str(),
    ];

    let runs: &[(&str, Vec<&str>, &str)] = &[
        (&lists, vec![], "NotFound"),
        (
            &none,
            [&alone[..], &["--token", &token]].concat(),
            "NotFound",
        ),
        (
            &none,
            [&alone[..], &["--token", "wrong"]].concat(),
            "Unauthorized",
        ),
        (
            &none,
            [
                &alone[..],
                &["--client-certificate", &certificate, "--client-key", &key],
            ]
            .concat(),
            "NotFound",
        ),
        (
            &none,
            vec![
                "--server",
                &server,
                "--insecure-skip-tls-verify",
                "--token",
                &token,
            ],
            "NotFound",
        ),
        (&nobody, vec!["--token", &token], "NotFound"),
        (&nobody, vec!["--kubeconfig", &viewer], "NotFound"),
        (&viewer, vec!["--tls-server-name", "127.0.0.1"], "NotFound"),
        (&admin, vec!["--as", "nobody"], "User \"nobody\" cannot get"),
        (
            &admin,
            vec!["--as", "nobody", "--as-group", "system:masters"],
            "NotFound",
        ),
        (
            &admin,
            vec![
                "--as",
                "nobody",
                "--as-uid",
                "7",
                "--as-user-extra",
                "team=a",
                "--as-user-extra",
                "team=b",
            ],
            "User \"nobody\" cannot get",
        ),
        (&viewer, vec!["--as", "admin"], "cannot impersonate"),
        (
            &viewer,
            vec!["--disable-compression", "--request-timeout", "5s"],
            "NotFound",
        ),
    ];
    for (kubeconfig, flags, due) in runs {
        let get = with_kubeconfig(
            cluster,
            OsStr::new(kubeconfig),
            &[&["get", "pod", "absent"], &flags[..]].concat(),
        )?;
        let explain = with_kubeconfig(
            cluster,
            OsStr::new(kubeconfig),
            &[&["nominate", "explain", "absent"], &flags[..]].concat(),
        )?;
        if !explain.stderr.contains(due) {
            return Err(format!("{flags:?}: {due} is due, found {explain:?}").into());
        }
        same(&(explain.code, &explain.stderr), &(get.code, &get.stderr))
            .map_err(|error| format!("{flags:?}: {error}"))?;
    }
    // Where kubectl does not verify, or would talk to a stranger, neither do we; the words are the TLS library's.
    for flags in [
        vec!["--certificate-authority", &certificate],
        vec!["--tls-server-name", "other.example"],
    ] {
        let explain = with_kubeconfig(
            cluster,
            OsStr::new(&viewer),
            &[&["nominate", "explain", "absent"], &flags[..]].concat(),
        )?;
        expect(&explain, 1, "Unable to connect to the server")?;
    }
    Ok(())
}

/// Errors and their codes come through kubectl, in the words that kubectl itself uses.
fn behaves_like_kubectl(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let get = kubectl(cluster, "viewer", &["get", "pod", "absent"])?;
    let explain = kubectl(cluster, "viewer", &["nominate", "explain", "absent"])?;
    expect(
        &explain,
        1,
        "Error from server (NotFound): pods \"absent\" not found\n",
    )?;
    same(&get.stderr, &explain.stderr)?;

    let get = kubectl(cluster, "nobody", &["get", "pod", "absent"])?;
    let explain = kubectl(cluster, "nobody", &["nominate", "explain", "absent"])?;
    expect(
        &explain,
        1,
        "Error from server (Forbidden): pods \"absent\" is forbidden: User \"nobody\" cannot get resource \"pods\"",
    )?;
    same(&get.stderr, &explain.stderr)?;

    let get = kubectl(
        cluster,
        "viewer",
        &["get", "pod", "absent", "--context", "prod"],
    )?;
    let explain = kubectl(
        cluster,
        "viewer",
        &["nominate", "explain", "absent", "--context", "prod"],
    )?;
    expect(&explain, 1, &get.stderr)?;

    expect(
        &kubectl(cluster, "viewer", &["nominate", "explain"])?,
        2,
        "error: the following required arguments were not provided:",
    )?;
    let version = kubectl(cluster, "viewer", &["nominate", "version"])?;
    same(
        &version.stdout,
        &format!("kubectl-nominate v{}\n", env!("CARGO_PKG_VERSION")),
    )?;
    same(&version.code, &Some(0))
}

/// The rights of a limited user, as kubectl's own question has them.
fn show_access(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    for user in ["nobody", "pods-only", "viewer"] {
        let run = kubectl(
            cluster,
            user,
            &[
                "nominate",
                "explain",
                "absent",
                "--show-access",
                "-o",
                "json",
            ],
        )?;
        same(&(run.code, run.stderr.as_str()), &(Some(0), ""))?;
        let report: serde_json::Value = serde_json::from_str(&run.stdout)?;
        let rights = report["rights"].as_array().ok_or("no list of rights")?;
        for right in rights {
            let word = |key: &str| right[key].as_str().unwrap_or_default();
            let mut resource = word("resource").to_owned();
            if !word("group").is_empty() {
                resource = format!("{resource}.{}", word("group"));
            }
            if !word("name").is_empty() {
                resource = format!("{resource}/{}", word("name"));
            }
            let mut question = vec!["auth", "can-i", word("verb"), &resource];
            if word("namespace").is_empty() && !resource.starts_with('/') {
                question.push("-A");
            }
            let due = kubectl(cluster, user, &question)?;
            same(&due.stdout.starts_with("yes"), &(word("allowed") == "Yes"))
                .map_err(|error| format!("{user}: {question:?}: {error}: {right}"))?;
        }
        same(&(rights.len() >= 7), &true)?;
    }
    Ok(())
}

/// Two Deployments that select each other's Pods by a label, and a Pod that is nobody's; no node takes them.
const WORKLOADS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: selections}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: selections}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, values: [back]}]}
  template:
    metadata: {labels: {app: web, tier: front, weight: "7"}}
    spec: {nodeSelector: {no: such}, containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: canary, namespace: selections}
spec:
  replicas: 2
  selector: {matchLabels: {app: web, tier: canary}}
  template:
    metadata: {labels: {app: web, tier: canary, weight: "1"}}
    spec: {nodeSelector: {no: such}, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: selections, labels: {app: web, empty: ""}}
spec: {nodeSelector: {no: such}, containers: [{name: c, image: i}]}
"#;

/// The same selection on `kubectl get pods` and on the plugin gives the same Pods; a Deployment's are its own.
fn selections(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("workloads.yaml");
    std::fs::write(&file, WORKLOADS)?;
    let admin = |arguments: &[&str]| -> Result<Run, Box<dyn Error>> {
        let run = kubectl(cluster, "admin", arguments)?;
        if run.code == Some(0) {
            Ok(run)
        } else {
            Err(format!("{arguments:?}: {run:?}").into())
        }
    };
    admin(&["apply", "-f", &file.display().to_string()])?;
    for (name, count) in [("web", 3), ("canary", 2)] {
        let condition = format!("--for=jsonpath={{.status.replicas}}={count}");
        let workload = format!("deployment/{name}");
        admin(&[
            "wait",
            "-n",
            "selections",
            &condition,
            &workload,
            "--timeout=60s",
        ])?;
    }
    let explained = |arguments: &[&str]| -> Result<Vec<String>, Box<dyn Error>> {
        let all = [&["nominate", "explain", "-o", "json"], arguments].concat();
        let run = kubectl(cluster, "admin", &all)?;
        let answer: serde_json::Value = serde_json::from_str(&run.stdout)
            .map_err(|error| format!("{arguments:?}: {error}: {run:?}"))?;
        let one = vec![answer.clone()];
        let items = answer["items"].as_array().unwrap_or(&one);
        let mut names: Vec<String> = items
            .iter()
            .map(|item| item["pod"]["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        Ok(names)
    };
    let columns = "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}";
    for selection in [
        &["-l", "app=web,tier!=canary"][..],
        &["-l", "app in (web, api), tier notin (front)"],
        &["-l", "!tier"],
        &["-l", "empty="],
        &["-l", "weight>5"],
        &["-l", "weight<5,app==web"],
        &["-l", "app=other"],
        &["--field-selector", "status.phase=Pending,spec.nodeName="],
        &["--field-selector", "metadata.name!=alone", "-l", "tier"],
        &["--field-selector", "status.nominatedNodeName!="],
        &["alone"],
    ] {
        let here = [selection, &["-n", "selections"]].concat();
        let mut due: Vec<String> = if selection == ["alone"] {
            vec!["alone".to_owned()]
        } else {
            let get = [&["get", "pods", "-o", columns], &here[..]].concat();
            admin(&get)?.stdout.lines().map(str::to_owned).collect()
        };
        due.sort();
        same(&explained(&here)?, &due).map_err(|error| format!("{selection:?}: {error}"))?;
    }
    for (name, count) in [("web", 3), ("canary", 2)] {
        let found = explained(&[&format!("deploy/{name}"), "-n", "selections"])?;
        let own = found.iter().all(|pod| pod.starts_with(&format!("{name}-")));
        same(&(own, found.len()), &(true, count)).map_err(|error| format!("{found:?}: {error}"))?;
    }
    let get = [
        "get",
        "pod",
        "alone",
        "-n",
        "selections",
        "-o",
        "jsonpath={.metadata.uid}",
    ];
    let uid = admin(&get)?.stdout;
    same(
        &explained(&["--uid", &uid, "-A"])?,
        &vec!["alone".to_owned()],
    )?;
    // What is not there is told alike, on the same stream and with the same code.
    for words in [
        &["pods", "-l", "app=other", "-n", "selections"][..],
        &["deploy/absent", "-n", "selections"],
        &["pod", "absent", "gone", "-n", "selections"],
        &["pods", "absent", "-A"],
    ] {
        let get = kubectl(cluster, "admin", &[&["get"], words].concat())?;
        let explain = kubectl(
            cluster,
            "admin",
            &[&["nominate", "explain"], words].concat(),
        )?;
        same(
            &(&explain.stdout, &explain.stderr),
            &(&get.stdout, &get.stderr),
        )
        .map_err(|error| format!("{words:?}: {error}"))?;
        // Ours tells a wrong use apart.
        let usage = explain.code == Some(2) && words.contains(&"-A");
        same(&(usage || explain.code == get.code), &true)?;
    }
    admin(&["delete", "namespace", "selections", "--wait=false"])?;
    Ok(())
}

fn expect(run: &Run, code: i32, first: &str) -> Result<(), Box<dyn Error>> {
    if run.code == Some(code) && run.stderr.starts_with(first) && run.stdout.is_empty() {
        return Ok(());
    }
    Err(format!("expected code {code} and {first:?}, found {run:?}").into())
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    left: &T,
    right: &T,
) -> Result<(), Box<dyn Error>> {
    if left == right {
        Ok(())
    } else {
        Err(format!("{left:?} is not {right:?}").into())
    }
}
