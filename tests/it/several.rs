//! Several Pods in one answer: what is asked for, whom a selection means, and what is told when some are not there.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::fake_server::{Answer, FakeServer, Routes, refusals};

use super::plugin::{Run, nominate};

const PODS: &str = "/api/v1/namespaces/shop/pods";
const EVENTS: &str = "/api/v1/namespaces/shop/events";

/// A Pod that a scheduler tried; with `node` a bound one, with `nominated` one that waits there.
fn pod(name: &str, node: Option<&str>, nominated: Option<&str>) -> Value {
    let reason = if node.is_some() {
        json!([])
    } else {
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu."}])
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("u-{name}"), "resourceVersion": "7", "creationTimestamp": "2026-11-30T08:00:00Z",
            "labels": {"app": "web"}, "managedFields": []
        },
        "spec": {"nodeName": node},
        "status": {"phase": if node.is_some() { "Running" } else { "Pending" }, "nominatedNodeName": nominated, "conditions": reason}
    })
}

fn owned(mut pod: Value, kind: &str, name: &str, uid: &str) -> Value {
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}]);
    pod
}

fn list(kind: &str, items: &[Value]) -> Answer {
    Answer::json(
        &json!({"apiVersion": "v1", "kind": format!("{kind}List"), "metadata": {"resourceVersion": "9"}, "items": items}),
    )
}

fn node() -> Answer {
    Answer::json(
        &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
    )
}

/// Answers to what every explanation of a pending Pod reads, with nothing in them.
fn quiet() -> Routes {
    Routes::new()
        .get(
            "/version",
            Answer::json(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"})),
        )
        .get(EVENTS, list("Event", &[]))
        .get("/api/v1/events", list("Event", &[]))
        .get("/api/v1/pods", list("Pod", &[]))
        .get("/api/v1/nodes/n1", node())
        .get(
            "/version",
            Answer::json(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"})),
        )
}

fn serve(routes: Routes) -> (FakeServer, TempDir, PathBuf) {
    let server = FakeServer::start(routes);
    server.set_date(Some("Mon, 30 Nov 2026 08:05:00 GMT"));
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path());
    (server, folder, kubeconfig)
}

fn explain(routes: Routes, arguments: &[&str]) -> (Run, Vec<String>) {
    let (server, _folder, kubeconfig) = serve(routes);
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let run = nominate(&[&["explain", "--kubeconfig", kubeconfig], arguments].concat());
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.method == "GET"));
    (
        run,
        requests.into_iter().map(|request| request.target).collect(),
    )
}

