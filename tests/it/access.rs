//! `--show-access`: what would be read, and whether this user may, before anything is read.

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Routes, refusals};

use super::plugin::{Run, nominate};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Answers of the reviews, in their order; the last is repeated.
fn show_access(statuses: &[Value], more: &[&str]) -> (Run, FakeServer) {
    let answers = statuses
        .iter()
        .map(|status| Answer::json(&json!({"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {}, "status": status})))
        .collect();
    serve(Answer::Sequence(answers), more)
}

fn serve(answer: Answer, more: &[&str]) -> (Run, FakeServer) {
    let server = FakeServer::start(Routes::new().on("POST", REVIEWS, answer));
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path());
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let arguments = [
        &[
            "explain",
            "web",
            "-n",
            "shop",
            "--show-access",
            "--kubeconfig",
            kubeconfig,
        ],
        more,
    ]
    .concat();
    (nominate(&arguments), server)
}

#[test]
fn every_right_is_told_with_its_reason_and_only_reviews_are_sent() {
    let (run, server) = show_access(&[json!({"allowed": true})], &[]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let expected = "\
What would be read:
  get pods/web -n shop                 Yes   the Pod itself; without it there is no answer
  list events -n shop                  Yes   what schedulers and autoscalers said of the Pod
  get nodes                            Yes   whether the nominated node can take the Pod
  list pods -A                         Yes   who still terminates on the nominated node, and what
                                             room is left; whose nominations reserve room against
                                             the Pod
  list events -A                       Yes   which Pods of any namespace had to go for the Pod;
                                             whether the Pod's scheduler reports on other Pods
  get persistentvolumeclaims -n shop   Yes   for which node a volume of the Pod was prepared
  get /version                         Yes   what this version leaves behind of a nomination
  get pods -A                          Yes   whether a victim of the Pod's group is gone
";
    assert_eq!(run.stdout, expected);
    let requests = server.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.method == "POST" && request.path() == REVIEWS),
        "{requests:?}"
    );
    // Both event APIs are asked for, in both scopes.
    assert_eq!(requests.len(), 10);
}

#[test]
fn a_refusal_is_no_and_an_answer_all_the_same() {
    let denied = json!({"allowed": false, "reason": "no role"});
    let (run, _server) = show_access(&[denied], &["-o", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(report["kind"], "AccessReport");
    assert_eq!(
        report["rights"][0],
        json!({"verb": "get", "resource": "pods", "group": "", "namespace": "shop", "name": "web",
            "why": "the Pod itself; without it there is no answer", "allowed": "No", "detail": "no role"})
    );
    assert_eq!(report["rights"][2]["namespace"], Value::Null);
    assert!(report["coverage"].is_array() && report["generatedAt"].is_string());
}

#[test]
fn a_review_that_is_refused_leaves_it_open() {
    let reviews = refusals::Resource {
        group: "authorization.k8s.io",
        name: "selfsubjectaccessreviews",
    };
    let refusal = refusals::forbidden("alice", "create", reviews, None, None);
    let (run, _server) = serve(refusal, &["-o", "json"]);
    assert_eq!(run.code, Some(5));
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    for right in report["rights"].as_array().expect("a list") {
        assert_eq!(right["allowed"], "Unknown");
        let detail = right["detail"].as_str().expect("a cause");
        assert!(
            detail.contains("User \"alice\" cannot create resource"),
            "{detail}"
        );
    }
}

/// Rights of a selection: lists of Pods in its own scope, and no wider ones.
#[test]
fn a_selection_names_the_lists_that_it_needs() {
    let rights = |selection: &[&str]| -> Vec<String> {
        let server = FakeServer::start(Routes::new().on(
            "POST",
            REVIEWS,
            Answer::json(&json!({"status": {"allowed": true}})),
        ));
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = server.kubeconfig(folder.path());
        let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
        let flags = ["--show-access", "--kubeconfig", kubeconfig];
        let run = nominate(&[&["explain"], selection, &flags[..]].concat());
        let lines = run.stdout.lines().filter(|line| line.contains("   Yes   "));
        lines
            .filter_map(|line| Some(line.split_once("   ")?.0.trim().to_owned()))
            .collect()
    };
    assert_eq!(
        rights(&["deploy/web", "-n", "shop"])[..4],
        [
            "get deployments.apps/web -n shop",
            "list pods -n shop",
            "get replicasets.apps -n shop",
            "list events -n shop"
        ]
    );
    assert_eq!(
        rights(&["-A"]),
        [
            "list pods -A",
            "list events -A",
            "get nodes",
            "get persistentvolumeclaims -A",
            "get /version",
            "get pods -A"
        ]
    );
}

#[test]
fn files_need_no_rights() {
    let run = nominate(&[
        "explain",
        "web",
        "--show-access",
        "--from",
        "examples/preemption",
    ]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
}
