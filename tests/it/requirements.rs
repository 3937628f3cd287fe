//! `features explain` on input that is bad, and what it asks of a server: reads alone, and dry runs where they are asked for.
//!
//! The API server is a fake one that keeps what it was asked. What a real one answers is tried by the live trials.

use std::fs;

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Reply, Routes};

use super::plugin::{Run, run};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const RESTART: &str = "RestartAllContainersOnContainerExits";

fn explain(arguments: &[&str], stdin: &str) -> Run {
    run(BINARY, &[&["explain"], arguments].concat(), stdin)
}

fn pod(name: &str, more: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "resourceVersion": "7", "uid": "u"},
        "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "CANARY"}],
            "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}});
    for (key, value) in more.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn node(name: &str, features: &[&str]) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"declaredFeatures": features, "nodeInfo": {"kubeletVersion": "v1.37.2"}}})
}

fn nodes(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": items})
}

#[test]
fn what_cannot_be_explained_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("it is written");
        path.display().to_string()
    };
    let service = file(
        "service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
    );
    let placed = file(
        "placed.json",
        &pod("p", &json!({}))
            .to_string()
            .replace("\"uid\"", "\"namespace\":\"shop\",\"uid\""),
    );
    let two = file(
        "two.json",
        &format!("{}{}", pod("a", &json!({})), pod("b", &json!({}))),
    );
    let one = file("one.json", &pod("a", &json!({})).to_string());
    let nodes = file("nodes.json", &nodes(&[]).to_string());
    for (arguments, code, sentence) in [
        (vec![], 2, "required arguments were not provided"),
        (
            vec!["-f", &service],
            1,
            "it holds no Pod and nothing that makes Pods",
        ),
        (vec!["-f", "/nonexistent"], 1, "cannot be read"),
        (
            vec!["-f", &placed, "-n", "other"],
            2,
            "does not match the namespace \"other\"",
        ),
        (
            vec!["-f", &two, "--update", &one],
            2,
            "--update changes one Pod, and 2 are meant",
        ),
        (
            vec!["-f", &placed, "--update", &one],
            2,
            "--update is of the Pod \"a\", and \"p\" is asked about",
        ),
        (vec!["-f", &one, "--update", &two], 1, "must hold one Pod"),
        (vec!["pod/a", "-f", &one], 2, "cannot be used with"),
        (vec!["svc/a"], 2, "it is about Pods"),
        (vec!["gone"], 1, "not found"),
    ] {
        let told = explain(&[&arguments[..], &["--from", &nodes]].concat(), "");
        assert_eq!(told.code, Some(code), "{arguments:?}: {told:?}");
        assert!(told.stderr.contains(sentence), "{arguments:?}: {told:?}");
        assert_eq!(told.stdout, "", "{arguments:?}");
    }
    let told = explain(&["a", "--server-dry-run"], "");
    assert_eq!(told.code, Some(2), "{told:?}");
}

#[test]
fn strange_lists_are_taken_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let many: Vec<String> = (0..10_000).map(|at| format!("Future{at}")).collect();
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    many.push(RESTART);
    let mut bare = node("bare", &[]);
    bare["status"] = Value::Null;
    let all = nodes(&[
        node("many", &many),
        node("case", &["restartallcontainersoncontainerexits"]),
        node("twice", &[RESTART, "A", RESTART]),
        bare,
    ]);
    let path = folder.path().join("nodes.json");
    fs::write(&path, all.to_string()).expect("it is written");
    let path = path.display().to_string();
    let told = explain(
        &["-f", "-", "--from", &path, "-o", "json"],
        &pod("p", &json!({"futureField": {"x": [1]}})).to_string(),
    );
    assert_eq!(told.code, Some(0), "{told:?}");
    let answer: Value = serde_json::from_str(&told.stdout).expect("JSON");
    // No kubelet of that version declares all that, so that nothing in such a list is its word.
    assert_eq!(answer["verdict"]["cause"], "stale-promise");
    assert_eq!(answer["nodes"].as_array().map(Vec::len), Some(4));
    let satisfying: Vec<&Value> = answer["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|node| node["satisfies"] == true)
        .map(|node| &node["name"])
        .collect();
    assert_eq!(satisfying, ["many", "twice"]);
    assert!(!told.stdout.contains("CANARY"), "{told:?}");
}

