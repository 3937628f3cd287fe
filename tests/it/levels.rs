//! What an audit log of a poorer level tells: less than a full one, never something else, and the coverage says so.
//!
//! The logs of levels Request and Metadata are made from those that were recorded at `RequestResponse`.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes files")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::plugin::{nominate, root};

/// Moments of which the requests alone tell as much as requests with answers do. Of the others they tell that the Pod was not bound.
const TOLD_BY_REQUESTS: &[&str] = &[
    "1.35/1a-gated-external/3-bound",
    "1.35/3-preemption/2-bound",
    "1.35/4d-external-change-wakes/1-after",
    "1.36/1a-gated-external/3-bound",
    "1.36/3-preemption/2-bound",
    "1.36/4d-external-change-wakes/1-after",
    "1.36/6-prebind-expectation/2-after-timeout",
    "1.37/11-second-scheduler/2-bound",
    "1.37/13-scheduler-restart/2-bound",
    "1.37/14-gang/2-bound",
    "1.37/14b-gang-preemption/2-after",
    "1.37/1a-gated-external/3-bound",
    "1.37/1b-unschedulable-external/3-bound-elsewhere",
    "1.37/1c-external-infeasible/2-bound-elsewhere",
    "1.37/1d-external-nonexistent/2-bound-elsewhere",
    "1.37/2-patch-bound/1-after",
    "1.37/3-preemption/2-bound",
    "1.37/3a-preemption-fast/1-bound",
    "1.37/4-outsider-overwrite/2-bound",
    "1.37/4b-outsider-clear/1-after",
    "1.37/4c-competitor/1-after",
    "1.37/4d-external-change-wakes/1-after",
    "1.37/5a-cordon-wait/2-victim-gone",
    "1.37/5a-cordon-wait/3-uncordoned",
    "1.37/5b-node-deleted-wait/2-victim-gone",
    "1.37/6-prebind-expectation/2-after-timeout",
    "1.37/6-prebind-expectation/3-bound-after-overwrite",
    "1.37/8-direct-nodename/1-running",
    "1.37/9-kubelet-rejection/1-outofcpu",
];

/// A recorded log with the Pod that its moment is about.
struct Moment {
    name: String,
    log: PathBuf,
    pod: [String; 2],
}

fn moments() -> Vec<Moment> {
    let entries = |place: &Path| -> Vec<PathBuf> {
        let listed = place.read_dir().expect("the folder is there").flatten();
        let mut paths: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let audited = root().join("tests/audited");
    let scenarios = entries(&audited)
        .into_iter()
        .flat_map(|minor| entries(&minor));
    let logs = scenarios
        .filter(|folder| !folder.ends_with("samples"))
        .flat_map(|folder| entries(&folder));
    logs.map(|log| {
        let name = log.strip_prefix(&audited).expect("it was found there");
        let name = name.to_str().expect("it is text");
        let name = name.strip_suffix(".jsonl.gz").expect("a log").to_owned();
        let pod = fs::read_to_string(root().join("tests/recorded").join(&name).join("pod.json"));
        let pod: Value = serde_json::from_str(&pod.expect("a Pod")).expect("it is JSON");
        let word = |key: &str| pod["metadata"][key].as_str().expect("text").to_owned();
        Moment {
            pod: [word("name"), word("namespace")],
            name,
            log,
        }
    })
    .collect()
}

pub(crate) fn lines(log: &Path) -> Vec<Value> {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(fs::File::open(log).expect("the log is there"))
        .read_to_string(&mut text)
        .expect("it is gzip");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

pub(crate) fn write(path: &Path, lines: &[Value]) {
    let text: String = lines
        .iter()
        .flat_map(|line| [line.to_string(), "\n".to_owned()])
        .collect();
    fs::write(path, text).expect("the folder can be written");
}

pub(crate) fn explain(pod: &[String; 2], from: &[&Path]) -> Value {
    let mut arguments = vec!["explain", "-o", "json", &pod[0], "-n", &pod[1]];
    for path in from {
        arguments.extend(["--from", path.to_str().expect("the path is UTF-8")]);
    }
    let run = nominate(&arguments);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}

fn verdict(answer: &Value) -> [&str; 3] {
    ["kind", "cause", "certainty"].map(|key| answer["verdict"][key].as_str().unwrap_or_default())
}

fn is_partial(answer: &Value, words: &str) -> bool {
    answer["coverage"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|line| {
            line["state"] == "Partial"
                && line["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.contains(words))
        })
}

#[test]
fn a_poorer_level_tells_less_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let poorer = folder.path().join("audit.log");
    let mut told = BTreeSet::new();
    for moment in moments() {
        let full = explain(&moment.pod, &[&moment.log]);
        let mut lines = lines(&moment.log);
        let drop = |lines: &mut Vec<Value>, level: &str, key: &str| {
            for line in lines {
                let line = line.as_object_mut().expect("an event");
                line.insert("level".to_owned(), level.into());
                line.remove(key);
            }
        };
        drop(&mut lines, "Request", "responseObject");
        write(&poorer, &lines);
        let answer = explain(&moment.pod, &[&poorer]);
        let name = &moment.name;
        if verdict(&answer) == verdict(&full) {
            told.insert(moment.name.clone());
        } else {
            let due = ["Unknown", "objects-not-logged", "Inferred"];
            assert_eq!(verdict(&answer), due, "{name}: {answer:#}");
        }
        // Beside the objects a log of requests never unsays what they prove.
        let objects = root().join("tests/recorded").join(name);
        let beside = explain(&moment.pod, &[&objects, &poorer]);
        let whole = explain(&moment.pod, &[&objects, &moment.log]);
        if beside["verdict"]["certainty"] == "Proven" {
            assert_eq!(verdict(&beside), verdict(&whole), "{name}: {beside:#}");
        }
        drop(&mut lines, "Metadata", "requestObject");
        write(&poorer, &lines);
        let answer = explain(&moment.pod, &[&poorer]);
        let [kind, cause, certainty] = verdict(&answer);
        assert_eq!(
            [kind, certainty],
            ["Unknown", "Inferred"],
            "{name}: {answer:#}"
        );
        let was_bound = lines.iter().any(|line| {
            line["objectRef"]["subresource"] == "binding"
                && line["objectRef"]["name"] == moment.pod[0].as_str()
                && line["responseStatus"]["code"] == 201
        });
        let due: &[&str] = if was_bound {
            &["node-not-recorded", "objects-not-logged"]
        } else {
            &["objects-not-logged"]
        };
        assert!(due.contains(&cause), "{name}: {answer:#}");
        // Who created it and who bound it is told at any level.
        if was_bound && cause == "node-not-recorded" {
            let timeline = answer["timeline"].as_array().expect("a list");
            assert!(
                timeline.iter().any(|entry| entry["what"] == "Bound"),
                "{name}: {answer:#}"
            );
        }
        if lines.iter().any(|line| {
            line["objectRef"]["subresource"] == "status"
                && line["objectRef"]["name"] == moment.pod[0].as_str()
        }) {
            assert!(
                is_partial(&answer, "its level does not tell"),
                "{name}: {answer:#}"
            );
        }
        let beside = explain(&moment.pod, &[&objects, &poorer]);
        if beside["verdict"]["certainty"] == "Proven" {
            assert_eq!(verdict(&beside), verdict(&whole), "{name}: {beside:#}");
        }
    }
    let due: BTreeSet<String> = TOLD_BY_REQUESTS
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(told, due);
}
