//! `--watch` and `--for`: what is told when, how it ends, and what a server may do to a watch without its being noticed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::fake_server::{Answer, FakeServer, Feed, Request, Routes, refusals};

use super::plugin::{Run, command, nominate};
use super::signals::send;

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-nominate");
const CEILING: Duration = Duration::from_mins(1);

const POD: &str = "/api/v1/namespaces/default/pods/web";
const NODE: &str = "/api/v1/nodes/n1";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const ALL_EVENTS: &str = "/api/v1/events";
const ALL_PODS: &str = "/api/v1/pods";
/// The watch of the Pod, as its route has it.
const POD_WATCH: &str = "/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dweb";

/// What a Pod `web` looks like at some moment.
#[derive(Clone, Copy)]
enum At {
    Pending,
    Nominated,
    Bound,
    Running,
    Refused,
}

fn pod_of(uid: &str, at: At) -> Value {
    let mut fields =
        json!({"f:status": {"f:conditions": {"k:{\"type\":\"PodScheduled\"}": {"f:message": {}}}}});
    let unschedulable = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient cpu."}]);
    let scheduled = json!([{"type": "PodScheduled", "status": "True"}]);
    let mut spec = json!({"schedulerName": "default-scheduler"});
    if !matches!(at, At::Pending) {
        fields["f:status"]["f:nominatedNodeName"] = json!({});
    }
    let (version, status) = match at {
        At::Pending => (
            "7",
            json!({"phase": "Pending", "conditions": unschedulable}),
        ),
        At::Nominated => (
            "8",
            json!({"phase": "Pending", "nominatedNodeName": "n1", "conditions": unschedulable}),
        ),
        At::Bound => ("9", json!({"phase": "Pending", "conditions": scheduled})),
        At::Running => (
            "10",
            json!({"phase": "Running", "startTime": "2026-11-30T08:05:00Z", "conditions": scheduled}),
        ),
        At::Refused => (
            "10",
            json!({"phase": "Failed", "reason": "OutOfcpu", "startTime": "2026-11-30T08:05:00Z", "message": "Node didn't have enough resource: cpu"}),
        ),
    };
    if matches!(at, At::Bound | At::Running | At::Refused) {
        spec["nodeName"] = json!("n1");
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web", "namespace": "default", "uid": uid, "resourceVersion": version, "creationTimestamp": "2026-11-30T08:00:00Z",
            "labels": {"app": "web"},
            "managedFields": [{
                "manager": "kube-scheduler", "operation": "Update", "subresource": "status", "time": "2026-11-30T08:00:00Z",
                "fieldsV1": fields
            }]
        },
        "spec": spec,
        "status": status
    })
}

fn pod(at: At) -> Answer {
    Answer::json(&pod_of("u-1", at))
}

/// A Pod on n1 that has to be gone at a time.
fn victim(due: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "old", "namespace": "default", "uid": "u-old", "resourceVersion": "5", "creationTimestamp": "2026-11-30T07:00:00Z",
            "deletionTimestamp": due, "deletionGracePeriodSeconds": 30},
        "spec": {"nodeName": "n1", "schedulerName": "default-scheduler"},
        "status": {"phase": "Running", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}})
}

/// That the victim had to go for a Pod.
fn preempted(uid: &str) -> Value {
    json!({"metadata": {"name": format!("e-{uid}"), "namespace": "default", "uid": format!("e-{uid}"), "resourceVersion": "4"}, "reason": "Preempted", "type": "Normal",
        "message": format!("Preempted by pod {uid} on node n1"), "reportingComponent": "default-scheduler", "eventTime": "2026-11-30T08:00:00.000000Z",
        "involvedObject": {"kind": "Pod", "name": "old", "namespace": "default", "uid": "u-old"}})
}

fn list(kind: &str, items: &[Value]) -> Answer {
    Answer::json(
        &json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "9"}, "items": items}),
    )
}

