//! A server that refuses, vanishes, hangs or lies: what is told, and what is still answered.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::fake_server::{Answer, FakeServer, Reply, Routes, refusals};

use super::plugin::nominate;

const POD: &str = "/api/v1/namespaces/default/pods/web";

/// A Pod that a scheduler tried; with a node, one that it nominated (observed: the entry goes with the value).
fn pod(node: Option<&str>) -> Value {
    let mut fields =
        json!({"f:status": {"f:conditions": {"k:{\"type\":\"PodScheduled\"}": {"f:message": {}}}}});
    if node.is_some() {
        fields["f:status"]["f:nominatedNodeName"] = json!({});
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web", "namespace": "default", "uid": "u-1", "resourceVersion": "7", "creationTimestamp": "2026-11-30T08:00:00Z",
            "managedFields": [{
                "manager": "kube-scheduler", "operation": "Update", "subresource": "status", "time": "2026-11-30T08:00:00Z",
                "fieldsV1": fields
            }]
        },
        "spec": {"schedulerName": "default-scheduler"},
        "status": {
            "phase": "Pending", "nominatedNodeName": node,
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu."}]
        }
    })
}

fn node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

fn list(kind: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "9"}, "items": []})
}

/// A server with these routes, and a kubeconfig that names it.
fn serve(routes: Routes) -> (FakeServer, TempDir, PathBuf) {
    let server = FakeServer::start(routes);
    server.set_date(Some("Mon, 30 Nov 2026 08:05:00 GMT"));
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path());
    (server, folder, kubeconfig)
}

fn explain(kubeconfig: &std::path::Path, more: &[&str]) -> super::plugin::Run {
    let mut arguments = vec![
        "explain",
        "web",
        "--kubeconfig",
        kubeconfig.to_str().expect("the path is UTF-8"),
    ];
    arguments.extend(more);
    nominate(&arguments)
}

fn answer(run: &super::plugin::Run) -> Value {
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

#[test]
fn the_servers_own_sentences() {
    let pods = || refusals::Resource::core("pods");
    let (_server, _folder, kubeconfig) =
        serve(Routes::new().get(POD, refusals::not_found(pods(), "web")));
    let run = explain(&kubeconfig, &[]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(1),
            "Error from server (NotFound): pods \"web\" not found\n"
        )
    );

    let (_server, _folder, kubeconfig) = serve(Routes::new().get(
        POD,
        refusals::forbidden("alice", "get", pods(), Some("default"), Some("web")),
    ));
    let run = explain(&kubeconfig, &[]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.starts_with(
            "Error from server (Forbidden): pods \"web\" is forbidden: User \"alice\" cannot get"
        ),
        "{}",
        run.stderr
    );

    let (_server, _folder, kubeconfig) = serve(Routes::new().get(POD, refusals::unauthorized()));
    let run = explain(&kubeconfig, &[]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (
            Some(1),
            "error: You must be logged in to the server (Unauthorized)\n"
        )
    );
}

#[test]
fn with_only_get_pods_it_still_answers() {
    let forbidden = |resource: &str, verb: &str| {
        refusals::forbidden(
            "alice",
            verb,
            refusals::Resource::core(resource),
            None,
            None,
        )
    };
    let routes = Routes::new()
        .get(POD, Answer::json(&pod(Some("n1"))))
        .get(
            "/api/v1/namespaces/default/events",
            forbidden("events", "list"),
        )
        .get(
            "/apis/events.k8s.io/v1/namespaces/default/events",
            forbidden("events", "list"),
        )
        .get("/api/v1/events", forbidden("events", "list"))
        .get("/apis/events.k8s.io/v1/events", forbidden("events", "list"))
        .get("/api/v1/nodes/n1", forbidden("nodes", "get"))
        .get("/api/v1/pods", forbidden("pods", "list"));
    let (server, _folder, kubeconfig) = serve(routes);
    let run = explain(&kubeconfig, &["-o", "json"]);
    let answer = answer(&run);
    assert_eq!(run.code, Some(5), "the verdict hinges on what was denied");
    assert_eq!(
        (&answer["verdict"]["kind"], &answer["verdict"]["cause"]),
        (&"Unknown".into(), &"pods-not-observed".into())
    );
    assert_eq!(answer["pod"]["nominatedNodeName"], "n1");
    let denied = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|line| line["state"] == "Denied")
        .count();
    assert_eq!(denied, 4, "{}", answer["coverage"]);
    assert!(
        server.requests().iter().all(|request| !request.is_write()),
        "explain only reads"
    );
}

