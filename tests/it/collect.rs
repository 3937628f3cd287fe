//! `collect` and `explain --from BUNDLE`: the same answer as of the server, nothing secret, whole or not at all.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::fake_server::{Answer, FakeServer, Routes, refusals};

use super::plugin::{Run, command, nominate};
use super::signals::send;

const PODS: &str = "/api/v1/namespaces/shop/pods";
const EVENTS: &str = "/api/v1/namespaces/shop/events";
const DATE: &str = "Mon, 30 Nov 2026 08:05:00 GMT";
const NOW: &str = "2026-11-30T08:09:00Z";
const DEFAULT_NAME: &str = "nomination-shop-web-20261130T080500Z.tar.zst";
const CANARY: &str = "CANARY";
const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-nominate");

/// A Pod as a server has it, with a canary wherever people put secrets.
fn pod(name: &str, node: Option<&str>, nominated: Option<&str>) -> Value {
    let conditions = if node.is_some() {
        json!([])
    } else {
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "2026-11-30T08:04:00Z",
            "message": "0/1 nodes are available: 1 Insufficient cpu."}])
    };
    let container = |name: &str| {
        json!({"name": name, "image": format!("registry/{CANARY}"), "command": ["run", CANARY], "args": [format!("--password={CANARY}")],
            "env": [{"name": "PASSWORD", "value": CANARY}], "envFrom": [{"secretRef": {"name": CANARY}}],
            "livenessProbe": {"httpGet": {"path": "/", "httpHeaders": [{"name": "Authorization", "value": CANARY}]}},
            "lifecycle": {"preStop": {"exec": {"command": [CANARY]}}},
            "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}, "x": CANARY},
            "volumeMounts": [{"name": CANARY, "mountPath": CANARY, "bindMountOptions": ["noexec"]}]})
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("u-{name}"), "resourceVersion": "7", "generateName": CANARY,
            "creationTimestamp": "2026-11-30T08:00:00Z", "labels": {"app": "web"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": format!("{{\"env\":\"{CANARY}\"}}"), "vault/token": CANARY},
            "managedFields": [
                {"manager": "kube-scheduler", "operation": "Update", "subresource": "status", "time": "2026-11-30T08:04:00Z", "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:status": {"f:nominatedNodeName": {}, "f:conditions": {"k:{\"type\":\"PodScheduled\"}": {".": {}, "f:message": {}}}}}},
                {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:containers": {(format!("k:{{\"name\":\"{CANARY}\"}}")): {"v:": CANARY}}}}}
            ]
        },
        "spec": {"nodeName": node, "hostname": CANARY, "containers": [container("a")], "initContainers": [container("b")],
            "ephemeralContainers": [container("c")], "imagePullSecrets": [{"name": CANARY}],
            "volumes": [{"name": "s", "secret": {"secretName": CANARY}}, {"name": "c", "csi": {"driver": "d", "volumeAttributes": {"password": CANARY}}},
                {"name": "p", "persistentVolumeClaim": {"claimName": "data"}}]},
        "status": {"phase": if node.is_some() { "Running" } else { "Pending" }, "nominatedNodeName": nominated, "conditions": conditions,
            "containerStatuses": [{"name": "a", "state": {"terminated": {"message": CANARY}}}], "hostIP": CANARY}
    })
}

fn list(kind: &str, items: &[Value]) -> Answer {
    Answer::json(&list_of(kind, items))
}

fn list_of(kind: &str, items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": format!("{kind}List"), "metadata": {"resourceVersion": "9"}, "items": items})
}

fn event(name: &str, about: &str, reason: &str, note: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": note,
        "metadata": {"name": name, "namespace": "shop", "uid": format!("e-{name}"), "creationTimestamp": "2026-11-30T08:04:00Z",
            "annotations": {"x": CANARY}, "managedFields": [{"manager": "kube-scheduler", "fieldsV1": {"f:x": CANARY}}]},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": about, "uid": format!("u-{about}"), "fieldPath": CANARY},
        "reportingComponent": "default-scheduler", "reportingInstance": CANARY, "eventTime": "2026-11-30T08:04:00.5Z", "firstTimestamp": null})
}

