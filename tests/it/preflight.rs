//! What `features preflight` says of bad intentions, and of a server that does not show it Pods: the server is a fake one.
//!
//! It must not look at what kubelets do with Pods (`tests/live/preflighted.rs`).

use serde_json::{Value, json};
use testkit::fake_server::{Answer, FakeServer, Reply, Routes};

use super::plugin::{root, run};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const RESTART: &str = "RestartAllContainersOnContainerExits";
const PODS: &str = "/api/v1/pods";

#[test]
fn an_intention_that_is_none_exits_with_2() {
    let from = root().join("tests/cases/features-preflight/moves-up/in/nodes.yaml");
    let from = from.display().to_string();
    for (arguments, due) in [
        (&[][..], "say what is meant"),
        (
            &["--enable", RESTART, "--disable", RESTART],
            "is to be turned on and off",
        ),
        (
            &["--set", "HPAScaleToZero=yes"],
            "is not NAME=true or NAME=false",
        ),
        (
            &["--enable", "HPAScaleToZeroo"],
            "in Kubernetes 1.34 to 1.37; did you mean HPAScaleToZero?",
        ),
        (&["--to-version", "1.50"], "gates of 1.34 to 1.37 are known"),
        (
            &["--to-version", "1.37", "--enable", RESTART],
            "cannot be used with",
        ),
        (
            &["--to-version", "1.37", "--to-emulated-version", "1.36"],
            "cannot be used with",
        ),
    ] {
        let always = ["preflight", "--from", &from];
        let run = run(BINARY, &[&always[..], arguments].concat(), "");
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(due), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{arguments:?}");
    }
}

#[test]
fn pods_that_may_not_be_listed_are_unknown() {
    let node = json!({
        "metadata": {"name": "a"},
        "status": {
            "nodeInfo": {"kubeletVersion": "v1.37.2"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-30T08:00:00Z"}],
            "declaredFeatures": [RESTART],
        },
    });
    let list = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [node]});
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
        "message": "it is forbidden", "code": 403,
    });
    let forbidden: Answer = Reply::new(403, "application/json", body.to_string()).into();
    let pods = format!("{PODS}?limit=500");
    let routes = Routes::new()
        .get("/api/v1/nodes?limit=500", Answer::json(&list))
        .get(&pods, forbidden);
    let server = FakeServer::start(routes);
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = server.kubeconfig(folder.path()).display().to_string();
    let arguments = [
        "preflight",
        "-o",
        "json",
        "--disable",
        RESTART,
        "--component",
        "kubelet",
        "--now",
        "2026-11-30T08:00:10Z",
        "--kubeconfig",
        &kubeconfig,
    ];
    let run = run(BINARY, &arguments, "");
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    assert_eq!(run.code, Some(5), "{run:?}");
    let checks = answer["checks"].as_array().expect("there are checks");
    let workloads = checks.iter().find(|check| check["id"] == "workloads");
    let workloads = workloads.expect("it is there");
    assert_eq!(workloads["status"], "Unknown", "{workloads:#}");
    assert_eq!(
        workloads["reason"],
        "not all Pods could be listed; not all templates could be listed: cronjobs.batch -A, daemonsets.apps -A, deployments.apps -A and 2 more"
    );
    assert_eq!(answer["plan"], json!([]), "what is not known has no plan");
    let requests = server.requests();
    let lists = requests.iter().filter(|request| request.path() == PODS);
    assert_eq!(lists.count(), 1, "one list of Pods");
    assert!(requests.iter().all(|request| request.method == "GET"));
}

/// All that sets a kube-proxy's gates is its file: it is read where such a Pod is, and nothing but it is taken for them.
#[test]
fn a_proxys_configuration_is_read_where_one_runs() {
    const MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";
    let node = json!({
        "metadata": {"name": "a"},
        "status": {"nodeInfo": {"kubeletVersion": "v1.36.3"}},
    });
    let pod = json!({
        "metadata": {"name": "kube-proxy-x", "namespace": "kube-system", "uid": "u"},
        "spec": {"nodeName": "a", "containers": [{
            "name": "kube-proxy",
            "image": "registry.k8s.io/kube-proxy:v1.36.3",
            "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf"],
        }]},
    });
    let list = |kind: &str, items: &[&Value]| json!({"kind": kind, "apiVersion": "v1", "metadata": {}, "items": items});
    let text = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n\
                featureGates: {SidecarContainers: true}\n";
    let judged = |pods: &[&Value], name: &str, key: &str| {
        let map = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "kube-system"},
            "data": {key: text},
        });
        let pods = list("PodList", pods);
        let routes = Routes::new()
            .get(
                "/api/v1/nodes?limit=500",
                Answer::json(&list("NodeList", &[&node])),
            )
            .get(&format!("{PODS}?limit=500"), Answer::json(&pods))
            .get(&format!("{MAPS}/{name}"), Answer::json(&map));
        let server = FakeServer::start(routes);
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = server.kubeconfig(folder.path()).display().to_string();
        let always = ["preflight", "-o", "json", "--to-version", "1.37"];
        let rest = [
            "--component",
            "kube-proxy",
            "--select",
            "unknown-gate",
            "--kubeconfig",
            &kubeconfig,
        ];
        let run = run(BINARY, &[&always[..], &rest].concat(), "");
        let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
        let requests = server.requests();
        let read = requests.iter().map(|it| it.path().to_owned());
        let read: Vec<String> = read.filter(|it| it.contains("kube-proxy")).collect();
        (answer["checks"][0].clone(), read)
    };
    let usual = format!("{MAPS}/kube-proxy");
    let of_eks = format!("{MAPS}/kube-proxy-config");
    let (check, read) = judged(&[&pod], "kube-proxy", "config.conf");
    assert_eq!(check["findings"][0]["subject"], "kube-proxy/a", "{check:#}");
    assert_eq!(read, std::slice::from_ref(&usual));
    let (check, read) = judged(&[&pod], "kube-proxy-config", "config");
    assert_eq!(check["findings"][0]["subject"], "kube-proxy/a", "{check:#}");
    assert_eq!(read, [usual, of_eks]);
    let (check, read) = judged(&[], "kube-proxy", "config.conf");
    assert_eq!(check["status"], "Unknown", "{check:#}");
    assert_eq!(read, Vec::<String>::new());
}