fn routes(pod: Answer) -> Routes {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    Routes::new()
        .get(POD, pod)
        .get(NODE, Answer::json(&node))
        .get(
            EVENTS,
            list("EventList", &["u-1", "u-a", "u-b"].map(preempted)),
        )
        .get(
            ALL_EVENTS,
            list("EventList", &["u-1", "u-a", "u-b"].map(preempted)),
        )
        .get(ALL_PODS, list("PodList", &[victim("2026-11-30T08:05:30Z")]))
        .get(
            "/version",
            Answer::json(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"})),
        )
}

fn serve(routes: Routes) -> (FakeServer, TempDir) {
    let server = FakeServer::start(routes);
    server.set_date(Some("Mon, 30 Nov 2026 08:05:00 GMT"));
    (server, tempfile::tempdir().expect("a folder"))
}

/// A command that goes on, its lines as they come.
struct Going {
    child: Child,
    lines: Receiver<String>,
    /// All lines up to now.
    seen: Vec<String>,
}

fn start(server: &FakeServer, folder: &TempDir, arguments: &[&str]) -> Going {
    let kubeconfig = server.kubeconfig(folder.path());
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let all = [&["explain", "--kubeconfig", kubeconfig], arguments].concat();
    let mut child = command(BINARY, &all)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built by this test run");
    let (sender, lines) = channel();
    let stdout = child.stdout.take().expect("it was asked for");
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // The test may have seen enough.
            sender.send(line).ok();
        }
    });
    Going {
        child,
        lines,
        seen: Vec::new(),
    }
}

impl Going {
    /// Waits for a line that holds some words.
    fn line(&mut self, words: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(CEILING).unwrap_or_else(|error| {
                self.child.kill().ok();
                panic!(
                    "{words:?} did not come ({error}); there was\n{}",
                    self.seen.join("\n")
                )
            });
            self.seen.push(line.clone());
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Waits for its end.
    fn end(mut self) -> Run {
        while let Ok(line) = self.lines.recv_timeout(CEILING) {
            self.seen.push(line);
        }
        let output = self.child.wait_with_output().expect("it ends");
        Run {
            code: output.status.code(),
            stdout: self.seen.join("\n"),
            stderr: String::from_utf8(output.stderr).expect("it is UTF-8"),
        }
    }
}

fn is_watch(request: &Request) -> bool {
    request.target.contains("watch=true")
}

fn watches<'r>(requests: &'r [Request], path: &'r str) -> impl Iterator<Item = &'r Request> {
    requests
        .iter()
        .filter(move |request| is_watch(request) && request.path() == path)
}

fn reads(requests: &[Request], path: &str) -> usize {
    requests
        .iter()
        .filter(|request| !is_watch(request) && request.path() == path)
        .count()
}

/// Waits until the Pod is watched and was read once more after that.
fn settle(server: &FakeServer) {
    let is_due = |requests: &[Request]| {
        let watched = requests
            .iter()
            .position(|request| is_watch(request) && request.path().ends_with("/pods"));
        watched.is_some_and(|at| {
            requests
                .iter()
                .skip(at)
                .any(|request| request.path() == POD)
        })
    };
    assert!(server.wait_until(is_due), "{:?}", server.requests());
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn changed(server: &FakeServer, at: At) {
    server.set("GET", POD, pod(at));
    server.feed(POD_WATCH, Feed::change("MODIFIED", &pod_of("u-1", at)));
}

#[test]
fn each_change_is_a_row_and_the_last_answer_is_whole() {
    let (server, folder) = serve(routes(pod(At::Pending)));
    let mut going = start(&server, &folder, &["web", "--watch"]);
    going.line("Cleared");
    settle(&server);
    changed(&server, At::Nominated);
    let row = going.line("2026-11-30T08:05:00Z   WaitingForVictims");
    assert!(row.contains("victim-terminating"), "{row}");
    changed(&server, At::Bound);
    server.set("GET", ALL_PODS, list("PodList", &[]));
    let row = going.line("   Honoured   ");
    assert!(row.ends_with("is bound there."), "{row}");
    // What changes nothing that is told makes no row.
    changed(&server, At::Running);
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let rows = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("2026-11-30T08:05:00Z   "))
        .count();
    assert_eq!(rows, 2, "{}", run.stdout);
    let wholes: Vec<&str> = run.stdout.split("Pod:  ").collect();
    assert_eq!(wholes.len(), 3, "{}", run.stdout);
    assert!(wholes[1].contains("\n\nAT   "), "{}", run.stdout);
    assert!(wholes[2].contains("Running"), "{}", run.stdout);
    assert!(server.requests().iter().all(|request| !request.is_write()));
}

#[test]
fn as_data_each_change_is_a_whole_answer() {
    for format in ["json", "yaml"] {
        let (server, folder) = serve(routes(pod(At::Nominated)));
        let mut going = start(&server, &folder, &["web", "-w", "-o", format]);
        going.line("timeline");
        settle(&server);
        changed(&server, At::Running);
        let run = going.end();
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        let answers: Vec<Value> = if format == "json" {
            serde_json::Deserializer::from_str(&run.stdout)
                .into_iter()
                .collect::<Result<_, _>>()
                .expect("JSON after JSON")
        } else {
            assert_eq!(run.stdout.matches("\n---\n").count(), 1, "{}", run.stdout);
            serde_saphyr::from_multiple(&run.stdout).expect("YAML documents")
        };
        let kinds: Vec<&Value> = answers.iter().map(|one| &one["verdict"]["kind"]).collect();
        assert_eq!(kinds, ["WaitingForVictims", "Honoured"]);
    }
}

#[test]
fn a_victim_becomes_overdue_by_time_alone() {
    let routes = routes(pod(At::Nominated))
        .get(ALL_PODS, list("PodList", &[victim("2026-11-30T08:04:50Z")]));
    let (server, folder) = serve(routes);
    let mut going = start(&server, &folder, &["web", "--watch"]);
    going.line("victim-terminating");
    settle(&server);
    let before = reads(&server.requests(), POD);
    server.set_date(Some("Mon, 30 Nov 2026 08:05:01 GMT"));
    going.line("victim-overdue");
    // It was the deadline that made it look, not a tick.
    let after = reads(&server.requests(), POD);
    assert!(after <= before + 2, "{before} {after}");
    send("-INT", &going.child);
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(130), ""));
}