/// A server on which `web` waits for `old` on n1, and `done` is bound there.
fn routes() -> Routes {
    let mut victim = pod("old", Some("n1"), None);
    victim["metadata"]["deletionTimestamp"] = json!("2026-11-30T08:06:00Z");
    victim["metadata"]["deletionGracePeriodSeconds"] = json!(60);
    let mut web = pod("web", None, Some("n1"));
    web["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u-set", "controller": true}]);
    let done = pod("done", Some("n1"), None);
    let all = [web.clone(), victim.clone(), done.clone()];
    let failed = event(
        "web.1",
        "web",
        "FailedScheduling",
        "0/1 nodes are available: 1 Insufficient cpu.",
    );
    let preempted = event(
        "old.1",
        "old",
        "Preempted",
        "Preempted by pod u-web on node n1",
    );
    Routes::new()
        .get("/version", Answer::json(&json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2", "gitCommit": CANARY})))
        .get(&format!("{PODS}/web"), Answer::json(&web))
        .get(&format!("{PODS}/done"), Answer::json(&done))
        .get(PODS, list("Pod", &all))
        .get("/api/v1/pods", list("Pod", &all))
        .get(EVENTS, list("Event", std::slice::from_ref(&failed)))
        .get("/api/v1/events", list("Event", &[preempted, failed]))
        .get("/api/v1/nodes/n1", Answer::json(&json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "n1", "annotations": {"x": CANARY}, "labels": {"pool": "blue"}},
            "spec": {"providerID": CANARY},
            "status": {"conditions": [{"type": "Ready", "status": "True", "message": CANARY}], "allocatable": {"cpu": "2", "pods": "110"},
                "addresses": [{"address": CANARY}]}})))
        .get("/api/v1/namespaces/shop/persistentvolumeclaims/data", Answer::json(&json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "shop", "annotations": {"volume.kubernetes.io/selected-node": "n1", "x": CANARY}},
            "spec": {"volumeName": CANARY}, "status": {"phase": "Bound"}})))
        .get("/apis/apps/v1/namespaces/shop/statefulsets/web", Answer::json(&json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u-set", "annotations": {"x": CANARY}},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [{"env": [{"value": CANARY}]}]}}}})))
}

/// The same without the rights to what is not of the namespace.
fn few_rights() -> Routes {
    let denied = |resource: &'static str, group: &'static str| {
        refusals::forbidden(
            "alice",
            "list",
            refusals::Resource {
                group,
                name: resource,
            },
            None,
            None,
        )
    };
    routes()
        .get("/api/v1/pods", denied("pods", ""))
        .get("/api/v1/events", denied("events", ""))
        .get(
            "/apis/events.k8s.io/v1/events",
            denied("events", "events.k8s.io"),
        )
        .get("/api/v1/nodes/n1", denied("nodes", ""))
        .get(
            "/api/v1/namespaces/shop/persistentvolumeclaims/data",
            denied("persistentvolumeclaims", ""),
        )
}

struct Stage {
    server: FakeServer,
    folder: TempDir,
    kubeconfig: PathBuf,
}

impl Stage {
    fn new(routes: Routes) -> Self {
        let server = FakeServer::start(routes);
        server.set_date(Some(DATE));
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = server.kubeconfig(folder.path());
        Self {
            server,
            folder,
            kubeconfig,
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A command against the server.
    fn live(&self, words: &[&str]) -> Run {
        let kubeconfig = self.kubeconfig.display().to_string();
        nominate(&[words, &["--kubeconfig", &kubeconfig][..]].concat())
    }

    /// Collects into a file.
    fn collect(&self, name: &str, words: &[&str]) -> (Run, String) {
        let path = self.path(name);
        let run = self.live(&[&["collect", "-o", &path], words].concat());
        (run, path)
    }

    /// Names in the folder beside the kubeconfig.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name != "kubeconfig")
            .collect();
        names.sort();
        names
    }
}

/// An answer without what tells where it was read, and when it was made.
fn comparable(mut answer: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, _| !["generatedAt", "source", "sources"].contains(&&**key));
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut answer);
    answer
}

fn answer(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// Name and bytes.
type Entry = (String, Vec<u8>);

/// Entries of a bundle by their names, in order.
fn entries(path: &str) -> Vec<Entry> {
    let file = fs::File::open(path).expect("the bundle is there");
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).expect("it is zstd"));
    let entries = archive.entries().expect("it is a tar");
    entries
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let name = entry.path().expect("a name").display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("its bytes");
            (name, bytes)
        })
        .collect()
}