#[test]
fn a_denied_events_api_is_replaced_by_the_other() {
    let routes = Routes::new()
        .get(POD, Answer::json(&pod(None)))
        .get(
            "/api/v1/namespaces/default/events",
            refusals::forbidden(
                "alice",
                "list",
                refusals::Resource::core("events"),
                None,
                None,
            ),
        )
        .get(
            "/apis/events.k8s.io/v1/namespaces/default/events",
            Answer::json(&list("EventList")),
        )
        .get("/api/v1/events", Answer::json(&list("EventList")))
        .get("/api/v1/pods", Answer::json(&list("PodList")));
    let (_server, _folder, kubeconfig) = serve(routes);
    let answer = answer(&explain(&kubeconfig, &["-o", "json"]));
    let states: Vec<&Value> = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| &line["state"])
        .collect();
    assert_eq!(states, ["Complete"; 4]);
    assert_eq!(answer["verdict"]["kind"], "NotNominated");
}

#[test]
fn a_node_that_is_not_there_is_proof() {
    let routes = Routes::new()
        .get(POD, Answer::json(&pod(Some("n1"))))
        .get(
            "/api/v1/namespaces/default/events",
            Answer::json(&list("EventList")),
        )
        .get("/api/v1/events", Answer::json(&list("EventList")))
        .get(
            "/api/v1/nodes/n1",
            refusals::not_found(refusals::Resource::core("nodes"), "n1"),
        )
        .get("/api/v1/pods", Answer::json(&list("PodList")));
    let (_server, _folder, kubeconfig) = serve(routes);
    let run = explain(&kubeconfig, &["-o", "json", "--fail-on=error"]);
    let answer = answer(&run);
    assert_eq!(
        (&answer["verdict"]["kind"], &answer["verdict"]["cause"]),
        (&"Stale".into(), &"node-gone".into())
    );
    assert_eq!(run.code, Some(3));
    assert_eq!(
        answer["now"], "2026-11-30T08:05:00Z",
        "the server's clock, not ours"
    );
}

#[test]
fn no_victim_left_is_stale_only_if_all_pods_were_seen() {
    let routes = |pods: Answer| {
        Routes::new()
            .get(POD, Answer::json(&pod(Some("n1"))))
            .get(
                "/api/v1/namespaces/default/events",
                Answer::json(&list("EventList")),
            )
            .get("/api/v1/events", Answer::json(&list("EventList")))
            .get("/api/v1/nodes/n1", Answer::json(&node()))
            .get("/api/v1/pods", pods)
    };
    let (_server, _folder, kubeconfig) = serve(routes(Answer::json(&list("PodList"))));
    assert_eq!(
        answer(&explain(&kubeconfig, &["-o", "json"]))["verdict"]["cause"],
        "no-room"
    );
    // The body ends early: that list says nothing about who is not in it.
    let cut = Answer::CloseMidBody {
        reply: Reply::new(200, "application/json", list("PodList").to_string()),
        after: 40,
    };
    let (_server, _folder, kubeconfig) = serve(routes(cut));
    let run = explain(&kubeconfig, &["-o", "json"]);
    assert_eq!(answer(&run)["verdict"]["cause"], "pods-not-observed");
    assert_eq!(run.code, Some(5));
}

#[test]
fn a_list_in_pages_is_read_to_its_end() {
    let page = |token: &str, uid: &str| {
        json!({"apiVersion": "v1", "kind": "EventList", "metadata": {"continue": token}, "items": [{
            "metadata": {"name": uid, "namespace": "default", "uid": uid}, "reason": "FailedScheduling", "type": "Warning",
            "message": "0/1 nodes are available: 1 Insufficient cpu.", "reportingComponent": "default-scheduler",
            "eventTime": "2026-11-30T08:00:01.000000Z", "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default", "uid": "u-1"}
        }]})
    };
    let routes = |second: Answer| {
        let first =
            "/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid%3Du-1&limit=500";
        Routes::new()
            .get(POD, Answer::json(&pod(None)))
            .get(first, Answer::json(&page("next", "e-1")))
            .get(&format!("{first}&continue=next"), second)
            .get("/api/v1/events", Answer::json(&list("EventList")))
    };
    let (_server, _folder, kubeconfig) = serve(routes(Answer::json(&page("", "e-2"))));
    assert_eq!(
        answer(&explain(&kubeconfig, &["-o", "json"]))["scheduler"]["attempts"],
        2
    );
    let (_server, _folder, kubeconfig) = serve(routes(refusals::expired(
        "the provided continue parameter is too old",
    )));
    let answer = answer(&explain(&kubeconfig, &["-o", "json"]));
    assert_eq!(answer["scheduler"]["attempts"], 1, "what was read is used");
    assert!(
        answer["coverage"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|line| line["state"] == "Partial")
    );
}