#[test]
fn nobody_is_told_that_its_reader_went_away() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let kubeconfig = server.kubeconfig(folder.path());
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let mut child = command(
        BINARY,
        &["explain", "web", "-w", "--kubeconfig", kubeconfig],
    )
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the binary was built by this test run");
    let mut first = String::new();
    let stdout = child.stdout.take().expect("it was asked for");
    BufReader::new(stdout)
        .read_line(&mut first)
        .expect("a line");
    settle(&server);
    changed(&server, At::Bound);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn the_wait_ends_with_the_verdict() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let going = start(&server, &folder, &["web", "--for=verdict=moved,honoured"]);
    settle(&server);
    // Its kubelet may still refuse it.
    changed(&server, At::Bound);
    let read = reads(&server.requests(), POD);
    assert!(server.wait_until(|requests| reads(requests, POD) > read));
    changed(&server, At::Running);
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout.matches("Verdict:").count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains("Honoured"), "{}", run.stdout);

    // Verdicts of a Pod that is not bound count at once.
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let run = start(
        &server,
        &folder,
        &["web", "--for=verdict=WaitingForVictims"],
    )
    .end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        !server.requests().iter().any(is_watch),
        "nothing to wait for"
    );
}

#[test]
fn another_final_verdict_ends_the_wait_with_3() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let going = start(&server, &folder, &["web", "--for=verdict=Honoured"]);
    settle(&server);
    changed(&server, At::Refused);
    let run = going.end();
    assert_eq!(run.code, Some(3));
    assert!(run.stdout.contains("RefusedByKubelet"), "{}", run.stdout);
    let due = "error: waited for the verdict Honoured on pods/web, and RefusedByKubelet is final\n";
    assert_eq!(run.stderr, due);
}