fn manifest(path: &str) -> Value {
    let (name, bytes) = entries(path).swap_remove(0);
    assert_eq!(name, "manifest.json");
    serde_json::from_slice(&bytes).expect("the manifest is JSON")
}

/// Packs entries as anybody could.
fn pack(path: &str, entries: &[(&str, &[u8])]) {
    let file = fs::File::create(path).expect("the folder takes a file");
    let mut archive = tar::Builder::new(zstd::Encoder::new(file, 3).expect("an encoder"));
    for (name, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        // Not by the builder's own hand: it refuses names that lead out.
        let field = &mut header.as_mut_bytes()[..name.len()];
        field.copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        archive.append(&header, *bytes).expect("it is written");
    }
    let packer = archive.into_inner().expect("it ends");
    packer.finish().expect("it ends");
}

#[test]
fn a_bundle_answers_as_the_server_did() {
    let questions: &[&[&str]] = &[
        &["web", "-n", "shop"],
        &["done", "-n", "shop"],
        &["web", "done", "absent", "-n", "shop"],
        &["-l", "app=web", "-n", "shop"],
        &["--field-selector", "status.phase=Pending", "-n", "shop"],
        &["sts/web", "-n", "shop"],
        &["--uid", "u-web", "-n", "shop"],
        &["--uid", "u-done", "-n", "shop"],
        &["--uid", "u-done", "-A"],
        &["-A"],
        &["-l", "app=none", "-n", "shop"],
    ];
    for (routes, answered) in [(routes(), 11), (few_rights(), 9)] {
        let stage = Stage::new(routes);
        let mut kept = 0;
        for (number, question) in questions.iter().enumerate() {
            let (run, path) = stage.collect(&format!("{number}.tar.zst"), question);
            let live = stage.live(&[&["explain"], *question].concat());
            if live.stdout.is_empty() && live.code == Some(1) {
                // Nothing is there to be explained.
                assert_eq!(
                    (run.code, run.stderr),
                    (live.code, live.stderr),
                    "{question:?}"
                );
                assert!(!Path::new(&path).exists());
                continue;
            }
            kept += 1;
            assert!(run.stdout.starts_with(&path), "{run:?}");
            for more in [&[][..], &["--now", NOW]] {
                let words = [&["explain", "-o", "json"], *question, more].concat();
                let live = stage.live(&words);
                let again = nominate(&[&words[..], &["--from", &path]].concat());
                assert_eq!(
                    (again.code, &again.stderr),
                    (live.code, &live.stderr),
                    "{words:?}"
                );
                assert_eq!(
                    comparable(answer(&again)),
                    comparable(answer(&live)),
                    "{words:?}"
                );
            }
            let words = [&["explain"], *question].concat();
            let again = nominate(&[&words[..], &["--from", &path]].concat());
            assert_eq!(again.stdout, live.stdout, "{words:?}");
        }
        assert_eq!(kept, answered);
    }
}

