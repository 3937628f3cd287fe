//! What schedulers' logs tell: recorded lines of real schedulers beside the objects of the same Pods, in every wrapping that they come in.
//!
//! `tests/recorded/logs/<minor>/` is written by `make record`.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::archives::gzip;
use super::plugin::{nominate, root};

const MINORS: [&str; 3] = ["1.35", "1.36", "1.37"];

/// A moment after all that was recorded; a log of text has no year.
const NOW: &str = "2026-12-01T00:00:00Z";

/// Pod, and what is due without a log and with it.
const DUE: &[(&str, [&str; 3], [&str; 3])] = &[
    ("text-absent", NOT_RECORDED, INFEASIBLE),
    ("text-kept", NOT_RECORDED, HONOURED),
    ("json-absent", NOT_RECORDED, INFEASIBLE),
    ("json-kept", NOT_RECORDED, HONOURED),
];

/// Names and contents.
type Files<'f> = Vec<(&'f str, &'f [u8])>;

const NOT_RECORDED: [&str; 3] = ["Unknown", "node-not-recorded", "Inferred"];
const INFEASIBLE: [&str; 3] = ["Moved", "outside-hint-infeasible", "Inferred"];
const HONOURED: [&str; 3] = ["Honoured", "", "Inferred"];

fn recorded(minor: &str) -> PathBuf {
    root().join("tests/recorded/logs").join(minor)
}

fn log(minor: &str, name: &str) -> String {
    fs::read_to_string(recorded(minor).join(name)).expect("it was recorded")
}

fn both(minor: &str) -> String {
    log(minor, "kube-scheduler.log") + &log(minor, "kube-scheduler-json.log")
}

fn explain(pod: &str, from: &[&Path]) -> Value {
    let mut arguments = vec!["explain", pod, "-n", "default", "-o", "json", "--now", NOW];
    for path in from {
        arguments.extend(["--from", path.to_str().expect("the path is UTF-8")]);
    }
    let run = nominate(&arguments);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

fn verdict(answer: &Value) -> [&str; 3] {
    ["kind", "cause", "certainty"].map(|key| answer["verdict"][key].as_str().unwrap_or_default())
}

fn coverage(answer: &Value) -> String {
    answer["coverage"].to_string()
}

/// Writes files below a new folder.
fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        fs::write(path, bytes).expect("it is written");
    }
    place
}

#[test]
fn a_log_tells_what_objects_forget() {
    for minor in MINORS {
        let place = recorded(minor);
        let objects = place.join("pods.json");
        for (pod, without, with) in DUE {
            assert_eq!(
                verdict(&explain(pod, &[&objects])),
                *without,
                "{minor} {pod}"
            );
            let logs = [
                place.join("kube-scheduler.log"),
                place.join("kube-scheduler-json.log"),
            ];
            let answer = explain(pod, &[&objects, &logs[0], &logs[1]]);
            assert_eq!(verdict(&answer), *with, "{minor} {pod}: {answer:#}");
            // Each statement names its evidence.
            let line = answer["timeline"]
                .as_array()
                .expect("a list")
                .iter()
                .find(|moment| moment["actor"] == "scheduler's log" && moment["what"] == "Bound")
                .expect("the log tells of the binding");
            let source = line["source"].as_str().expect("a text");
            assert!(source.contains("kube-scheduler"), "{line}");
            // A line of another component's says nothing, and does no harm.
            let other = explain(pod, &[&objects, &place.join("kube-apiserver.log")]);
            assert_eq!(verdict(&other), *without, "{minor} {pod}");
            assert!(
                coverage(&other).contains("without a scheduler's line"),
                "{other:#}"
            );
        }
    }
}

#[test]
fn containers_and_tools_put_a_time_before_it() {
    let minor = "1.37";
    for wrap in [
        "2026-11-30T23:00:00.5Z stderr F ",
        "2026-11-30T23:00:00.5Z ",
    ] {
        let lines = both(minor);
        let wrapped: String = lines
            .split_inclusive('\n')
            .flat_map(|line| [wrap, line])
            .collect();
        let place = tree(&[("log", wrapped.as_bytes())]);
        let objects = recorded(minor).join("pods.json");
        let answer = explain("text-absent", &[&objects, &place.path().join("log")]);
        // That time counts, and is not that of the binding: then nothing is concluded.
        assert_eq!(verdict(&answer), NOT_RECORDED, "{answer:#}");
        let said = coverage(&answer);
        assert!(said.contains("its times are not compared"), "{said}");
        assert!(!said.contains("no year"), "{said}");
    }
}