#[test]
fn a_server_is_only_read_and_dry_runs_are_marked() {
    let bound = pod("bound", &json!({"nodeName": "n1"}));
    let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "pods \"bound\" is forbidden: pod update requires features X which are not available on node \"n1\""});
    let of_node = node("n1", &[RESTART]);
    let server = FakeServer::start(
        Routes::new()
            .get(
                "/version",
                Answer::json(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"})),
            )
            .get(
                "/api/v1/nodes",
                Answer::json(&nodes(std::slice::from_ref(&of_node))),
            )
            .get("/api/v1/nodes/n1", Answer::json(&of_node))
            .get(
                "/api/v1/namespaces/default/pods/bound",
                Answer::json(&bound),
            )
            .on(
                "POST",
                "/api/v1/namespaces/default/pods",
                Answer::json(&pod("new", &json!({}))),
            )
            .on(
                "PATCH",
                "/api/v1/namespaces/default/pods/bound/resize",
                Reply::new(403, "application/json", refusal.to_string()),
            ),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path()).display().to_string();
    let file = |name: &str, object: &Value| {
        let path = folder.path().join(name);
        fs::write(&path, object.to_string()).expect("it is written");
        path.display().to_string()
    };
    let new = file("new.json", &pod("new", &json!({})));
    let grown = file(
        "grown.json",
        &pod(
            "bound",
            &json!({"nodeName": "n1", "resources": {"limits": {"cpu": "2"}}}),
        ),
    );
    let answer = |arguments: &[&str]| -> Value {
        let always = ["-o", "json", "--kubeconfig", &kubeconfig];
        let told = explain(&[&always[..], arguments].concat(), "");
        serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"))
    };
    assert_eq!(answer(&["-f", &new])["verdict"]["kind"], "Satisfied");
    let predicted = answer(&["bound", "--update", &grown]);
    assert_eq!(predicted["verdict"]["kind"], "RefusedByAdmission");
    assert!(predicted["server"].is_null());
    assert!(server.requests().iter().all(|request| !request.is_write()));

    let created = answer(&["-f", &new, "--server-dry-run"]);
    assert_eq!(created["server"]["accepted"], "Yes");
    let refused = answer(&["bound", "--update", &grown, "--server-dry-run"]);
    assert_eq!(refused["server"]["accepted"], "No");
    assert_eq!(refused["server"]["code"], 403);
    assert_eq!(refused["update"]["admitted"], "No");
    let requests = server.requests();
    let writes: Vec<_> = requests
        .iter()
        .filter(|request| request.is_write())
        .collect();
    assert_eq!(writes.len(), 2);
    for write in &writes {
        assert!(write.target.contains("dryRun=All"), "{}", write.target);
    }
    let sent: Value = serde_json::from_slice(&writes[0].body).expect("JSON");
    assert!(sent["metadata"]["resourceVersion"].is_null() && sent["metadata"]["uid"].is_null());
    let patch: Value = serde_json::from_slice(&writes[1].body).expect("JSON");
    assert_eq!(patch["spec"]["resources"]["limits"]["cpu"], "2");
    assert!(patch["spec"]["nodeName"].is_null(), "{patch}");
}

#[test]
fn without_the_right_to_nodes_nothing_is_said_of_them() {
    let server = FakeServer::start(Routes::new());
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path()).display().to_string();
    let arguments = ["-f", "-", "-o", "json", "--kubeconfig", &kubeconfig];
    let told = explain(&arguments, &pod("new", &json!({})).to_string());
    assert_eq!(told.code, Some(5), "{told:?}");
    let answer: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(answer["verdict"]["cause"], "nodes-not-observed");
}