#[test]
fn a_deleted_pod_is_told_of_even_if_another_one_has_its_name() {
    let absent = || refusals::not_found(refusals::Resource::core("pods"), "web");
    let other = || Answer::json(&pod_of("u-2", At::Running));
    for (name, after) in [("none", absent()), ("another", other())] {
        let (server, folder) = serve(routes(pod(At::Nominated)));
        let going = start(
            &server,
            &folder,
            &["web", "--for=verdict=Honoured", "-o", "json"],
        );
        settle(&server);
        server.set("GET", POD, after);
        let last = pod_of("u-1", At::Nominated);
        server.feed(POD_WATCH, Feed::change("DELETED", &last));
        let run = going.end();
        assert_eq!(run.code, Some(3), "{name}: {}", run.stderr);
        let answer: Value = serde_json::from_str(&run.stdout).expect("one answer");
        assert_eq!(
            (&answer["verdict"]["kind"], &answer["pod"]["uid"]),
            (&json!("Deleted"), &json!("u-1")),
            "{name}"
        );
        assert_eq!(answer["nominations"][0]["ended"], "Deleted");
        let states = answer["coverage"].as_array().expect("a list");
        assert!(
            states.iter().all(|line| line["state"] != "Absent"),
            "{states:?}"
        );
    }
}

#[test]
fn the_last_state_of_a_deleted_pod_is_that_of_the_watch() {
    // It was refused and deleted before anybody could read it.
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let going = start(&server, &folder, &["web", "--watch", "-o", "json"]);
    settle(&server);
    let absent = refusals::not_found(refusals::Resource::core("pods"), "web");
    server.set("GET", POD, absent);
    let last = pod_of("u-1", At::Refused);
    server.feed(POD_WATCH, Feed::change("DELETED", &last));
    let run = going.end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("\"RefusedByKubelet\""),
        "{}",
        run.stdout
    );
}

#[test]
fn time_runs_out_with_7_and_the_last_answer() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let wait = ["web", "--for=verdict=Honoured,Moved", "--timeout=300ms"];
    let run = start(&server, &folder, &wait).end();
    assert_eq!(run.code, Some(7));
    assert_eq!(
        run.stderr,
        "error: timed out waiting for the verdict Honoured or Moved on pods/web\n"
    );
    assert!(run.stdout.contains("WaitingForVictims"), "{}", run.stdout);

    // Nought looks once.
    let (server, folder) = serve(routes(pod(At::Bound)));
    let wait = [
        "web",
        "--for=verdict=Honoured",
        "--timeout=0",
        "--fail-on=error",
    ];
    let run = start(&server, &folder, &wait).end();
    assert_eq!(run.code, Some(7));
    let due = "error: timed out waiting for the verdict Honoured on pods/web, which no kubelet has taken up yet\n";
    assert_eq!(run.stderr, due);
    assert_eq!(reads(&server.requests(), POD), 1);

    let (server, folder) = serve(routes(pod(At::Nominated)));
    let run = start(&server, &folder, &["web", "--watch", "--timeout=300ms"]).end();
    assert_eq!(run.code, Some(7));
    assert_eq!(run.stderr, "error: timed out watching pods/web\n");
    assert_eq!(run.stdout.matches("Verdict:").count(), 1, "{}", run.stdout);
}

