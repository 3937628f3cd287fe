//! Of which pool a Pod without a node is: by what its own words allow, as `features guard` counts it. The server is a fake one.
//!
//! What words allow is the scheduler's to say (component-helpers `nodeaffinity`); a live trial (`tests/live/guard.rs`) asks a real one.

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Routes};

use super::plugin::{Run, run};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const FEATURE: &str = "RestartAllContainersOnContainerExits";

fn list(kind: &str, items: &[Value]) -> Answer {
    Answer::json(
        &json!({"apiVersion": "v1", "kind": format!("{kind}List"), "metadata": {"resourceVersion": "9"}, "items": items}),
    )
}

/// Two of a pool, one each of two others, one of none.
fn nodes() -> Answer {
    let node = |name: &str, labels: Value| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-11-30T08:00:00Z", "labels": labels},
            "status": {"nodeInfo": {"kubeletVersion": "v1.37.2"}},
        })
    };
    let all = [
        node("n1", json!({"pool": "blue"})),
        node("n2", json!({"pool": "blue"})),
        node("n3", json!({"pool": "green", "size": "4"})),
        node("n4", json!({"pool": "red", "size": "8"})),
        node("n5", json!({})),
    ];
    list("Node", &all)
}

fn pod(name: &str, words: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2026-11-30T08:00:00Z"},
        "spec": {"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
        "status": {"phase": "Pending"},
    });
    for (key, value) in words.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

/// Terms of what its affinity requires.
fn terms(all: &Value) -> Value {
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": all}}})
}

fn labels(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

fn named(name: &str) -> Value {
    json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]})
}

/// Words of Pods, and the pool that alone has nodes for them.
fn cases() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let by_affinity = |all: Value| json!({"affinity": terms(&all)});
    let both = json!({
        "matchExpressions": labels("pool", "In", &["blue"])["matchExpressions"],
        "matchFields": named("n2")["matchFields"],
    });
    let preferred = json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
        [{"weight": 1, "preference": labels("pool", "In", &["green"])}]}}});
    vec![
        ("any", json!({}), None),
        (
            "selector",
            json!({"nodeSelector": {"pool": "green"}}),
            Some("green"),
        ),
        ("preference", preferred, None),
        (
            "in",
            by_affinity(json!([labels("pool", "In", &["green", "none"])])),
            Some("green"),
        ),
        // A node without the label is none of those values.
        (
            "not-in",
            by_affinity(json!([labels("pool", "NotIn", &["blue", "red"])])),
            None,
        ),
        (
            "exists",
            by_affinity(json!([labels("size", "Exists", &[])])),
            None,
        ),
        (
            "greater",
            by_affinity(json!([labels("size", "Gt", &["4"])])),
            Some("red"),
        ),
        (
            "less",
            by_affinity(json!([labels("size", "Lt", &["8"])])),
            Some("green"),
        ),
        (
            "no-number",
            by_affinity(json!([labels("size", "Gt", &["x"])])),
            None,
        ),
        (
            "without",
            by_affinity(json!([labels("pool", "DoesNotExist", &[])])),
            None,
        ),
        ("name", by_affinity(json!([named("n1")])), Some("blue")),
        (
            "two-of-one",
            by_affinity(json!([named("n1"), named("n2")])),
            Some("blue"),
        ),
        (
            "two-of-two",
            by_affinity(json!([named("n1"), named("n3")])),
            None,
        ),
        ("both", by_affinity(json!([both])), Some("blue")),
        ("empty-term", by_affinity(json!([{}])), None),
        ("no-term", by_affinity(json!([])), None),
        (
            "contradiction",
            json!({"nodeSelector": {"pool": "blue"}, "affinity": terms(&json!([named("n3")]))}),
            None,
        ),
    ]
}