#[test]
fn a_dead_server_in_kubectls_words() {
    let (server, _folder, kubeconfig) = serve(Routes::new());
    let address = server.address();
    drop(server);
    let run = explain(&kubeconfig, &[]);
    let sentence = format!(
        "The connection to the server {address} was refused - did you specify the right host or port?\n"
    );
    assert_eq!((run.code, run.stderr), (Some(1), sentence));
}

#[test]
fn a_hanging_server_ends_with_the_request_timeout() {
    let (server, _folder, kubeconfig) = serve(Routes::new().get(POD, Answer::Hang));
    let run = explain(&kubeconfig, &["--request-timeout", "300ms"]);
    let sentence = format!(
        "Unable to connect to the server: {} gave no answer within 0.3s\n",
        server.address()
    );
    assert_eq!((run.code, run.stderr), (Some(1), sentence));
}

#[test]
fn an_answer_that_is_no_pod_is_told_so() {
    for body in [
        "<html>login</html>",
        "{\"kind\":\"Pod\"",
        "[]",
        "null",
        "{}",
    ] {
        let (_server, _folder, kubeconfig) =
            serve(Routes::new().get(POD, Reply::new(200, "application/json", body)));
        let run = explain(&kubeconfig, &[]);
        assert_eq!(run.code, Some(1), "{body}: {}", run.stdout);
        assert!(
            run.stderr.starts_with("error: the server"),
            "{body}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_pod_that_vanishes_between_requests_is_told_as_it_was_read() {
    let gone = || refusals::not_found(refusals::Resource::core("namespaces"), "default");
    let routes = Routes::new()
        .get(
            POD,
            Answer::Sequence(vec![
                Answer::json(&pod(Some("n1"))),
                refusals::not_found(refusals::Resource::core("pods"), "web"),
            ]),
        )
        .get("/api/v1/namespaces/default/events", gone())
        .get("/api/v1/events", Answer::json(&list("EventList")))
        .get("/api/v1/nodes/n1", Answer::json(&node()))
        .get("/api/v1/pods", Answer::json(&list("PodList")));
    let (server, _folder, kubeconfig) = serve(routes);
    let run = explain(&kubeconfig, &["-o", "json"]);
    let answer = answer(&run);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(answer["pod"]["uid"], "u-1");
    assert!(
        answer["coverage"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|line| line["state"] == "Absent")
    );
    let reads = server
        .requests()
        .iter()
        .filter(|request| request.path() == POD)
        .count();
    assert_eq!(
        reads, 1,
        "the Pod is read once, so that the answer is of one moment"
    );
}

#[test]
fn room_that_nobody_came_back_for_is_told_as_such() {
    let mut node = node();
    node["status"]["allocatable"] = json!({"cpu": "4", "pods": "110"});
    let routes = Routes::new()
        .get(POD, Answer::json(&pod(Some("n1"))))
        .get(
            "/api/v1/namespaces/default/events",
            Answer::json(&list("EventList")),
        )
        .get("/api/v1/events", Answer::json(&list("EventList")))
        .get("/api/v1/nodes/n1", Answer::json(&node))
        .get("/api/v1/pods", Answer::json(&list("PodList")));
    let (_server, _folder, kubeconfig) = serve(routes);
    let answer = answer(&explain(&kubeconfig, &["-o", "json"]));
    assert_eq!(
        (&answer["verdict"]["kind"], &answer["verdict"]["cause"]),
        (&"Stale".into(), &"not-retried".into())
    );
}

#[test]
fn what_the_server_said_is_shown_without_what_is_not_read() {
    let mut secretive = pod(None);
    secretive["metadata"]["annotations"] = json!({"example.com/token": "canary-1"});
    secretive["spec"]["containers"] = json!([{"name": "c", "env": [{"name": "TOKEN", "value": "canary-2"}], "args": ["canary-3"]}]);
    let routes = Routes::new()
        .get(POD, Answer::json(&secretive))
        .get(
            "/api/v1/namespaces/default/events",
            Answer::json(&list("EventList")),
        )
        .get("/api/v1/events", Answer::json(&list("EventList")))
        .get("/api/v1/pods", Answer::json(&list("PodList")));
    let (_server, _folder, kubeconfig) = serve(routes);
    let table = explain(&kubeconfig, &["--show-raw"]);
    let (_, raw) = table
        .stdout
        .split_once("\nRaw:\n")
        .unwrap_or_else(|| panic!("{table:?}"));
    assert!(raw.contains("schedulerName: default-scheduler"), "{raw}");
    let json = explain(&kubeconfig, &["--show-raw", "-o", "json"]);
    assert_eq!(answer(&json)["raw"][0]["metadata"]["uid"], "u-1");
    assert!(
        answer(&explain(&kubeconfig, &["-o", "json"]))
            .get("raw")
            .is_none()
    );
    for run in [&table, &json] {
        assert!(!run.stdout.contains("canary"), "{}", run.stdout);
    }
}