#[test]
fn a_watch_goes_on_from_where_it_was() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let mut going = start(&server, &folder, &["web", "--watch"]);
    going.line("WaitingForVictims");
    settle(&server);
    let count = |count: usize| {
        let is_due = |requests: &[Request]| watches(requests, PODS).count() >= count;
        assert!(server.wait_until(is_due), "{:?}", server.requests());
    };
    let last = || {
        let requests = server.requests();
        watches(&requests, PODS)
            .last()
            .expect("a watch")
            .target
            .clone()
    };
    assert!(!last().contains("resourceVersion="), "{}", last());
    // A bookmark moves on, and the server ends each watch at some time.
    server.feed(POD_WATCH, Feed::bookmark("Pod", "70"));
    server.feed(POD_WATCH, Feed::Close);
    count(2);
    assert!(last().ends_with("&resourceVersion=70"), "{}", last());
    // A connection that breaks within a line: what came before counts.
    let line = json!({"type": "MODIFIED", "object": pod_of("u-1", At::Nominated)}).to_string();
    server.feed(POD_WATCH, Feed::bookmark("Pod", "71"));
    server.feed(
        POD_WATCH,
        Feed::Raw(line.into_bytes().into_iter().take(40).collect()),
    );
    server.feed(POD_WATCH, Feed::Break);
    count(3);
    assert!(last().ends_with("&resourceVersion=71"), "{}", last());
    // Too old: all is read again, and the watch begins anew.
    let before = reads(&server.requests(), POD);
    server.feed(POD_WATCH, Feed::gone());
    count(4);
    assert!(!last().contains("resourceVersion="), "{}", last());
    assert!(server.wait_until(|requests| reads(requests, POD) > before));
    // What nobody can read.
    let before = reads(&server.requests(), POD);
    server.feed(POD_WATCH, Feed::Raw(b"<html>no JSON</html>\n".to_vec()));
    count(5);
    assert!(server.wait_until(|requests| reads(requests, POD) > before));
    changed(&server, At::Running);
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("Honoured"), "{}", run.stdout);
}

#[test]
fn a_version_that_is_too_old_at_once_is_given_up() {
    let gone = refusals::expired("too old resource version: 70 (80)");
    let answers = Answer::Sequence(vec![Answer::Watch, gone, Answer::Watch]);
    let (server, folder) = serve(routes(pod(At::Nominated)).watch(POD_WATCH, answers));
    let mut going = start(&server, &folder, &["web", "--watch"]);
    going.line("WaitingForVictims");
    settle(&server);
    server.feed(POD_WATCH, Feed::bookmark("Pod", "70"));
    server.feed(POD_WATCH, Feed::Close);
    assert!(server.wait_until(|requests| watches(requests, PODS).count() >= 3));
    let versions: Vec<bool> = watches(&server.requests(), PODS)
        .map(|request| request.target.contains("resourceVersion="))
        .collect();
    assert_eq!(versions, [false, true, false]);
    changed(&server, At::Running);
    assert_eq!(going.end().code, Some(0));
}

#[test]
fn a_watch_on_which_nothing_comes_is_opened_again() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let wait = ["web", "--watch", "--request-timeout=1s"];
    let mut going = start(&server, &folder, &wait);
    going.line("WaitingForVictims");
    // The server was asked to end it after a second, and does not.
    assert!(server.wait_until(|requests| watches(requests, PODS).count() >= 2));
    let requests = server.requests();
    let first = watches(&requests, PODS).next().expect("a watch");
    assert!(
        first.target.contains("&timeoutSeconds=1"),
        "{}",
        first.target
    );
    changed(&server, At::Running);
    assert_eq!(going.end().code, Some(0));
}

#[test]
fn where_nothing_may_be_watched_it_looks_again_and_says_so() {
    let forbidden = |resource: &str| {
        let resource = refusals::Resource::core(resource);
        refusals::forbidden("alice", "watch", resource, Some("default"), None)
    };
    let routes = routes(pod(At::Nominated)).watch(PODS, forbidden("pods"));
    let (server, folder) = serve(routes);
    let mut going = start(&server, &folder, &["web", "--watch", "-o", "json"]);
    going.line("timeline");
    assert!(server.wait_until(|requests| watches(requests, PODS).count() >= 1));
    server.set("GET", POD, pod(At::Running));
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let answers: Vec<Value> = serde_json::Deserializer::from_str(&run.stdout)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("JSON after JSON");
    let last = answers.last().expect("an answer");
    assert_eq!(last["verdict"]["kind"], "Honoured");
    let lines = last["coverage"].as_array().expect("a list");
    let told = lines
        .iter()
        .find(|line| line["subject"] == "changes of pods/web -n default")
        .unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(told["state"], "Denied");
    let detail = told["detail"].as_str().unwrap_or_default();
    assert!(
        detail.ends_with("; so it is read again every 2s"),
        "{detail}"
    );
    assert_eq!(
        watches(&server.requests(), PODS).count(),
        1,
        "it is not asked again"
    );
}