fn names(run: &Run) -> Vec<String> {
    let answer: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr));
    assert_eq!(answer["kind"], "NominationExplanationList");
    let items = answer["items"].as_array().expect("a list");
    items
        .iter()
        .map(|item| item["pod"]["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn one_list_of_pods_and_one_of_events_serve_them_all() {
    let pods: Vec<Value> = ["d", "c", "b"]
        .iter()
        .map(|name| pod(name, None, Some("n1")))
        .chain([pod("a", Some("n1"), None)])
        .collect();
    let routes = quiet().get(PODS, list("Pod", &pods));
    let (run, mut requests) = explain(routes, &["-n", "shop", "-l", "app in (web,api),!old"]);
    let first: Vec<&str> = run
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(first, ["POD", "b", "c", "d", "a"], "{}", run.stderr);
    requests.sort();
    let due = [
        "/api/v1/events?fieldSelector=reason%3DPreempted%2CinvolvedObject.kind%3DPod&limit=500",
        "/api/v1/namespaces/shop/events?fieldSelector=involvedObject.kind%3DPod&limit=500",
        "/api/v1/namespaces/shop/pods?labelSelector=app%20in%20%28api%2Cweb%29%2C%21old&limit=500",
        "/api/v1/nodes/n1",
        "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&resourceVersion=7&resourceVersionMatch=NotOlderThan",
        "/version",
    ];
    assert_eq!(requests, due);
}

#[test]
fn of_all_namespaces_one_list_is_enough() {
    let pods: Vec<Value> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| pod(name, None, Some("n1")))
        .collect();
    let routes = quiet().get("/api/v1/pods", list("Pod", &pods));
    let (run, mut requests) = explain(routes, &["-A", "-n", "ignored"]);
    assert!(
        run.stdout.starts_with("NAMESPACE   POD   VERDICT"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    requests.sort();
    let due = [
        "/api/v1/events?fieldSelector=involvedObject.kind%3DPod&limit=500",
        "/api/v1/events?fieldSelector=reason%3DPreempted%2CinvolvedObject.kind%3DPod&limit=500",
        "/api/v1/nodes/n1",
        "/api/v1/pods?limit=500",
    ];
    assert_eq!(requests, due);
}

#[test]
fn a_deployments_pods_are_those_of_its_replica_sets() {
    let workload = |kind: &str, name: &str, uid: &str| {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": uid},
            "spec": {"selector": {"matchLabels": {"app": "web"}}}})
    };
    let pods = [
        owned(
            pod("mine", Some("n1"), None),
            "ReplicaSet",
            "web-1",
            "u-set",
        ),
        owned(
            pod("foreign", Some("n1"), None),
            "ReplicaSet",
            "other-1",
            "u-other",
        ),
        owned(
            pod("recreated", Some("n1"), None),
            "ReplicaSet",
            "web-1",
            "u-old",
        ),
        pod("alone", Some("n1"), None),
    ];
    let routes = || {
        quiet()
            .get(
                "/apis/apps/v1/namespaces/shop/deployments/web",
                Answer::json(&workload("Deployment", "web", "u-web")),
            )
            .get(
                "/apis/apps/v1/namespaces/shop/replicasets/web-1",
                Answer::json(&owned(
                    workload("ReplicaSet", "web-1", "u-set"),
                    "Deployment",
                    "web",
                    "u-web",
                )),
            )
            .get(
                "/apis/apps/v1/namespaces/shop/replicasets/other-1",
                Answer::json(&workload("ReplicaSet", "other-1", "u-other")),
            )
            .get(
                &format!("{PODS}?labelSelector=app%3Dweb&limit=500"),
                list("Pod", &pods),
            )
    };
    for words in [
        &["deploy/web"][..],
        &["deployments.apps/web"],
        &["deployment", "web"],
    ] {
        let (run, _) = explain(
            routes(),
            &[words, &["-n", "shop", "-o", "json"][..]].concat(),
        );
        assert_eq!(names(&run), ["mine"], "{words:?}");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let missing = refusals::Resource {
        group: "apps",
        name: "deployments",
    };
    let gone = routes().get(
        "/apis/apps/v1/namespaces/shop/deployments/web",
        refusals::not_found(missing, "web"),
    );
    let (run, _) = explain(gone, &["deploy/web", "-n", "shop"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(1),
            "Error from server (NotFound): deployments.apps \"web\" not found\n"
        )
    );
}

#[test]
fn a_job_owns_its_pods_itself() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "shop", "uid": "u-sum"},
        "spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}}});
    let pods = [
        owned(pod("sum-1", None, None), "Job", "sum", "u-sum"),
        owned(pod("else", None, None), "Job", "else", "u-else"),
    ];
    let routes = quiet()
        .get(
            "/apis/batch/v1/namespaces/shop/jobs/sum",
            Answer::json(&job),
        )
        .get(PODS, list("Pod", &pods));
    let (run, _) = explain(routes, &["job/sum", "-n", "shop", "-o", "json"]);
    assert_eq!(names(&run), ["sum-1"]);
}

