//! Ports of Pods that a server does not forward: each way to fail has its word, and the rest of the answer goes on.
//!
//! The API server is a fake one; how a real one forwards is tried in `tests/live/forwarded.rs`.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Reply, Routes};

use super::plugin::command;

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const PODS: &str = "/api/v1/namespaces/kube-system/pods";

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "reason": reason, "message": message, "code": code,
    });
    Reply::new(code, "application/json", body.to_string()).into()
}

/// Name of the Pod, what the server answers, the state, and words of the detail.
fn faults() -> Vec<(&'static str, Answer, &'static str, &'static str)> {
    vec![
        (
            "forbidden",
            status(403, "Forbidden", "pods \"forbidden\" is forbidden: "),
            "Denied",
            "pods \"forbidden\" is forbidden; a port is forwarded to who may get and create pods/portforward",
        ),
        (
            "gone",
            status(404, "NotFound", "pods \"gone\" not found"),
            "Absent",
            "Error from server (NotFound): pods \"gone\" not found",
        ),
        (
            "no-kubelet",
            status(
                500,
                "InternalError",
                "error dialing backend: no route to host",
            ),
            "Unreachable",
            "error dialing backend: no route to host",
        ),
        (
            "page",
            Reply::new(200, "text/html", "<html>Sign in</html>").into(),
            "Unreachable",
            "opens no WebSocket",
        ),
        ("hangs", Answer::Hang, "Unreachable", "no answer within 2s"),
    ]
}

#[test]
fn what_is_not_forwarded_is_told_with_its_cause() {
    let faults = faults();
    let pods: Vec<Value> = faults
        .iter()
        .map(|(name, ..)| {
            json!({
                "metadata": {
                    "name": name, "namespace": "kube-system", "uid": name,
                    "annotations": {"kubernetes.io/config.mirror": "1"},
                },
                "spec": {
                    "nodeName": "n1",
                    "containers": [{"name": "c", "command": ["kube-scheduler", "--secure-port=10300"]}],
                },
            })
        })
        .collect();
    let list = |kind: &str, items: &Value| {
        Answer::json(&json!({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": items}))
    };
    let label = "node-role.kubernetes.io/control-plane";
    let node = json!([{"metadata": {"name": "n1", "uid": "n1", "labels": {label: ""}}}]);
    let selected = format!("{PODS}?labelSelector=tier%3Dcontrol-plane&limit=500");
    let mut routes = Routes::new()
        .get("/api/v1/nodes", list("NodeList", &node))
        .get(&selected, list("PodList", &pods.into()));
    for (name, answer, ..) in faults.clone() {
        routes = routes.get(&format!("{PODS}/{name}/portforward?&ports=10300"), answer);
    }
    let server = FakeServer::start(routes);
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path());
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let always = ["skew", "--component", "kube-scheduler", "-o", "json"];
    let more = ["--request-timeout", "2s", "--kubeconfig", kubeconfig];
    let output = command(BINARY, &[&always[..], &more].concat())
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built by this test run");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    for (name, _, state, words) in faults {
        for document in ["flagz", "metrics", "statusz"] {
            let subject = format!("{document} of kube-scheduler/{name}");
            let mut lines = answer["coverage"].as_array().into_iter().flatten();
            let line = lines.find(|line| line["subject"] == subject.as_str());
            let line = line.unwrap_or_else(|| panic!("nothing is told of {subject}: {answer:#}"));
            assert_eq!(line["state"], state, "{line}");
            let detail = line["detail"].as_str().unwrap_or_default();
            assert!(detail.contains(words), "{line}");
        }
    }
}