#[test]
fn a_watch_that_is_refused_for_a_moment_comes_back() {
    let forbidden = || {
        let pods = refusals::Resource::core("pods");
        refusals::forbidden("alice", "watch", pods, Some("default"), Some("web"))
    };
    let answers = vec![Answer::Watch, forbidden(), forbidden(), Answer::Watch];
    let (server, folder) =
        serve(routes(pod(At::Nominated)).watch(POD_WATCH, Answer::Sequence(answers)));
    let mut going = start(&server, &folder, &["web", "--watch", "-o", "json"]);
    going.line("timeline");
    settle(&server);
    server.feed(POD_WATCH, Feed::Break);
    assert!(server.wait_until(|requests| watches(requests, PODS).count() >= 4));
    changed(&server, At::Running);
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(
        !run.stdout.contains("changes of pods/web"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_server_that_is_away_for_a_while_is_waited_for() {
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let mut going = start(&server, &folder, &["web", "--watch"]);
    going.line("WaitingForVictims");
    settle(&server);
    server.set("GET", POD, refusals::unavailable());
    server.feed(
        POD_WATCH,
        Feed::change("MODIFIED", &pod_of("u-1", At::Running)),
    );
    let before = reads(&server.requests(), POD);
    assert!(server.wait_until(|requests| reads(requests, POD) >= before + 3));
    server.set("GET", POD, pod(At::Running));
    let run = going.end();
    assert_eq!(run.code, Some(0));
    assert!(!run.stdout.contains("Unknown"), "{}", run.stdout);
    let due = "warning: Error from server (ServiceUnavailable): the server is currently unable to handle the request; trying again\n";
    assert_eq!(run.stderr, due, "once, however often it tried");

    // Rights that are taken away do not come back by waiting: it is only as patient as a server that starts needs.
    let (server, folder) = serve(routes(pod(At::Nominated)));
    let mut going = start(&server, &folder, &["web", "--watch"]);
    going.line("WaitingForVictims");
    settle(&server);
    server.set("GET", POD, refusals::unauthorized());
    server.feed(POD_WATCH, Feed::gone());
    let run = going.end();
    assert_eq!(run.code, Some(1));
    let due = "\
warning: You must be logged in to the server (Unauthorized); trying again
error: You must be logged in to the server (Unauthorized)
";
    assert_eq!(run.stderr, due);
}

#[test]
fn several_pods_are_watched_and_waited_for_together() {
    let named = |name: &str, at: At| {
        let mut pod = pod_of(&format!("u-{name}"), at);
        pod["metadata"]["name"] = json!(name);
        pod
    };
    let list_of = |a: At, b: At| list("PodList", &[named("a", a), named("b", b)]);
    let selection = ["-l", "app=web"];
    let start_with = |more: &[&str]| {
        let (server, folder) =
            serve(routes(pod(At::Pending)).get(PODS, list_of(At::Nominated, At::Nominated)));
        let going = start(&server, &folder, &[&selection[..], more].concat());
        let is_due = |requests: &[Request]| {
            let watched = requests
                .iter()
                .position(|request| is_watch(request) && request.path() == PODS);
            watched.is_some_and(|at| reads(&requests[at..], PODS) > 0)
        };
        assert!(server.wait_until(is_due), "{:?}", server.requests());
        (server, folder, going)
    };
    let tell = |server: &FakeServer, a: At, b: At| {
        server.set("GET", PODS, list_of(a, b));
        server.feed(PODS, Feed::change("MODIFIED", &named("a", a)));
    };
    let (server, _folder, mut going) = start_with(&["--watch"]);
    tell(&server, At::Running, At::Nominated);
    let row = going.line("2026-11-30T08:05:00Z   a   ");
    assert!(row.contains("Honoured"), "{row}");
    // Others may come: as with kubectl get --watch, somebody has to end it.
    tell(&server, At::Running, At::Running);
    going.line("2026-11-30T08:05:00Z   b   ");
    send("-TERM", &going.child);
    assert_eq!(going.end().code, Some(143));

    let (server, _folder, going) = start_with(&["--for=verdict=Honoured"]);
    tell(&server, At::Running, At::Nominated);
    tell(&server, At::Running, At::Running);
    let run = going.end();
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout.matches("Honoured").count(), 2, "{}", run.stdout);

    let (server, _folder, going) = start_with(&["--for=verdict=Honoured"]);
    tell(&server, At::Nominated, At::Refused);
    let run = going.end();
    assert_eq!(run.code, Some(3));
    assert_eq!(
        run.stderr,
        "error: waited for the verdict Honoured on pods/b, and RefusedByKubelet is final\n"
    );

    let (server, folder) = serve(routes(pod(At::Pending)).get(PODS, list("PodList", &[])));
    let run = start(
        &server,
        &folder,
        &["-l", "app=web", "--for=verdict=Honoured"],
    )
    .end();
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(1), "error: no matching resources found\n")
    );
}

