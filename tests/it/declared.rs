//! What `features declared` asks a server for, and what it makes of odd answers: the server is a fake one.
//!
//! It must not look at how a real kubelet behaves (`tests/live/declared.rs`).

use std::collections::BTreeMap;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Reply, Routes};

use super::plugin::{Run, command};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const NODES: &str = "/api/v1/nodes";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const NOW: &str = "2026-11-30T08:00:10Z";

fn node(name: &str, version: &str, features: &Value) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "blue"}},
        "status": {
            "nodeInfo": {"kubeletVersion": version},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-30T08:00:00Z"}],
            "declaredFeatures": features,
        },
    })
}

fn page(items: &[Value], token: &str) -> Answer {
    Answer::json(&json!({
        "kind": "NodeList", "apiVersion": "v1", "metadata": {"continue": token}, "items": items,
    }))
}

/// The Lease of each of these nodes, renewed at a time.
fn leases(names: &[&str], renewed: &str) -> Answer {
    let items = names.iter().map(|name| {
        json!({
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"leaseDurationSeconds": 40, "renewTime": renewed},
        })
    });
    Answer::json(&json!({
        "kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1", "metadata": {},
        "items": items.collect::<Vec<_>>(),
    }))
}

fn forbidden() -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
        "message": "it is forbidden", "code": 403,
    });
    Reply::new(403, "application/json", body.to_string()).into()
}

fn declared(server: &FakeServer, more: &[&str]) -> (Run, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path());
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let always = [
        "declared",
        "-o",
        "json",
        "--now",
        NOW,
        "--kubeconfig",
        kubeconfig,
    ];
    let output = command(BINARY, &[&always[..], more].concat())
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built by this test run");
    let run = Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("output is UTF-8"),
    };
    let answer = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    (run, answer)
}

/// Freshness and cause by node.
fn worth(answer: &Value) -> BTreeMap<&str, (&str, &str)> {
    let rows = answer["nodes"].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter()
        .map(|row| {
            let of = |key: &str| row[key].as_str().unwrap_or_default();
            (of("name"), (of("freshness"), of("cause")))
        })
        .collect()
}

fn own() -> Value {
    json!(["InPlacePodVerticalScalingInitContainers"])
}

#[test]
fn two_lists_are_enough_where_versions_decide() {
    let routes = Routes::new()
        .get(
            &format!("{NODES}?limit=500"),
            page(&[node("a", "v1.37.2", &own())], "t"),
        )
        .get(
            &format!("{NODES}?limit=500&continue=t"),
            page(
                &[
                    node("b", "v1.34.4", &Value::Null),
                    node("c", "v1.34.4", &own()),
                ],
                "",
            ),
        )
        .get(LEASES, leases(&["a", "b", "c"], "2026-11-30T08:00:05Z"));
    let server = FakeServer::start(routes);
    let (run, answer) = declared(&server, &[]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let due = [
        ("a", ("Fresh", "rewritten")),
        ("b", ("Fresh", "nothing-declared")),
        ("c", ("Stale", "kubelet-too-old")),
    ];
    assert_eq!(worth(&answer), BTreeMap::from(due));
    assert_eq!(answer["pools"][0]["freshness"], "Stale");
    assert_eq!(answer["features"][0]["nodes"], 2);
    let asked: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.path().to_owned())
        .collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    let (run, _) = declared(&server, &["--fail-on", "error"]);
    assert_eq!(run.code, Some(3));
}

#[test]
fn kubelets_are_asked_only_where_their_gates_decide() {
    let nodes = [
        node("a", "v1.37.2", &own()),
        node("b", "v1.36.3", &own()),
        node("c", "v1.36.3", &Value::Null),
        node("d", "v1.36.3", &own()),
    ];
    let configz = json!({"kubeletconfig": {"featureGates": {"NodeDeclaredFeatures": false}}});
    let routes = Routes::new()
        .get(NODES, page(&nodes, ""))
        .get(LEASES, leases(&["a", "b", "c"], "2026-11-30T08:00:05Z"))
        .get("/api/v1/nodes/b/proxy/configz", Answer::json(&configz))
        .get("/api/v1/nodes/d/proxy/configz", forbidden());
    let server = FakeServer::start(routes);
    let (run, answer) = declared(&server, &[]);
    assert_eq!(run.code, Some(5), "{run:?}");
    let due = [
        ("a", ("Fresh", "rewritten")),
        ("b", ("Stale", "mechanism-off")),
        ("c", ("Fresh", "nothing-declared")),
        ("d", ("Unknown", "gates-not-observed")),
    ];
    assert_eq!(worth(&answer), BTreeMap::from(due));
    // Configured is not observed.
    assert_eq!(answer["nodes"][1]["certainty"], "Inferred");
    let of_others = |path: &str| path.contains("/a/proxy") || path.contains("/c/proxy");
    assert!(
        !server
            .requests()
            .iter()
            .any(|request| of_others(request.path()))
    );
}

#[test]
fn without_leases_the_condition_tells_and_a_lease_that_ran_out_counts() {
    let nodes = || page(&[node("a", "v1.37.2", &own())], "");
    let worth_by = |leases: Answer, more: &[&str]| {
        let routes = Routes::new().get(NODES, nodes()).get(LEASES, leases);
        let (run, answer) = declared(&FakeServer::start(routes), more);
        let (freshness, cause) = worth(&answer)["a"];
        (run.code, format!("{freshness} {cause}"))
    };
    let fresh = (Some(0), "Fresh rewritten".to_owned());
    assert_eq!(worth_by(forbidden(), &[]), fresh);
    assert_eq!(worth_by(leases(&[], ""), &[]), fresh);
    let silent = (Some(5), "Unknown kubelet-silent".to_owned());
    assert_eq!(
        worth_by(leases(&["a"], "2026-11-30T07:59:00Z"), &[]),
        silent
    );
    let past = (Some(5), "Unknown past-max-age".to_owned());
    let aged = worth_by(leases(&["a"], "2026-11-30T08:00:05Z"), &["--max-age", "4s"]);
    assert_eq!(aged, past);
}

#[test]
fn ten_thousand_names_and_a_denied_list_are_told() {
    let many: Vec<String> = (10_000..20_000)
        .map(|number| format!("F{number}"))
        .collect();
    let routes = Routes::new()
        .get(NODES, page(&[node("a", "v1.37.2", &json!(many))], ""))
        .get(LEASES, leases(&[], ""));
    let (run, answer) = declared(&FakeServer::start(routes), &[]);
    assert_eq!(run.code, Some(0));
    assert_eq!(worth(&answer)["a"], ("Stale", "not-of-this-version"));
    assert_eq!(
        answer["nodes"][0]["features"].as_array().map(Vec::len),
        Some(10_000)
    );
    let evidence = answer["nodes"][0]["evidence"].to_string();
    assert!(
        evidence.contains("F10000, F10001, F10002 and 9997 more"),
        "{evidence}"
    );
    let routes = Routes::new()
        .get(NODES, forbidden())
        .get(LEASES, forbidden());
    let (run, answer) = declared(&FakeServer::start(routes), &[]);
    assert_eq!((run.code, &answer["nodes"]), (Some(5), &json!([])));
}
