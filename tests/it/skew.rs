//! Kubelets that answer badly: each is told for that node, and the others are compared as if it were not there.
//!
//! The API server is a fake one that answers for all kubelets; what a healthy one says was recorded. It must not look at
//! how a real API server words what it passes on.
#![expect(clippy::disallowed_methods, reason = "a test looks at the clock")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::Authority;
use testkit::fake_server::{Answer, FakeServer, Reply, Request, Routes};

use super::connections::{kubeconfig, secure};
use super::credentials::{exec, script};
use super::plugin::{Run, command, root};
use super::signals::send;

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const DOCUMENTS: [&str; 4] = ["configz", "flagz", "metrics", "statusz"];
const STARTED: &str = "2026-11-30T07:00:00Z";

/// What a healthy kubelet of 1.37 says of its gates.
fn metrics() -> String {
    let path = root().join("tests/recorded/features/1.37/kubelet/metrics-features.txt");
    std::fs::read_to_string(path).expect("it was recorded")
}

fn healthy(document: &str) -> Answer {
    match document {
        "configz" => Answer::json(&json!({"kubeletconfig": {"featureGates": {}}})),
        "flagz" => Answer::json(&json!({
            "kind": "Flagz", "apiVersion": "config.k8s.io/v1alpha1", "flags": {"v": "2"},
        })),
        "metrics" => Answer::text(metrics()),
        _ => Answer::json(&json!({
            "kind": "Statusz", "apiVersion": "config.k8s.io/v1alpha1", "startTime": STARTED,
            "binaryVersion": "1.37.2",
        })),
    }
}

fn place(node: &str, document: &str) -> String {
    format!("/api/v1/nodes/{node}/proxy/{document}")
}

/// Nodes of which each document is answered as the function says.
fn cluster(nodes: &[&str], answer: impl Fn(&str, &str) -> Answer) -> Routes {
    let items: Vec<Value> = nodes
        .iter()
        .map(|name| {
            json!({
                "metadata": {"name": name, "uid": name},
                "status": {"nodeInfo": {"kubeletVersion": "v1.37.2"}},
            })
        })
        .collect();
    let list = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items});
    let mut routes = Routes::new().get("/api/v1/nodes", Answer::json(&list));
    for node in nodes {
        for document in DOCUMENTS {
            routes = routes.get(&place(node, document), answer(node, document));
        }
    }
    routes
}

/// Compares the kubelets.
fn skew(server: &FakeServer, more: &[&str]) -> (Run, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    skew_by(&server.kubeconfig(folder.path()), more)
}

fn skew_by(kubeconfig: &Path, more: &[&str]) -> (Run, Value) {
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let always = [
        "skew",
        "--component",
        "kubelet",
        "-o",
        "json",
        "--kubeconfig",
    ];
    let output = command(BINARY, &[&always[..], &[kubeconfig], more].concat())
        .env("PATH", "/usr/bin:/bin")
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

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How each node's gates are known.
fn known(answer: &Value) -> BTreeMap<&str, &str> {
    list(&answer["components"])
        .iter()
        .map(|row| {
            let name = word(&row["name"]);
            (
                name.strip_prefix("kubelet/").unwrap_or(name),
                word(&row["known"]),
            )
        })
        .collect()
}

/// What is told of a node's document: state and detail.
fn told<'a>(answer: &'a Value, node: &str, document: &str) -> (&'a str, &'a str) {
    let subject = format!("{document} of kubelet/{node}");
    let mut lines = list(&answer["coverage"]).iter();
    let line = lines.find(|line| line["subject"] == subject.as_str());
    let line = line.unwrap_or_else(|| panic!("nothing is told of {subject}: {answer:#}"));
    (word(&line["state"]), word(&line["detail"]))
}

fn status(code: u16, reason: &str, message: &str) -> Answer {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "reason": reason, "message": message, "code": code,
    });
    Reply::new(code, "application/json", body.to_string()).into()
}