#[test]
fn of_several_names_the_missing_are_told_after_the_rest() {
    let routes = quiet()
        .get(
            &format!("{PODS}/a"),
            Answer::json(&pod("a", Some("n1"), None)),
        )
        .get(
            &format!("{PODS}/b"),
            refusals::not_found(refusals::Resource::core("pods"), "b"),
        )
        .get(
            &format!("{PODS}/c"),
            refusals::not_found(refusals::Resource::core("pods"), "c"),
        );
    let (run, requests) = explain(routes, &["pod", "a", "b", "c", "-n", "shop", "-o", "json"]);
    assert_eq!(names(&run), ["a"]);
    let sentence =
        |name: &str| format!("Error from server (NotFound): pods \"{name}\" not found\n");
    assert_eq!(
        (run.code, run.stderr),
        (Some(1), sentence("b") + &sentence("c"))
    );
    assert!(
        requests
            .iter()
            .all(|request| !request.starts_with(&format!("{PODS}?"))),
        "no list where names are enough: {requests:?}"
    );
}

#[test]
fn nothing_selected_is_told_in_kubectls_words() {
    let routes = || {
        Routes::new()
            .get(PODS, list("Pod", &[]))
            .get("/api/v1/pods", list("Pod", &[]))
    };
    let (run, _) = explain(routes(), &["-l", "app=x", "-n", "shop"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "", "No resources found in shop namespace.\n")
    );
    let (run, _) = explain(routes(), &["-A"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "", "No resources found\n")
    );
    let (run, _) = explain(
        routes(),
        &["pods", "-l", "app=x", "-n", "shop", "-o", "json"],
    );
    assert_eq!((names(&run).len(), run.stderr.as_str()), (0, ""));
}

#[test]
fn a_list_that_is_refused_is_no_empty_list() {
    let refusal = refusals::forbidden(
        "alice",
        "list",
        refusals::Resource::core("pods"),
        Some("shop"),
        None,
    );
    let (run, _) = explain(
        Routes::new().get(PODS, refusal),
        &["-l", "app=x", "-n", "shop"],
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr
            .starts_with("Error from server (Forbidden): pods is forbidden: User \"alice\""),
        "{}",
        run.stderr
    );
}

#[test]
fn a_list_that_breaks_off_leaves_the_question_open() {
    let page = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": "next"}, "items": [pod("a", Some("n1"), None)]});
    let first = format!("{PODS}?labelSelector=app&limit=500");
    let routes = quiet().get(&first, Answer::json(&page)).get(
        &format!("{first}&continue=next"),
        refusals::expired("the provided continue parameter is too old"),
    );
    let (run, _) = explain(routes, &["-l", "app", "-n", "shop", "-o", "json"]);
    assert_eq!((names(&run), run.code), (vec!["a".to_owned()], Some(5)));
}

#[test]
fn the_first_exit_code_that_applies_to_any_counts() {
    let pods = [
        pod("a", None, Some("n1")),
        pod("b", None, Some("gone")),
        pod("c", Some("n1"), None),
    ];
    let routes = || {
        quiet()
            .get(PODS, list("Pod", &pods))
            .get(
                "/api/v1/nodes/gone",
                refusals::not_found(refusals::Resource::core("nodes"), "gone"),
            )
            .get(
                "/api/v1/pods",
                refusals::forbidden(
                    "alice",
                    "list",
                    refusals::Resource::core("pods"),
                    None,
                    None,
                ),
            )
    };
    let arguments = ["-l", "app", "-n", "shop"];
    assert_eq!(explain(routes(), &arguments).0.code, Some(5));
    let judged = [&arguments[..], &["--fail-on=error"]].concat();
    assert_eq!(explain(routes(), &judged).0.code, Some(3));
}

