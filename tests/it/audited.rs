//! What an audit log proves: recorded logs of real API servers, alone and beside the objects of the same moment.
//!
//! `tests/audited/<minor>/<scenario>/<moment>.jsonl.gz` are the writes to the namespace's Pods up to that moment; the objects are in
//! `tests/recorded`.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plugin::{nominate, root};

/// Moment, verdict, cause: what only the log can tell, or what it tells better. It is Proven.
const TOLD: &[(&str, &str, &str)] = &[
    ("1.35/1a-gated-external/3-bound", "Honoured", ""),
    (
        "1.35/4d-external-change-wakes/1-after",
        "Cleared",
        "outside-hint-overwritten",
    ),
    ("1.36/1a-gated-external/3-bound", "Honoured", ""),
    (
        "1.36/4d-external-change-wakes/1-after",
        "Cleared",
        "outside-hint-overwritten",
    ),
    (
        "1.36/6-prebind-expectation/2-after-timeout",
        "Cleared",
        "volume-binding",
    ),
    ("1.37/14-gang/2-bound", "Honoured", ""),
    ("1.37/14b-gang-preemption/2-after", "Honoured", ""),
    ("1.37/1a-gated-external/3-bound", "Honoured", ""),
    (
        "1.37/1b-unschedulable-external/3-bound-elsewhere",
        "Moved",
        "outside-hint-ignored",
    ),
    (
        "1.37/1c-external-infeasible/2-bound-elsewhere",
        "Moved",
        "outside-hint-ignored",
    ),
    (
        "1.37/1d-external-nonexistent/2-bound-elsewhere",
        "Moved",
        "outside-hint-ignored",
    ),
    ("1.37/2-patch-bound/1-after", "Honoured", ""),
    ("1.37/4d-external-change-wakes/1-after", "Cleared", ""),
    (
        "1.37/6-prebind-expectation/2-after-timeout",
        "Cleared",
        "volume-binding",
    ),
    (
        "1.37/6-prebind-expectation/3-bound-after-overwrite",
        "Moved",
        "outside-hint-ignored",
    ),
];

/// Sample of a write, the entry that it makes in the timeline, and who it is by.
const SAMPLES: &[(&str, &str, &str)] = &[
    // binding-by-other names no UID: without its Pod's objects nobody can say which incarnation it bound.
    ("binding-by-scheduler", "Bound", "system:kube-scheduler"),
    ("clear-by-external", "NominationCleared", "admin"),
    (
        "clear-by-scheduler",
        "NominationCleared",
        "system:kube-scheduler",
    ),
    ("set-by-expectation", "Nominated", "system:kube-scheduler"),
    ("set-by-external", "Nominated", "admin"),
    ("set-by-preemption", "Nominated", "system:kube-scheduler"),
    (
        "victim-delete-by-scheduler",
        "Deleted",
        "system:kube-scheduler",
    ),
];

fn logs(minor: &Path) -> Vec<PathBuf> {
    let entries = |place: &Path| -> Vec<PathBuf> {
        let listed = place.read_dir().into_iter().flatten().flatten();
        listed.map(|entry| entry.path()).collect()
    };
    let mut found: Vec<PathBuf> = entries(minor)
        .iter()
        .filter(|folder| !folder.ends_with("samples"))
        .flat_map(|folder| entries(folder))
        .collect();
    found.sort();
    found
}

fn explain(pod: &[&str], from: &[&Path]) -> Value {
    let mut arguments = vec!["explain", "-o", "json"];
    arguments.extend(pod);
    for path in from {
        arguments.extend(["--from", path.to_str().expect("the path is UTF-8")]);
    }
    let run = nominate(&arguments);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}

fn verdict(answer: &Value) -> (String, String, String) {
    let word = |key: &str| answer["verdict"][key].as_str().unwrap_or("").to_owned();
    (word("kind"), word("cause"), word("certainty"))
}

#[test]
fn the_log_tells_what_the_objects_forget() {
    let mut told = 0;
    for minor in ["1.35", "1.36", "1.37"] {
        for log in logs(&root().join("tests/audited").join(minor)) {
            let inside = log
                .strip_prefix(root().join("tests/audited"))
                .expect("it was found there");
            let moment = inside
                .to_str()
                .and_then(|name| name.strip_suffix(".jsonl.gz"))
                .expect("a log has this name");
            let objects = root().join("tests/recorded").join(moment);
            let pod: Value = serde_json::from_str(
                &fs::read_to_string(objects.join("pod.json")).expect("a moment has its Pod"),
            )
            .expect("it is JSON");
            let metadata = |key: &str| {
                pod["metadata"][key]
                    .as_str()
                    .expect("it is text")
                    .to_owned()
            };
            let (name, namespace) = (metadata("name"), metadata("namespace"));
            let pod = [name.as_str(), "-n", namespace.as_str()];
            let without = verdict(&explain(&pod, &[&objects]));
            let answer = explain(&pod, &[&objects, &log]);
            let (kind, cause, certainty) = verdict(&answer);
            if let Some((_, due, why)) = TOLD.iter().find(|row| row.0 == moment) {
                told += 1;
                assert_eq!(
                    (kind.as_str(), cause.as_str(), certainty.as_str()),
                    (*due, *why, "Proven"),
                    "{moment}: {answer:#}"
                );
                // The log alone is enough.
                assert_eq!(
                    verdict(&explain(&pod, &[&log])),
                    (kind, cause, certainty),
                    "{moment}, the log alone"
                );
                assert_ne!(
                    (without.0.as_str(), without.1.as_str()),
                    (*due, *why),
                    "{moment} needs no log"
                );
            } else {
                assert_eq!(
                    (kind, cause),
                    (without.0, without.1),
                    "{moment}: {answer:#}"
                );
            }
            // Who nominated is proven wherever a nomination is told of.
            for nomination in answer["nominations"].as_array().expect("a list") {
                assert!(
                    nomination["by"]["user"].is_string(),
                    "{moment}: {nomination:#}"
                );
            }
        }
    }
    assert_eq!(told, TOLD.len());
}

#[test]
fn each_kind_of_write_is_told_apart() {
    for minor in ["1.35", "1.36", "1.37"] {
        for (sample, what, actor) in SAMPLES {
            let log = root().join(format!("tests/audited/{minor}/samples/{sample}.jsonl.gz"));
            if !log.exists() {
                assert_ne!(minor, "1.37", "there is no sample {sample}");
                continue;
            }
            let answer = explain(&["-A"], &[&log]);
            let items = answer["items"].as_array().expect("a list");
            let mut moments = items
                .iter()
                .flat_map(|item| item["timeline"].as_array().expect("a list"));
            assert!(
                moments.any(|moment| moment["what"] == *what && moment["actor"] == *actor),
                "{minor} {sample}: {answer:#}"
            );
        }
    }
}

#[test]
fn a_refused_write_is_an_attempt_and_no_nomination() {
    let log = root().join("tests/audited/1.37/2-patch-bound/1-after.jsonl.gz");
    let answer = explain(&["g1", "-n", "s1a"], &[&log]);
    let timeline = answer["timeline"].as_array().expect("a list");
    let refused: Vec<&Value> = timeline
        .iter()
        .filter(|moment| moment["what"] == "NominationRefused")
        .collect();
    assert!(
        refused.iter().any(|moment| moment["detail"]
            .as_str()
            .is_some_and(|text| text.contains("may not be set on pods that are already bound"))),
        "{answer:#}"
    );
    let nominations = answer["nominations"].as_array().expect("a list");
    assert_eq!(nominations.len(), 1, "{answer:#}");
}
