//! Several clusters at once: what differs between them, and one that fails.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes files")]

use std::fs;

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Routes};

use super::plugin::{Run, root, run};

/// A gate that kubelets use.
const GATE: &str = "ExtendWebSocketsToKubelet";

fn features(arguments: &[&str]) -> Run {
    run(env!("CARGO_BIN_EXE_kubectl-features"), arguments, "")
}

/// A cluster of one node, whose kubelet has the gate as it is said.
fn cluster(on: bool) -> Routes {
    let kubelet = "tests/recorded/features/1.37/kubelet/metrics-features.txt";
    let metrics = fs::read_to_string(root().join(kubelet)).expect("it was recorded");
    let line = |value: u8| {
        format!("kubernetes_feature_enabled{{name=\"{GATE}\",stage=\"BETA\"}} {value}\n")
    };
    assert!(metrics.contains(&line(1)), "{GATE} is in the recording");
    let metrics = metrics.replace(&line(1), &line(on.into()));
    let gates = if on { json!({}) } else { json!({GATE: false}) };
    let node = json!({
        "metadata": {"name": "n1"},
        "status": {"nodeInfo": {"kubeletVersion": "v1.37.2"}},
    });
    Routes::new()
        .get(
            "/api/v1/nodes",
            Answer::json(
                &json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [node]}),
            ),
        )
        .get(
            "/api/v1/nodes/n1/proxy/configz",
            Answer::json(&json!({"kubeletconfig": {"featureGates": gates}})),
        )
        .get("/api/v1/nodes/n1/proxy/metrics", Answer::text(metrics))
}

fn kubeconfig(contexts: &[(&str, String)]) -> String {
    let named = |kind: &str, of: &dyn Fn(&str, &str) -> Value| {
        let all: Vec<Value> = contexts.iter().map(|(name, url)| of(name, url)).collect();
        (kind.to_owned(), Value::Array(all))
    };
    let config: serde_json::Map<String, Value> = [
        ("apiVersion".to_owned(), json!("v1")),
        ("kind".to_owned(), json!("Config")),
        ("users".to_owned(), json!([{"name": "u", "user": {}}])),
        named(
            "clusters",
            &|name, url| json!({"name": name, "cluster": {"server": url}}),
        ),
        named(
            "contexts",
            &|name, _| json!({"name": name, "context": {"cluster": name, "user": "u"}}),
        ),
    ]
    .into_iter()
    .collect();
    Value::Object(config).to_string()
}

#[test]
fn a_cluster_that_fails_does_not_lose_the_others() {
    let (blue, green) = (
        FakeServer::start(cluster(true)),
        FakeServer::start(cluster(false)),
    );
    // Nobody listens at a port that was given back.
    let dead = FakeServer::start(Routes::new()).url();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config").display().to_string();
    let contexts = [("blue", blue.url()), ("dead", dead), ("green", green.url())];
    fs::write(&file, kubeconfig(&contexts)).expect("it is written");
    let always = [
        "skew",
        "--kubeconfig",
        &file,
        "--component",
        "kubelet",
        "-o",
        "json",
    ];
    let skew = |more: &[&str]| {
        let run = features(&[&always[..], more].concat());
        let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        (run, answer)
    };
    let changed = |answer: &Value| {
        let differences = answer["differences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let of = |value: &Value| (value["gate"].clone(), value["values"].clone());
        let [(gate, values)] = differences
            .iter()
            .map(of)
            .collect::<Vec<_>>()
            .try_into()
            .expect("one gate differs");
        assert_eq!(gate, GATE);
        assert_eq!(values[0]["components"], json!(["kubelet/blue:n1"]));
        assert_eq!(
            (&values[0]["value"], &values[1]["value"]),
            (&json!("True"), &json!("False"))
        );
        assert_eq!(values[1]["components"], json!(["kubelet/green:n1"]));
        assert_eq!(values[1]["cause"], "ConfigFile");
    };
    let (all, answer) = skew(&["--all-contexts"]);
    assert_eq!(all.code, Some(1), "{all:?}");
    assert!(
        all.stderr
            .starts_with("dead: The connection to the server "),
        "{all:?}"
    );
    changed(&answer);
    // Without the dead one nothing failed; a difference between clusters is a warning.
    let (some, answer) = skew(&["--context-regex", "^(blue|green)$"]);
    assert_eq!((some.code, some.stderr.as_str()), (Some(0), ""));
    changed(&answer);
    let (named, answer) = skew(&[
        "--context",
        "blue",
        "--context",
        "green",
        "--fail-on=warning",
    ]);
    assert_eq!((named.code, named.stderr.as_str()), (Some(4), ""));
    changed(&answer);
    let (none, _) = skew(&["--context-regex", "^red$"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    // Where one context is asked for the last one counts, as for kubectl.
    let snapshot = [
        "snapshot",
        "--kubeconfig",
        &file,
        "--context",
        "dead",
        "--context",
        "blue",
    ];
    assert_eq!(features(&snapshot).code, Some(0));
}