#[test]
fn an_items_coverage_is_its_own() {
    let pods = [pod("a", None, Some("n1")), pod("b", None, Some("n2"))];
    let routes = quiet().get(PODS, list("Pod", &pods)).get(
        "/api/v1/nodes/n2",
        refusals::not_found(refusals::Resource::core("nodes"), "n2"),
    );
    let (run, _) = explain(routes, &["-l", "app", "-n", "shop", "-o", "json"]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let subjects = |of: &Value| -> Vec<String> {
        let lines = of["coverage"].as_array().expect("a list");
        lines
            .iter()
            .map(|line| line["subject"].as_str().expect("a text").to_owned())
            .collect()
    };
    for item in answer["items"].as_array().expect("a list") {
        let own = subjects(item);
        let node = item["pod"]["nominatedNodeName"].as_str().expect("a name");
        assert!(own.contains(&format!("nodes/{node}")), "{own:?}");
        assert!(own.contains(&"pods -n shop -l app".to_owned()), "{own:?}");
        let nodes = own.iter().filter(|subject| subject.starts_with("nodes/"));
        assert_eq!(nodes.count(), 1, "{own:?}");
    }
    assert!(subjects(&answer).len() > 5);
}

/// An event about a Pod.
fn event(name: &str, uid: &str) -> Value {
    json!({"metadata": {"name": "e", "namespace": "shop", "uid": "e"}, "reason": "FailedScheduling", "type": "Warning",
        "message": "0/1 nodes are available: 1 Insufficient cpu.", "reportingComponent": "default-scheduler",
        "eventTime": "2026-11-30T08:00:01.000000Z", "involvedObject": {"kind": "Pod", "name": name, "namespace": "shop", "uid": uid}})
}

#[test]
fn a_uid_is_found_by_its_events_with_no_more_rights_than_an_explanation_needs() {
    let routes = quiet()
        .get(EVENTS, list("Event", &[event("a", "u-a")]))
        .get(
            &format!("{PODS}/a"),
            Answer::json(&pod("a", None, Some("n1"))),
        );
    let (run, requests) = explain(routes, &["--uid", "u-a", "-n", "shop", "-o", "json"]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        (&answer["kind"], &answer["pod"]["name"]),
        (&"NominationExplanation".into(), &"a".into())
    );
    assert_eq!(
        requests[..2],
        [
            format!("{EVENTS}?fieldSelector=involvedObject.uid%3Du-a&limit=500"),
            format!("{PODS}/a")
        ]
    );
    let events = requests
        .iter()
        .filter(|request| request.starts_with(EVENTS));
    assert_eq!(events.count(), 1, "{requests:?}");
}

#[test]
fn a_uid_without_events_is_looked_for_in_the_list() {
    let pods = [pod("a", Some("n1"), None), pod("b", Some("n1"), None)];
    let routes = || {
        quiet()
            .get(PODS, list("Pod", &pods))
            .get("/api/v1/pods", list("Pod", &pods))
    };
    for scope in [&["-n", "shop"][..], &["-A"]] {
        let arguments = [&["--uid", "u-b", "-o", "json"], scope].concat();
        let (run, _) = explain(routes(), &arguments);
        let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
        assert_eq!(answer["pod"]["name"], "b", "{}", run.stderr);
    }
    let (run, _) = explain(routes(), &["--uid", "u-x", "-n", "shop"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(1),
            "error: pods with UID \"u-x\" not found in namespace \"shop\"\n"
        )
    );
}

#[test]
fn a_uid_whose_name_was_used_again_is_gone() {
    let routes = quiet()
        .get(EVENTS, list("Event", &[event("a", "u-old")]))
        .get(
            &format!("{PODS}/a"),
            Answer::json(&pod("a", Some("n1"), None)),
        );
    let (run, _) = explain(routes, &["--uid", "u-old", "-n", "shop"]);
    let told = "\
error: the Pod of this UID is gone; another Pod is now named \"a\"
hint: ask for that one by its name
";
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), told));
}

#[test]
fn a_uid_is_found_in_files_too() {
    let uid = "3982b3b0-1ba7-4fa9-adbc-4beddb02646a";
    let run = nominate(&[
        "explain",
        "--uid",
        uid,
        "--from",
        "examples/preemption",
        "-o",
        "json",
    ]);
    let answer: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        (&answer["pod"]["name"], &answer["pod"]["uid"]),
        (&"hi".into(), &uid.into())
    );
    let run = nominate(&["explain", "--uid", "u-x", "--from", "examples/preemption"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr
            .starts_with("error: pods with UID \"u-x\" not found in the input\n"),
        "{}",
        run.stderr
    );
}