/// Node, what it answers to everything, the state, and words of the detail.
fn faults() -> Vec<(&'static str, Answer, &'static str, &'static str)> {
    let page = "<!DOCTYPE html><html><title>Sign in</title></html>";
    vec![
        (
            "broken-off",
            Answer::CloseMidBody {
                reply: Reply::new(200, "application/json", metrics()),
                after: 3_000,
            },
            "Unreachable",
            "the answer broke off",
        ),
        (
            "busy",
            Reply::new(429, "text/plain", "no")
                .header("Retry-After", "60")
                .into(),
            "Unreachable",
            "it asks to come back in 60s",
        ),
        ("empty", Answer::text(""), "Unreadable", "it is empty"),
        (
            "forbidden",
            status(
                403,
                "Forbidden",
                "Forbidden (user=system:masters, verb=get)",
            ),
            "Denied",
            "Forbidden (user=system:masters, verb=get)",
        ),
        ("hangs", Answer::Hang, "Unreachable", "no answer within 2s"),
        (
            "page",
            Reply::new(200, "text/html", page).into(),
            "Unreadable",
            "it is a web page",
        ),
        (
            "refused",
            status(200, "Forbidden", "a Status in spite of 200"),
            "Denied",
            "a Status in spite of 200",
        ),
        (
            "stranger",
            Answer::text("\u{1b}[31mhello\u{7}\nworld\n"),
            "Unreadable",
            "it begins with",
        ),
        (
            "unreached",
            Reply::new(
                503,
                "text/plain",
                "error trying to reach service: dial tcp 10.0.0.1:10250: connect: no route to host",
            )
            .into(),
            "Unreachable",
            "no route to host",
        ),
        (
            "vanished",
            status(404, "NotFound", "nodes \"vanished\" not found"),
            "Absent",
            "nodes \"vanished\" not found",
        ),
    ]
}