#[test]
fn what_was_denied_is_denied_in_the_bundle_too() {
    let stage = Stage::new(few_rights());
    let (run, path) = stage.collect("b.tar.zst", &["done", "-n", "shop"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let due = "warning: events with reason Preempted: Denied: Error from server (Forbidden)";
    assert!(run.stderr.contains(due), "{run:?}");
    let reads = manifest(&path)["reads"].clone();
    let reads = reads.as_array().expect("a list");
    let denied = reads.iter().find(|read| read["kind"] == "PreemptedEvents");
    let denied = denied.expect("it was asked for");
    assert_eq!(
        (&denied["state"], &denied["file"], &denied["objects"]),
        (&json!("Denied"), &Value::Null, &json!(0))
    );
    assert!(
        denied["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("Forbidden"))
    );
    let run = nominate(&[
        "explain", "done", "-n", "shop", "-o", "json", "--from", &path,
    ]);
    assert_eq!(
        (run.code, &answer(&run)["verdict"]["kind"]),
        (Some(5), &json!("Unknown"))
    );
}

#[test]
fn pages_are_joined() {
    let page = |name: &str, token: &str| {
        let mut list = list_of("Pod", &[pod(name, Some("n1"), None)]);
        list["metadata"]["continue"] = json!(token);
        Answer::json(&list)
    };
    let stage = Stage::new(
        routes()
            .get(&format!("{PODS}?limit=500"), page("a", "t"))
            .get(&format!("{PODS}?limit=500&continue=t"), page("b", "")),
    );
    let (run, path) = stage.collect("b.tar.zst", &["pods", "-n", "shop"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let manifest = manifest(&path);
    let reads = manifest["reads"].as_array().expect("a list");
    let pods = reads
        .iter()
        .find(|read| read["kind"] == "Pods")
        .expect("they were listed");
    assert_eq!(pods["objects"], 2);
    let files: BTreeMap<String, Vec<u8>> = entries(&path).into_iter().collect();
    let items: Value =
        serde_json::from_slice(&files[pods["file"].as_str().expect("a file")]).expect("JSON");
    let names: Vec<&Value> = items["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|pod| &pod["metadata"]["name"])
        .collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn what_broke_off_is_partial_in_the_bundle_too() {
    let mut first = list_of("Pod", &[pod("a", Some("n1"), None)]);
    first["metadata"]["continue"] = json!("t");
    let pods = refusals::Resource {
        group: "",
        name: "pods",
    };
    let refusal = refusals::forbidden("alice", "list", pods, Some("shop"), None);
    let stage = Stage::new(
        routes()
            .get(&format!("{PODS}?limit=500"), Answer::json(&first))
            .get(&format!("{PODS}?limit=500&continue=t"), refusal),
    );
    let words = ["explain", "pods", "-n", "shop", "-o", "json"];
    let live = stage.live(&words);
    assert_eq!(live.code, Some(5), "{live:?}");
    let (run, path) = stage.collect("b.tar.zst", &["pods", "-n", "shop"]);
    assert!(
        run.stderr.contains("warning: pods -n shop: Partial"),
        "{run:?}"
    );
    let again = nominate(&[&words[..], &["--from", &path]].concat());
    assert_eq!((again.code, &again.stderr), (live.code, &live.stderr));
    assert_eq!(comparable(answer(&again)), comparable(answer(&live)));
}

#[test]
fn no_secret_gets_into_a_bundle_or_an_answer() {
    let stage = Stage::new(routes());
    let kubeconfig = fs::read_to_string(&stage.kubeconfig).expect("it was written");
    let with_token = kubeconfig.replace("user: {}", &format!("user: {{token: {CANARY}}}"));
    assert_ne!(with_token, kubeconfig);
    fs::write(&stage.kubeconfig, with_token).expect("it is written");
    for (name, question) in [
        ("one", &["web", "-n", "shop"][..]),
        ("set", &["sts/web", "-n", "shop"]),
        ("all", &["-A"]),
    ] {
        let (run, path) = stage.collect(name, question);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        assert!(!run.stdout.contains(CANARY));
        let entries = entries(&path);
        assert!(entries.len() > 3, "{entries:?}");
        for (name, bytes) in entries {
            let text = String::from_utf8(bytes).expect("it is text");
            assert!(
                !name.contains(CANARY) && !text.contains(CANARY),
                "{name}: {text}"
            );
        }
        for format in ["json", "table", "wide", "yaml"] {
            let run = nominate(&[&["explain", "-o", format, "--from", &path], question].concat());
            assert!(
                !run.stdout.contains(CANARY)
                    && !run.stderr.contains(CANARY)
                    && !run.stdout.is_empty()
            );
        }
    }
}

#[test]
fn the_manifest_says_what_it_is_and_what_is_left_out() {
    let stage = Stage::new(routes());
    let (_, path) = stage.collect("b.tar.zst", &["web", "-n", "shop"]);
    let mut found = manifest(&path);
    let reads = found
        .as_object_mut()
        .expect("an object")
        .remove("reads")
        .expect("reads");
    let left_out = found
        .as_object_mut()
        .expect("an object")
        .remove("leftOut")
        .expect("a sentence");
    assert!(
        left_out
            .as_str()
            .is_some_and(|text| text.contains("no environment"))
    );
    let due = json!({
        "apiVersion": "kube-placement.dev/v1alpha1", "kind": "NominationBundle",
        "tool": {"name": "kubectl-nominate", "version": env!("CARGO_PKG_VERSION")},
        "server": stage.server.url(), "context": "fake", "now": "2026-11-30T08:05:00Z",
        "request": {"selection": "pods/web", "namespace": "shop"},
        "redactions": {"patterns": 0, "places": 0}
    });
    assert_eq!(found, due);
    let subjects: Vec<&Value> = reads
        .as_array()
        .expect("a list")
        .iter()
        .map(|read| &read["subject"])
        .collect();
    let asked = [
        "pods/web -n shop",
        "events about uid u-web -n shop",
        "nodes/n1",
        "pods on node n1",
        "persistentvolumeclaims/data -n shop",
        "events with reason Preempted",
    ];
    assert_eq!(subjects, asked);
    // Every read that has objects names the entry that has them, and there are no others.
    let named: Vec<&str> = reads
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|read| read["file"].as_str())
        .collect();
    let entries = entries(&path);
    let there: Vec<&str> = entries
        .iter()
        .skip(1)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(named, there);
}

#[test]
fn the_manifest_has_the_question_in_the_words_of_the_command_line() {
    let stage = Stage::new(routes());
    for (question, selection, namespace) in [
        (&["-A"][..], "pods", Value::Null),
        (
            &["-l", "app in (web)", "-A"],
            "pods -l app=web",
            Value::Null,
        ),
        (
            &["po", "web", "done", "-n", "shop"],
            "pods/web pods/done",
            json!("shop"),
        ),
        (
            &["sts", "web", "-n", "shop"],
            "statefulsets/web",
            json!("shop"),
        ),
        (
            &["--uid", "u-web", "-n", "shop"],
            "--uid u-web",
            json!("shop"),
        ),
    ] {
        let (run, path) = stage.collect("b.tar.zst", &[question, &["--force"]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        let due = json!({"selection": selection, "namespace": namespace});
        assert_eq!(manifest(&path)["request"], due);
    }
}

#[test]
fn what_is_redacted_is_nowhere_and_counted() {
    let stage = Stage::new(routes());
    let (run, path) = stage.collect(
        "b.tar.zst",
        &[
            "web",
            "-n",
            "shop",
            "--redact",
            "n1",
            "--redact",
            r"127\.0\.0\.\d+",
        ],
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut places = 0;
    for (name, bytes) in entries(&path) {
        let text = String::from_utf8(bytes).expect("it is text");
        assert!(
            !text.contains("n1") && !text.contains("127.0.0.1"),
            "{name}: {text}"
        );
        places += text.matches("<redacted>").count();
    }
    let manifest = manifest(&path);
    assert_eq!(
        manifest["redactions"],
        json!({"patterns": 2, "places": places})
    );
    assert!(places > 5);
    // The story stays whole: the same text is replaced the same way.
    let run = nominate(&[
        "explain", "web", "-n", "shop", "-o", "json", "--from", &path,
    ]);
    let answer = answer(&run);
    assert_eq!(
        (
            &answer["verdict"]["kind"],
            &answer["nominations"][0]["node"]
        ),
        (&json!("WaitingForVictims"), &json!("<redacted>"))
    );
    assert!(
        run.stdout.contains(&format!("redacted {places} places")),
        "{}",
        run.stdout
    );
    for wrong in ["(", "x*"] {
        let (run, _) = stage.collect("c.tar.zst", &["web", "--redact", wrong]);
        assert_eq!(run.code, Some(2), "{run:?}");
    }
}

#[test]
fn the_same_answers_make_the_same_bytes() {
    let stage = Stage::new(routes());
    let of = |name: &str| {
        let (run, path) = stage.collect(name, &["-A"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        fs::read(path).expect("the bundle is there")
    };
    assert_eq!(of("a.tar.zst"), of("b.tar.zst"));
    let run = command(
        BINARY,
        &[
            "collect",
            "-A",
            "-o",
            "-",
            "--kubeconfig",
            &stage.kubeconfig.display().to_string(),
        ],
    )
    .output()
    .expect("it runs");
    assert_eq!(run.stdout, of("c.tar.zst"));
    assert_eq!(run.stderr, b"");
}

#[test]
fn a_file_is_its_owners_and_is_not_replaced_unasked() {
    let stage = Stage::new(routes());
    let kubeconfig = stage.kubeconfig.display().to_string();
    let run = command(
        BINARY,
        &["collect", "web", "-n", "shop", "--kubeconfig", &kubeconfig],
    )
    .current_dir(stage.folder.path())
    .output()
    .expect("it runs");
    assert_eq!(
        String::from_utf8_lossy(&run.stdout),
        format!("{DEFAULT_NAME} written (6 reads)\n")
    );
    assert_eq!(stage.files(), [DEFAULT_NAME]);
    let path = stage.path(DEFAULT_NAME);
    let mode = fs::metadata(&path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    fs::write(&path, "another").expect("it can be written");
    let asked = stage.server.requests().len();
    let (run, _) = stage.collect(DEFAULT_NAME, &["web", "-n", "shop"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr
            .contains("is there already\nhint: replace it with --force"),
        "{run:?}"
    );
    assert_eq!(
        stage.server.requests().len(),
        asked,
        "nothing is read for nothing"
    );
    assert_eq!(fs::read(&path).expect("it is there"), b"another");
    let (run, _) = stage.collect(DEFAULT_NAME, &["web", "-n", "shop", "--force"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(manifest(&path)["kind"], "NominationBundle");

    for (target, code) in [("no/such/folder", 1), (".", 2)] {
        let (run, _) = stage.collect(target, &["web", "-n", "shop", "--force"]);
        assert_eq!(run.code, Some(code), "{run:?}");
    }
    assert_eq!(stage.files(), [DEFAULT_NAME]);
}

#[test]
fn what_fails_leaves_nothing() {
    let missing = refusals::Resource {
        group: "",
        name: "pods",
    };
    let stage = Stage::new(routes().get(
        &format!("{PODS}/gone"),
        refusals::not_found(missing, "gone"),
    ));
    let (run, _) = stage.collect("b.tar.zst", &["gone", "-n", "shop"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (
            Some(1),
            "",
            "Error from server (NotFound): pods \"gone\" not found\n"
        )
    );
    let (_, path) = stage.collect("c.tar.zst", &["web", "gone", "-n", "shop"]);
    assert!(Path::new(&path).exists());

    let stage = Stage::new(routes().get("/api/v1/nodes/n1", Answer::Hang));
    let path = stage.path("b.tar.zst");
    let kubeconfig = stage.kubeconfig.display().to_string();
    let child = command(
        BINARY,
        &[
            "collect",
            "web",
            "-n",
            "shop",
            "-o",
            &path,
            "--request-timeout",
            "0",
            "--kubeconfig",
            &kubeconfig,
        ],
    )
    .stdin(Stdio::null())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the binary was built by this test run");
    assert!(stage.server.wait_until(|requests| {
        requests
            .iter()
            .any(|request| request.path() == "/api/v1/nodes/n1")
    }));
    send("-INT", &child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        (output.status.code(), output.stdout, output.stderr),
        (Some(130), Vec::new(), Vec::new())
    );
    assert_eq!(stage.files(), Vec::<String>::new());
}

#[test]
fn a_dry_run_sends_reviews_alone_and_writes_nothing() {
    let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let stage = Stage::new(Routes::new().on(
        "POST",
        review,
        Answer::json(&json!({"status": {"allowed": true}})),
    ));
    let (run, path) = stage.collect("b.tar.zst", &["web", "-n", "shop", "--dry-run"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(!Path::new(&path).exists());
    assert!(
        stage
            .server
            .requests()
            .iter()
            .all(|request| request.path() == review)
    );
    let explain = stage.live(&["explain", "web", "-n", "shop", "--show-access"]);
    assert_eq!(run.stdout, explain.stdout);
}

#[test]
fn a_bundle_may_come_by_standard_input() {
    let stage = Stage::new(routes());
    let (_, path) = stage.collect("b.tar.zst", &["web", "-n", "shop"]);
    let words = ["explain", "web", "-n", "shop", "-o", "json", "--from"];
    let piped = command(BINARY, &[&words[..], &["-"]].concat())
        .stdin(fs::File::open(&path).expect("the bundle is there"))
        .output()
        .expect("it runs");
    let piped: Value = serde_json::from_slice(&piped.stdout).expect("an answer");
    assert_eq!(piped["sources"], json!([{"name": "-", "kind": "bundle"}]));
    let read = nominate(&[&words[..], &[&path]].concat());
    assert_eq!(comparable(piped), comparable(answer(&read)));
}

#[test]
fn a_folder_with_what_was_in_it_is_a_bundle_too() {
    let stage = Stage::new(routes());
    let (_, path) = stage.collect("b.tar.zst", &["web", "-n", "shop"]);
    let folder = stage.path("unpacked");
    for (name, bytes) in entries(&path) {
        let file = Path::new(&folder).join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("it is made");
        fs::write(file, bytes).expect("it is written");
    }
    let of = |from: &str| {
        let run = nominate(&["explain", "web", "-n", "shop", "-o", "json", "--from", from]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let answer = answer(&run);
        assert_eq!(answer["sources"][0]["kind"], "bundle");
        comparable(answer)
    };
    assert_eq!(of(&folder), of(&path));
    // A link is not followed, and its read is no longer answered.
    let node = Path::new(&folder).join("reads/0003.json");
    fs::rename(&node, stage.path("elsewhere.json")).expect("it is moved");
    std::os::unix::fs::symlink(stage.path("elsewhere.json"), &node).expect("it is linked");
    let run = nominate(&[
        "explain", "web", "-n", "shop", "-o", "json", "--from", &folder,
    ]);
    assert!(
        run.stdout.contains("it is a link; not followed"),
        "{}",
        run.stdout
    );
}

/// Other questions than it was made for are answered from what it holds, and no more is said to be known.
#[test]
fn a_bundle_of_all_answers_for_one() {
    let stage = Stage::new(routes());
    let (_, all) = stage.collect("all.tar.zst", &["-A"]);
    let (_, one) = stage.collect("one.tar.zst", &["web", "-n", "shop"]);
    let verdict = |from: &str, pod: &str| {
        let run = nominate(&["explain", pod, "-n", "shop", "-o", "json", "--from", from]);
        answer(&run)["verdict"]["kind"].clone()
    };
    assert_eq!(verdict(&all, "web"), verdict(&one, "web"));
    // As of files: a name is looked for in every namespace, and inputs may stand beside each other.
    for more in [&[][..], &["--from", "examples/preemption"]] {
        let words = [&["explain", "web", "-o", "json", "--from", &all], more].concat();
        let run = nominate(&words);
        let found = answer(&run)["verdict"]["kind"].clone();
        assert_eq!(found, verdict(&one, "web"), "{words:?}");
    }
    let run = nominate(&["explain", "old", "-n", "shop", "-o", "json", "--from", &one]);
    assert!(
        run.stdout.contains("the bundle was not made for it"),
        "{}",
        run.stdout
    );
    let run = nominate(&["explain", "else", "-n", "shop", "--from", &one]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr
            .contains("the bundle was not made for it, and does not hold it"),
        "{run:?}"
    );
}

#[test]
fn a_bundle_of_another_version_says_so() {
    let stage = Stage::new(routes());
    let (_, path) = stage.collect("b.tar.zst", &["web", "-n", "shop"]);
    let mut newer = manifest(&path);
    newer["apiVersion"] = json!("kube-placement.dev/v2");
    newer["reads"] = json!("something else");
    // As it is written: the kind stands at the beginning.
    let text = newer.to_string();
    let changed = stage.path("newer.tar.zst");
    pack(&changed, &[("manifest.json", text.as_bytes())]);
    let run = nominate(&["explain", "web", "--from", &changed]);
    assert_eq!(run.code, Some(1));
    let due = "is a bundle of version \"kube-placement.dev/v2\", which is newer than this program\nhint: use a newer kubectl-nominate";
    assert!(run.stderr.contains(due), "{run:?}");
}

/// A bundle may come from anybody.
#[test]
fn a_manipulated_bundle_is_told_and_harms_nobody() {
    let stage = Stage::new(routes());
    let (_, path) = stage.collect("b.tar.zst", &["web", "-n", "shop"]);
    let good = entries(&path);
    let explain = |change: &dyn Fn(&mut Vec<Entry>)| {
        let mut entries = good.clone();
        change(&mut entries);
        let entries: Vec<(&str, &[u8])> = entries
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect();
        let changed = stage.path("changed.tar.zst");
        pack(&changed, &entries);
        nominate(&[
            "explain", "web", "-n", "shop", "-o", "json", "--from", &changed,
        ])
    };
    let told = |run: &Run, subject: &str| {
        let answer = answer(run);
        let lines = answer["coverage"].as_array().expect("a list").clone();
        let line = lines.into_iter().find(|line| line["subject"] == subject);
        line.unwrap_or_else(|| panic!("no {subject:?} in {answer:#}"))
    };

    let run = explain(&|entries| {
        entries.push(("../../outside.json".to_owned(), b"{}".to_vec()));
        entries.push(("reads/9999.json".to_owned(), b"{}".to_vec()));
    });
    assert!(
        told(&run, "the bundle")["detail"]
            .as_str()
            .is_some_and(|detail| detail.starts_with("2 entries are not read"))
    );
    assert!(!Path::new(&stage.path("../../outside.json")).exists());

    let run =
        explain(&|entries| entries[3].1 = b"{\"kind\": \"List\", \"items\": [{\"kind\"".to_vec());
    assert_eq!(told(&run, "nodes/n1")["state"], "Unreadable");
    let run = explain(&|entries| entries[3].1 = b"{\"kind\": \"List\", \"items\": []}".to_vec());
    assert_eq!(
        told(&run, "nodes/n1")["detail"],
        "reads/0003.json of the bundle has 0 objects of 1"
    );
    let run = explain(&|entries| drop(entries.remove(3)));
    assert_eq!(
        told(&run, "nodes/n1")["detail"],
        "reads/0003.json is missing in the bundle"
    );

    let run = explain(&|entries| entries[0].1 = entries[0].1.iter().copied().take(300).collect());
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr
            .contains("is a bundle whose manifest cannot be read"),
        "{run:?}"
    );

    // Cut off in the middle, or with a wrong byte: the checksum tells.
    let whole = fs::read(&path).expect("the bundle is there");
    for (cut, wrong) in [
        (whole.len() / 2, None),
        (whole.len(), Some(whole.len() - 8)),
    ] {
        let mut bytes: Vec<u8> = whole.iter().copied().take(cut).collect();
        if let Some(at) = wrong {
            bytes[at] ^= 0xff;
        }
        let broken = stage.path("broken.tar.zst");
        fs::write(&broken, bytes).expect("it is written");
        let run = nominate(&[
            "explain", "web", "-n", "shop", "-o", "json", "--from", &broken,
        ]);
        let said = [run.stdout, run.stderr].concat();
        assert!(
            [
                "cannot be read",
                "missing in the bundle",
                "incomplete frame",
                "Data corruption"
            ]
            .iter()
            .any(|words| said.contains(words)),
            "{said}"
        );
    }
}

/// A few kilobytes that would fill the memory.
#[test]
fn a_bomb_is_let_out_up_to_a_bound() {
    let stage = Stage::new(routes());
    let (_, path) = stage.collect("b.tar.zst", &["web", "-n", "shop"]);
    let (name, manifest) = entries(&path).swap_remove(0);
    let bomb = stage.path("bomb.tar.zst");
    let file = fs::File::create(&bomb).expect("the folder takes a file");
    let mut packer = zstd::Encoder::new(file, 1).expect("an encoder");
    let mut header = |name: &str, size: u64| {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).expect("a name");
        header.set_size(size);
        header.set_cksum();
        packer.write_all(header.as_bytes()).expect("it is written");
    };
    header(&name, manifest.len() as u64);
    packer.write_all(&manifest).expect("it is written");
    packer
        .write_all(&vec![0; 512 - manifest.len() % 512])
        .expect("it is written");
    let mut header = tar::Header::new_ustar();
    header.set_path("unasked").expect("a name");
    header.set_size(4 << 30);
    header.set_cksum();
    packer.write_all(header.as_bytes()).expect("it is written");
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..1100 {
        packer.write_all(&blanks).expect("it is written");
    }
    packer.finish().expect("it ends");
    let run = nominate(&[
        "explain", "web", "-n", "shop", "-o", "json", "--from", &bomb,
    ]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("is missing in the bundle"), "{run:?}");
}