#[test]
fn what_does_not_go_together_is_told() {
    for (arguments, sentence) in [
        (
            &["web", "--watch", "--from", "examples/preemption"][..],
            "error: only an audit log that grows can be followed, and \"examples/preemption\" is none: it is no file\n",
        ),
        (
            &["web", "--watch", "--from", "-"],
            "error: --watch follows a file: standard input has no name that is rotated\n",
        ),
        (
            &[
                "web",
                "--watch",
                "--from",
                "audit.log",
                "--from",
                "examples/preemption",
            ],
            "error: --watch follows one audit log, and --from names several inputs\n",
        ),
        (
            &[
                "web",
                "--watch",
                "--from",
                "audit.log",
                "--now",
                "2026-11-30T08:05:00Z",
            ],
            "error: --watch goes by the times of the log, which --now replaces\n",
        ),
        (
            &["web", "--watch", "--from", "Cargo.toml"],
            "error: only an audit log that grows can be followed, and \"Cargo.toml\" is none: it is no audit log with an event on each line\n",
        ),
        (
            &[
                "web",
                "--for=verdict=Honoured",
                "--now",
                "2026-11-30T08:05:00Z",
            ],
            "error: --for goes by the server's clock, which --now replaces\n",
        ),
        (
            &["web", "--timeout=5s"],
            "error: --timeout is the time to wait, and nothing is waited for\n",
        ),
        (
            &["web", "--for=verdict=Bound"],
            "error: invalid value 'verdict=Bound' for '--for <verdict=KIND>': there is no verdict \"Bound\"; the verdicts are NotNominated, WaitingForVictims,",
        ),
    ] {
        let run = nominate(&[&["explain"], arguments].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.starts_with(sentence), "{}", run.stderr);
    }
}

#[test]
fn rights_to_watch_are_listed_where_it_watches() {
    let review = json!({"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": true}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (server, folder) = serve(Routes::new().on("POST", path, Answer::json(&review)));
    let run = start(&server, &folder, &["web", "--watch", "--show-access"]).end();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for right in [
        "watch pods/web -n default",
        "watch events -n default",
        "watch nodes",
        "watch pods -A",
        "watch events -A",
    ] {
        assert!(
            run.stdout.contains(&format!("  {right} ")),
            "{right}: {}",
            run.stdout
        );
    }
    let run = start(&server, &folder, &["web", "--show-access"]).end();
    assert!(!run.stdout.contains("watch"), "{}", run.stdout);
}