#[test]
fn every_layout_has_its_place_for_logs() {
    let minor = "1.36";
    let pods = fs::read(recorded(minor).join("pods.json")).expect("it was recorded");
    let nodes = fs::read(recorded(minor).join("nodes.json")).expect("it was recorded");
    let log = both(minor);
    let log = log.as_bytes();
    let framed = [
        b"==== START logs for container kube-scheduler of pod kube-system/kube-scheduler-n0 ====\n",
        log,
        b"==== END logs for container kube-scheduler of pod kube-system/kube-scheduler-n0 ====\n",
    ]
    .concat();
    let packed = gzip(log);
    let in_gather = "namespaces/openshift-kube-scheduler/pods/openshift-kube-scheduler-n0/kube-scheduler/kube-scheduler/logs";
    let (current, previous, insecure) = (
        format!("{in_gather}/current.log"),
        format!("{in_gather}/previous.log.gz"),
        format!("{in_gather}/previous.insecure.log"),
    );
    let version: &[u8] = br#"{"major":"1","minor":"36","gitVersion":"v1.36.3"}"#;
    let trees: [(&str, Files<'_>); 4] = [
        (
            "a dump of kubectl cluster-info",
            vec![
                ("nodes.json", &nodes),
                ("default/pods.json", &pods),
                (
                    "default/replication-controllers.json",
                    b"{\"kind\":\"ReplicationControllerList\",\"apiVersion\":\"v1\",\"items\":[]}",
                ),
                ("kube-system/kube-scheduler-n0/logs.txt", &framed),
                ("kube-system/other/logs.txt", b"no log of a scheduler"),
            ],
        ),
        (
            "an OpenShift must-gather",
            vec![
                ("cluster-scoped-resources/core/nodes.yaml", &nodes),
                ("namespaces/default/core/pods.yaml", &pods),
                (&current, b""),
                (&previous, &packed),
                (&insecure, b"not wanted"),
            ],
        ),
        (
            "a support bundle of troubleshoot.sh",
            vec![
                ("version.yaml", b"a: b"),
                ("cluster-resources/nodes.json", &nodes),
                ("cluster-resources/pods/default.json", &pods),
                (
                    "cluster-resources/pods/logs/kube-system/kube-scheduler-n0/kube-scheduler.log",
                    log,
                ),
            ],
        ),
        (
            "a snapshot of Sonobuoy",
            vec![
                ("serverversion.json", version),
                ("resources/cluster/core_v1_nodes.json", &nodes),
                ("resources/ns/default/core_v1_pods.json", &pods),
                (
                    "podlogs/kube-system/kube-scheduler-n0/logs/kube-scheduler.txt",
                    log,
                ),
            ],
        ),
    ];
    for (words, files) in trees {
        let place = tree(&files);
        for (pod, _, due) in DUE {
            let answer = explain(pod, &[place.path()]);
            let said = coverage(&answer);
            assert!(said.contains(words), "{words}: {said}");
            assert!(!said.contains("not recognised"), "{words}: {said}");
            assert_eq!(verdict(&answer), *due, "{words}, {pod}: {answer:#}");
        }
    }
}

#[test]
fn a_log_of_another_cluster_is_told_of_and_not_believed() {
    let minor = "1.35";
    let objects = recorded(minor).join("pods.json");
    let elsewhere = ["n1", "n2"].iter().fold(both(minor), |text, node| {
        text.replace(&format!("node=\"{node}\""), "node=\"n7\"")
            .replace(&format!("\"node\":\"{node}\""), "\"node\":\"n7\"")
    });
    let place = tree(&[("log", elsewhere.as_bytes())]);
    for pod in ["text-absent", "json-absent"] {
        let answer = explain(pod, &[&objects, &place.path().join("log")]);
        assert_eq!(verdict(&answer), NOT_RECORDED, "{answer:#}");
        let said = coverage(&answer);
        assert!(said.contains("it was bound to n7"), "{said}");
    }
}

#[test]
fn lines_that_are_cut_off_and_hostile_ones_are_counted_and_escaped() {
    let minor = "1.37";
    let objects = recorded(minor).join("pods.json");
    let text = both(minor);
    let failed = text
        .lines()
        .find(|line| line.contains("Evaluation failed") && line.starts_with('E'))
        .expect("it was recorded");
    let (cut, _) = failed.split_at(failed.len() - 20);
    let hostile = failed.replace("nodeinfo", "\u{1b}[31m\u{202e}nodeinfo\0");
    let log = [
        format!("{cut}\n").as_bytes(),
        b"\xff\xfe\0\n",
        text.replace(failed, &hostile).as_bytes(),
    ]
    .concat();
    let place = tree(&[("log", &log)]);
    let from = place.path().join("log");
    let answer = explain("text-absent", &[&objects, &from]);
    assert_eq!(verdict(&answer), INFEASIBLE, "{answer:#}");
    let said = coverage(&answer);
    assert!(said.contains("line 1 is cut off or damaged"), "{said}");
    let run = nominate(&[
        "explain",
        "text-absent",
        "-n",
        "default",
        "--now",
        NOW,
        "--from",
        objects.to_str().expect("the path is UTF-8"),
        "--from",
        from.to_str().expect("the path is UTF-8"),
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let letters = ['\u{1b}', '\u{202e}', '\0'];
    assert!(!run.stdout.contains(letters), "{}", run.stdout);
}