fn guard(pods: &[Value], arguments: &[&str], stdin: &str) -> Run {
    let routes = Routes::new()
        .get(
            "/version",
            Answer::json(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"})),
        )
        .get("/api/v1/nodes", nodes())
        .get("/api/v1/pods", list("Pod", pods));
    let server = FakeServer::start(routes);
    server.set_date(Some("Mon, 30 Nov 2026 08:05:00 GMT"));
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path()).display().to_string();
    let last = [
        "--kubeconfig",
        &kubeconfig,
        "--pool-label",
        "pool",
        "-o",
        "json",
    ];
    run(BINARY, &[&["guard"], arguments, &last[..]].concat(), stdin)
}

/// The numbers of Pods that wait for the feature, by what they are of.
fn measured(run: &Run) -> Vec<(String, u64, String)> {
    let baseline: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let readings = baseline["readings"].as_array().expect("a list").iter();
    let own =
        readings.filter(|it| it["condition"] == "pending-pods" && it["of"]["feature"] == FEATURE);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    own.map(|it| {
        let count = it["sample"].as_u64().expect("a count");
        (word(&it["of"]["pool"]), count, word(&it["detail"]))
    })
    .collect()
}

#[test]
fn a_pod_is_of_the_pool_that_alone_has_nodes_for_it() {
    for (name, words, due) in cases() {
        let run = guard(&[pod(name, &words)], &["baseline"], "");
        let found = measured(&run);
        let pools: Vec<&str> = found.iter().map(|(pool, ..)| pool.as_str()).collect();
        assert_eq!(pools, ["", "blue", "green", "red"], "{name}");
        let own: Vec<&str> = found
            .iter()
            .filter(|(pool, count, _)| !pool.is_empty() && *count > 0)
            .map(|(pool, ..)| pool.as_str())
            .collect();
        assert_eq!(own, due.into_iter().collect::<Vec<_>>(), "{name}");
        let (_, count, detail) = &found[0];
        assert_eq!(*count, 1, "{name}");
        let is_told = detail.contains("1 of them are of no pool");
        assert_eq!(is_told, due.is_none(), "{name}: {detail}");
    }
}

/// As many wait as before, and one more of them for a pool: the sum alone would hide it.
#[test]
fn a_pool_has_its_own_number() {
    let of = |name: &str, pool: &str| pod(name, &json!({"nodeSelector": {"pool": pool}}));
    let before = guard(&[of("a", "green"), of("b", "red")], &["baseline"], "");
    let flags = [
        "--baseline",
        "-",
        "--select",
        "pending-pods",
        "--min-sample",
        "1",
    ];
    let same = guard(&[of("a", "green"), of("b", "red")], &flags, &before.stdout);
    assert_eq!(same.code, Some(0), "{same:?}");
    let after = guard(&[of("c", "red"), of("b", "red")], &flags, &before.stdout);
    assert_eq!(after.code, Some(3), "{after:?}");
    let report: Value = serde_json::from_str(&after.stdout).expect("it is JSON");
    let findings = report["checks"][0]["findings"].as_array().expect("a list");
    let subjects: Vec<&Value> = findings.iter().map(|it| &it["subject"]).collect();
    assert_eq!(subjects, [&json!(format!("pool red {FEATURE}"))]);
    let evidence = &findings[0]["evidence"][0]["text"];
    let due = format!(
        "2 Pods that only nodes of pool red (v1.37.2) may take, and that require {FEATURE} have no node: shop/b, shop/c"
    );
    assert_eq!(evidence, &json!(due));
}

/// A node that nobody saw may be of any pool.
#[test]
fn without_all_nodes_no_pool_is_told() {
    let routes = Routes::new().get("/api/v1/pods", list("Pod", &[pod("a", &json!({}))]));
    let server = FakeServer::start(routes);
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path()).display().to_string();
    let words = [
        "guard",
        "baseline",
        "--kubeconfig",
        &kubeconfig,
        "-o",
        "json",
    ];
    let run = run(BINARY, &words, "");
    let found = measured(&run);
    assert_eq!(found.len(), 1, "{found:?}");
    let baseline: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    let unknown = &baseline["unknown"]["pending-pods"];
    assert_eq!(unknown, &json!("nodes were not all read"), "{baseline:#}");
}