#[test]
fn a_bad_kubelet_is_told_and_the_rest_goes_on() {
    let faults = faults();
    let of: BTreeMap<&str, &Answer> = faults.iter().map(|fault| (fault.0, &fault.1)).collect();
    let mut nodes = vec!["a1", "z1", "z2"];
    nodes.extend(of.keys());
    let routes = cluster(&nodes, |node, document| {
        of.get(node)
            .map_or_else(|| healthy(document), |answer| (*answer).clone())
    });
    let server = FakeServer::start(routes);
    for (way, of_healthy) in [(&["--exact"][..], "Observed"), (&[], "Derived")] {
        let (run, answer) = skew(&server, &[way, &["--request-timeout", "2s"]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (Some(5), ""), "{way:?}");
        let known = known(&answer);
        for (node, _, state, words) in &faults {
            assert_eq!(known.get(node), Some(&"Unknown"), "{way:?}: {node}");
            let (is, detail) = told(&answer, node, "configz");
            assert!(
                is == *state && detail.contains(words),
                "{way:?}: {node}: {is}: {detail}, due {state}: {words}"
            );
        }
        assert_eq!(known.get("a1"), Some(&"Observed"), "{way:?}");
        assert_eq!(known.get("z2"), Some(&of_healthy), "{way:?}");
        assert_eq!(known.len(), nodes.len());
        assert_eq!(list(&answer["differences"]), [] as [Value; 0], "{way:?}");
        // A row is a line to print: what a stranger says must not reach a terminal as it is.
        assert!(!run.stdout.contains('\u{1b}'));
    }
}

#[test]
fn refusals_of_the_first_kubelets_are_no_refusal_of_all() {
    let nodes = ["n1", "n2", "n3", "n4"];
    let no = || status(403, "Forbidden", "no");
    let some = FakeServer::start(cluster(&nodes, |node, document| match node {
        "n1" | "n2" => no(),
        _ => healthy(document),
    }));
    let (run, answer) = skew(&some, &[]);
    assert_eq!(run.code, Some(5));
    let due = [
        ("n1", "Unknown"),
        ("n2", "Unknown"),
        ("n3", "Observed"),
        ("n4", "Derived"),
    ];
    assert_eq!(known(&answer), BTreeMap::from(due));
    // Where nobody may, thousands are not asked.
    let none = FakeServer::start(cluster(&nodes, |_, _| no()));
    let (run, answer) = skew(&none, &["--exact"]);
    assert_eq!(run.code, Some(5));
    assert!(known(&answer).values().all(|known| *known == "Unknown"));
    let requests = none.requests();
    let asked: BTreeSet<&str> = requests
        .iter()
        .map(testkit::fake_server::Request::path)
        .filter(|path| path.contains("/proxy/"))
        .collect();
    assert!(
        !asked.contains(place("n4", "configz").as_str()),
        "{asked:?}"
    );
}

#[test]
fn a_kubelet_that_hangs_is_waited_for_once_and_not_for_ever() {
    let server = FakeServer::start(cluster(&["n1", "n2"], |node, document| match node {
        "n1" => Answer::Hang,
        _ => healthy(document),
    }));
    let begun = Instant::now();
    let (run, answer) = skew(&server, &["--exact"]);
    let took = begun.elapsed();
    assert_eq!(run.code, Some(5));
    assert_eq!(
        told(&answer, "n1", "configz"),
        ("Unreachable", "no answer within 10s")
    );
    assert_eq!(known(&answer).get("n2"), Some(&"Observed"));
    assert!((10..18).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn what_is_strange_and_readable_is_read() {
    let gzip = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).expect("memory takes it");
        packed.finish().expect("memory takes it")
    };
    // A label before the name, escapes in it, and a family of lines that are none of gates.
    let strange = metrics().replacen(
        "kubernetes_feature_enabled{name=\"APIServerIdentity\",",
        "# a remark \u{7f}\nkubernetes_feature_enabled{zone=\"a\\\\\\\"},\\n\",name=\"APIServerIdentity\",",
        1,
    );
    let strange = format!(
        "# HELP a \\\\ \\n\nb{{c=\"}}\\\"kubernetes_feature_enabled{{name=\\\"X\\\"}} 1\"}} 1\n{strange}"
    );
    let vendor = metrics()
        + "kubernetes_feature_enabled{name=\"OpenShiftPodSecurityAdmission\",stage=\"\"} 1\n";
    let separator = "\nkubelet flagz\nWarning: This endpoint is not meant to be machine parseable.\n\n\
        enable-server ~> true\nfeature-gates ~> ContextualLogging=false\nprotect-kernel-defaults ~> false\nv ~> 2\n";
    let server = FakeServer::start(cluster(
        &["busy", "gzip", "plain", "separator", "strange", "vendor"],
        |node, document| match (node, document) {
            ("busy", _) => Answer::Sequence(vec![
                Reply::new(429, "text/plain", "later")
                    .header("Retry-After", "1")
                    .into(),
                healthy(document),
            ]),
            ("gzip", "metrics") => Reply::new(200, "text/plain; version=0.0.4", gzip(&metrics()))
                .header("Content-Encoding", "gzip")
                .into(),
            ("separator", "flagz") => Answer::text(separator),
            ("strange", "metrics") => Answer::text(strange.clone()),
            ("vendor", "metrics") => Answer::text(vendor.clone()),
            _ => healthy(document),
        },
    ));
    let begun = Instant::now();
    let (run, answer) = skew(
        &server,
        &["--exact", "--all", "--gate", "ContextualLogging"],
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{answer:#}");
    let known = known(&answer);
    assert!(
        known.values().all(|known| *known == "Observed"),
        "{known:?}"
    );
    let waited = begun.elapsed();
    assert!(
        waited >= Duration::from_secs(1),
        "429 was not obeyed: {waited:?}"
    );
    // All say the same of the gates that upstream knows; the vendor's own are told apart.
    let prints = |key: &str| -> BTreeMap<&str, &Value> {
        let rows = list(&answer["components"]).iter();
        rows.map(|row| (word(&row["name"]), &row[key])).collect()
    };
    let all = prints("fingerprintAll");
    assert_eq!(
        all.values()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
            .len(),
        1,
        "{all:?}"
    );
    assert!(!all["kubelet/plain"].is_null());
    for (name, print) in prints("fingerprintVendor") {
        assert_eq!(print.is_null(), name != "kubelet/vendor", "{name}");
    }
    // The flag that was read in spite of its separator contradicts what runs.
    let contradictions = list(&answer["contradictions"]);
    assert!(
        contradictions
            .iter()
            .any(|it| it["component"] == "kubelet/separator" && it["gate"] == "ContextualLogging"),
        "{answer:#}"
    );
}

#[test]
fn credentials_are_got_once_for_all_kubelets() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new("kubelets").expect("an authority");
    let authority_file = folder.path().join("kubelets.crt");
    std::fs::write(&authority_file, authority.certificate()).expect("a file");
    let identity = authority
        .server("kubelet", &["127.0.0.1"])
        .expect("a certificate");
    let kubelets: Vec<FakeServer> = (0..4)
        .map(|_| {
            let routes = DOCUMENTS
                .into_iter()
                .fold(Routes::new(), |routes, document| {
                    routes.get(&format!("/{document}"), healthy(document))
                });
            FakeServer::start_tls(routes, &identity)
        })
        .collect();
    let items = kubelets.iter().zip(1..).map(|(kubelet, n)| {
        json!({
            "metadata": {"name": format!("n{n}"), "uid": format!("n{n}")},
            "status": {
                "nodeInfo": {"kubeletVersion": "v1.37.2"},
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.address().port()}},
            },
        })
    });
    let items: Vec<Value> = items.collect();
    let list = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items});
    let (server, cluster) = secure(folder.path());
    server.set("GET", "/api/v1/nodes", Answer::json(&list));
    let runs = folder.path().join("runs");
    script(
        folder.path(),
        &format!(
            "echo >> {}\necho '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{{\"token\":\"a\"}}}}'",
            runs.display()
        ),
    );
    let user = exec("v1", ", interactiveMode: Never");
    let config = kubeconfig(folder.path(), &cluster, &user);
    let authority_file = authority_file.to_str().expect("the path is UTF-8");
    let more = [
        "--exact",
        "--direct-kubelets",
        "--kubelet-ca",
        authority_file,
    ];
    let (run, answer) = skew_by(&config, &more);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{answer:#}");
    assert!(known(&answer).values().all(|known| *known == "Observed"));
    for kubelet in &kubelets {
        let requests = kubelet.requests();
        assert_eq!(requests.len(), DOCUMENTS.len());
        for request in requests {
            assert_eq!(request.header("authorization"), Some("Bearer a"));
        }
    }
    // Once for the API server, once to look for others behind its address, once for the kubelets, which are trusted otherwise.
    let runs = std::fs::read_to_string(runs).expect("it ran");
    assert_eq!(runs.lines().count(), 3);
}

/// One kubelet never answers, and nobody wants to wait for it: what others said is not lost.
#[test]
fn what_was_read_before_a_signal_is_shown() {
    let nodes: Vec<String> = (10..80).map(|n| format!("n{n}")).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let server = FakeServer::start(cluster(&nodes, |node, document| match node {
        "n20" => Answer::Hang,
        _ => healthy(document),
    }));
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path());
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let arguments = [
        "skew",
        "--component",
        "kubelet",
        "-o",
        "json",
        "--kubeconfig",
        kubeconfig,
    ];
    let child = command(
        BINARY,
        &[&arguments[..], &["--request-timeout", "0"]].concat(),
    )
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the binary was built by this test run");
    // At most 50 are asked at once: when the last one is, some were answered.
    let last = place("n79", "configz");
    let is_last = |requests: &[Request]| requests.iter().any(|request| request.target == last);
    assert!(server.wait_until(is_last), "it asks");
    send("-INT", &child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is an answer");
    let known = known(&answer);
    let of = |word: &str| known.values().filter(|it| **it == word).count();
    assert_eq!(known.get("n20"), Some(&"Unknown"));
    assert!(of("Derived") > 3, "{known:?}");
    assert_eq!(of("Derived") + of("Unknown"), nodes.len());
    let is_given_up = |line: &&Value| word(&line["detail"]) == "not read: interrupted";
    let lines = list(&answer["coverage"]).iter();
    let given_up = lines.filter(is_given_up).count();
    assert_eq!(given_up, of("Unknown"));
}

/// EKS shows no Pod of its control plane, and metrics of it by an API of its own.
#[test]
fn a_control_plane_that_eks_hides_is_asked_by_its_api() {
    let of_scheduler = "/apis/metrics.eks.amazonaws.com/v1/ksh/container/metrics";
    let nodes = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [{
        "metadata": {"name": "n1", "uid": "n1"},
        "status": {"nodeInfo": {"kubeletVersion": "v1.37.2-eks-1a2b3c"}},
    }]});
    let routes = Routes::new()
        .get("/api/v1/nodes", Answer::json(&nodes))
        .get(of_scheduler, Answer::text(metrics()));
    let folder = tempfile::tempdir().expect("a folder");
    let skew = |routes: Routes| {
        let server = FakeServer::start(routes);
        let kubeconfig = server.kubeconfig(folder.path());
        let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
        let arguments = ["skew", "-o", "json", "--kubeconfig", kubeconfig];
        let output = command(BINARY, &arguments).output().expect("it runs");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("it is an answer");
        (answer, server.requests())
    };
    let (answer, _) = skew(routes);
    let row = list(&answer["components"])
        .iter()
        .find(|row| word(&row["name"]) == "kube-scheduler/metrics.eks.amazonaws.com");
    assert_eq!(row.map(|row| word(&row["known"])), Some("Observed"));
    // Nobody else is asked by that API.
    let (_, requests) = skew(cluster(&["n1"], |_, document| healthy(document)));
    assert!(
        requests
            .iter()
            .all(|request| !request.target.contains("eks"))
    );
}
