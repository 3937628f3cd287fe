//! Moments that real control planes of 1.35.4, 1.36.3 and 1.37.2 went through, and the verdict due for each.
//!
//! The inputs are what the servers answered (tests/recorded/README.md); nothing in them was typed in.

#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::plugin::{nominate, root};
use super::rows;

/// Moments that the first observations wrote down; folder, moment, Pod, verdict, cause, certainty.
const MOMENTS: &[(&str, &str, &str, &str, &str, &str)] = &[
    (
        "1.35/1a-gated-external",
        "2-nominated",
        "g1 -n s1a",
        "Gated",
        "scheduling-gates",
        "Proven",
    ),
    // Honoured in truth; without the audit log nobody can say to which node the outsider pointed.
    (
        "1.35/1a-gated-external",
        "3-bound",
        "g1 -n s1a",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.35/3-preemption",
        "1-waiting",
        "hi -n s3",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.35/3-preemption",
        "2-bound",
        "hi -n s3",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.35/4-outsider-overwrite",
        "1-overwritten",
        "hi -n s4",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    // The outsider's second hint was cleared within milliseconds and left no trace outside of the audit log.
    (
        "1.35/4d-external-change-wakes",
        "1-after",
        "u -n s4d",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "1.35/4e-external-reserves-room",
        "1-after",
        "lo -n s4e",
        "NotNominated",
        "blocked-by-reservation",
        "Inferred",
    ),
    (
        "1.35/6-prebind-expectation",
        "1-prebind-wait",
        "pv1 -n s6",
        "WaitingForBinding",
        "",
        "Inferred",
    ),
    // 1.35 keeps the field with the failure, 1.36 and 1.37 clear it and leave no trace.
    (
        "1.35/6-prebind-expectation",
        "2-after-timeout",
        "pv1 -n s6",
        "Stale",
        "prebind-timeout",
        "Inferred",
    ),
    (
        "1.36/1a-gated-external",
        "2-nominated",
        "g1 -n s1a",
        "Gated",
        "scheduling-gates",
        "Proven",
    ),
    (
        "1.36/1a-gated-external",
        "3-bound",
        "g1 -n s1a",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.36/3-preemption",
        "1-waiting",
        "hi -n s3",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.36/3-preemption",
        "2-bound",
        "hi -n s3",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.36/4-outsider-overwrite",
        "1-overwritten",
        "hi -n s4",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.36/4d-external-change-wakes",
        "1-after",
        "u -n s4d",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "1.36/4e-external-reserves-room",
        "1-after",
        "lo -n s4e",
        "NotNominated",
        "blocked-by-reservation",
        "Inferred",
    ),
    (
        "1.36/6-prebind-expectation",
        "1-prebind-wait",
        "pv1 -n s6",
        "WaitingForBinding",
        "",
        "Inferred",
    ),
    (
        "1.36/6-prebind-expectation",
        "2-after-timeout",
        "pv1 -n s6",
        "NotNominated",
        "volume-binding",
        "Inferred",
    ),
    (
        "1.37/10b-no-scheduler",
        "1-pending",
        "b1 -n s9",
        "NeverAttempted",
        "just-created",
        "Inferred",
    ),
    (
        "1.37/11-second-scheduler",
        "1-waiting",
        "hi -n s11",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.37/11-second-scheduler",
        "2-bound",
        "hi -n s11",
        "Honoured",
        "",
        "Inferred",
    ),
    // The Pod of this name that was bound before is another one.
    (
        "1.37/12-recreated",
        "1-after",
        "web -n s12",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "1.37/13-scheduler-restart",
        "1-waiting-after-restart",
        "hi -n s13",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.37/13-scheduler-restart",
        "2-bound",
        "hi -n s13",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.37/14-gang",
        "1-lone-nominated",
        "p1 -n s14",
        "WaitingForScheduler",
        "waiting-for-group",
        "Proven",
    ),
    (
        "1.37/14-gang",
        "2-bound",
        "p1 -n s14",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/14b-gang-preemption",
        "1-waiting",
        "p1 -n s14b",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    // A group's victims name the group and no node.
    (
        "1.37/14b-gang-preemption",
        "2-after",
        "p1 -n s14b",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/1a-gated-external",
        "1-gated",
        "g1 -n s1a",
        "Gated",
        "scheduling-gates",
        "Proven",
    ),
    (
        "1.37/1a-gated-external",
        "2-nominated",
        "g1 -n s1a",
        "Gated",
        "scheduling-gates",
        "Proven",
    ),
    (
        "1.37/1a-gated-external",
        "3-bound",
        "g1 -n s1a",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/1b-unschedulable-external",
        "1-unschedulable",
        "u1 -n s1b",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "1.37/1b-unschedulable-external",
        "2-nominated",
        "u1 -n s1b",
        "WaitingForScheduler",
        "outside-hint-no-wake",
        "Proven",
    ),
    (
        "1.37/1b-unschedulable-external",
        "3-bound-elsewhere",
        "u1 -n s1b",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/1c-external-infeasible",
        "1-nominated",
        "g1 -n s1c",
        "Gated",
        "scheduling-gates",
        "Proven",
    ),
    (
        "1.37/1c-external-infeasible",
        "2-bound-elsewhere",
        "g1 -n s1c",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/1d-external-nonexistent",
        "1-nominated",
        "g1 -n s1d",
        "Gated",
        "scheduling-gates",
        "Proven",
    ),
    (
        "1.37/1d-external-nonexistent",
        "2-bound-elsewhere",
        "g1 -n s1d",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/2-patch-bound",
        "1-after",
        "g1 -n s1a",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/3-preemption",
        "1-waiting",
        "hi -n s3",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.37/3-preemption",
        "2-bound",
        "hi -n s3",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.37/3a-preemption-fast",
        "1-bound",
        "hi -n s3a",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.37/4-outsider-overwrite",
        "1-overwritten",
        "hi -n s4",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "1.37/4-outsider-overwrite",
        "2-bound",
        "hi -n s4",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.37/4b-outsider-clear",
        "1-after",
        "hi -n s4b",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.37/4c-competitor",
        "1-after",
        "hi -n s4c",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "1.37/4d-external-change-wakes",
        "1-after",
        "u -n s4d",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "1.37/4e-external-reserves-room",
        "1-after",
        "lo -n s4e",
        "NotNominated",
        "blocked-by-reservation",
        "Inferred",
    ),
    (
        "1.37/5a-cordon-wait",
        "1-cordoned",
        "hi -n s5a",
        "Stale",
        "node-unschedulable",
        "Proven",
    ),
    (
        "1.37/5a-cordon-wait",
        "2-victim-gone",
        "hi -n s5a",
        "Cleared",
        "",
        "Inferred",
    ),
    (
        "1.37/5a-cordon-wait",
        "3-uncordoned",
        "hi -n s5a",
        "Honoured",
        "cleared-before-binding",
        "Inferred",
    ),
    (
        "1.37/5b-node-deleted-wait",
        "1-node-gone",
        "hi -n s5c",
        "Stale",
        "node-gone",
        "Proven",
    ),
    (
        "1.37/5b-node-deleted-wait",
        "2-victim-gone",
        "hi -n s5c",
        "Cleared",
        "",
        "Inferred",
    ),
    (
        "1.37/5c-notready-wait",
        "1-notready",
        "hi -n s5c",
        "Stale",
        "node-not-ready",
        "Proven",
    ),
    (
        "1.37/6-prebind-expectation",
        "1-prebind-wait",
        "pv1 -n s6",
        "WaitingForBinding",
        "",
        "Inferred",
    ),
    (
        "1.37/6-prebind-expectation",
        "2-after-timeout",
        "pv1 -n s6",
        "NotNominated",
        "volume-binding",
        "Inferred",
    ),
    (
        "1.37/6-prebind-expectation",
        "3-bound-after-overwrite",
        "pv1 -n s6",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "1.37/8-direct-nodename",
        "1-running",
        "d1 -n s8",
        "Bypassed",
        "",
        "Proven",
    ),
    (
        "1.37/9-kubelet-rejection",
        "1-outofcpu",
        "b2 -n s9",
        "RefusedByKubelet",
        "node-resources",
        "Proven",
    ),
];

fn explain(folder: &str, pod: &str) -> Value {
    let path = root().join("tests/recorded").join(folder);
    let path = path.to_str().expect("the path is UTF-8");
    let mut arguments = vec!["explain"];
    arguments.extend(pod.split(' '));
    arguments.extend(["--from", path, "-o", "json"]);
    let run = nominate(&arguments);
    let answer: Value = serde_json::from_str(&run.stdout).expect("the answer is JSON");
    let code = if answer["verdict"]["kind"] == "Unknown" {
        5
    } else {
        0
    };
    assert_eq!(run.code, Some(code), "{pod}: {}", run.stderr);
    answer
}

#[test]
fn every_moment_gets_its_verdict() {
    for (scenario, moment, pod, kind, cause, certainty) in MOMENTS {
        let answer = explain(&format!("{scenario}/{moment}"), pod);
        let verdict = &answer["verdict"];
        let found = (
            verdict["kind"].as_str(),
            verdict["cause"].as_str().unwrap_or(""),
            verdict["certainty"].as_str(),
        );
        assert_eq!(
            found,
            (Some(*kind), *cause, Some(*certainty)),
            "{scenario}/{moment}: {verdict:#}"
        );
        assert!(
            !verdict["evidence"].as_array().expect("a list").is_empty(),
            "{scenario}/{moment} names no evidence"
        );
    }
}

/// Folders of moments below `tests/recorded`, sorted.
pub(crate) fn recorded_moments() -> Vec<PathBuf> {
    let folders = |place: &Path| -> Vec<PathBuf> {
        place
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect()
    };
    // Beside the minors lie the answers of components, which are no moments.
    let features = root().join("tests/recorded/features");
    let minors = folders(&root().join("tests/recorded"));
    let scenarios = minors
        .iter()
        .filter(|minor| **minor != features)
        .flat_map(|minor| folders(minor));
    let mut moments: Vec<PathBuf> = scenarios.flat_map(|scenario| folders(&scenario)).collect();
    moments.sort();
    moments
}

/// Each moment is in MOMENTS, or is one that `make record` wrote, with the row that the live trials use.
#[test]
fn every_recorded_moment_has_the_verdict_due() {
    let recorded = root().join("tests/recorded");
    let mut by_rows = 0;
    for moment in recorded_moments() {
        if MOMENTS
            .iter()
            .any(|(scenario, name, ..)| recorded.join(scenario).join(name) == moment)
        {
            continue;
        }
        let inside = moment
            .strip_prefix(&recorded)
            .expect("it was found there")
            .display()
            .to_string();
        let (scenario, name) = inside.rsplit_once('/').expect("a moment is in a scenario");
        let scenario = scenario
            .rsplit_once('/')
            .map_or(scenario, |(_, scenario)| scenario);
        // `2-waiting`: the number keeps the order.
        let name = name.split_once('-').map_or(name, |(_, name)| name);
        let is_it = |row: &&rows::Row| (row.0, row.1) == (scenario, name);
        let row = rows::FROM_FILES
            .iter()
            .find(is_it)
            .or_else(|| rows::ROWS.iter().find(is_it));
        let Some((_, _, kind, cause, certainty)) = row else {
            panic!("{inside} is in no line and no row")
        };
        let pod: Value = serde_json::from_str(
            &fs::read_to_string(moment.join("pod.json")).expect("a moment has its Pod"),
        )
        .expect("it is JSON");
        let text = |pointer: &str| {
            pod.pointer(pointer)
                .and_then(Value::as_str)
                .expect("it is text")
                .to_owned()
        };
        let answer = explain(
            &inside,
            &format!(
                "{} -n {}",
                text("/metadata/name"),
                text("/metadata/namespace")
            ),
        );
        let verdict = &answer["verdict"];
        let found = (
            verdict["kind"].as_str(),
            verdict["cause"].as_str(),
            verdict["certainty"].as_str(),
        );
        assert_eq!(
            found,
            (Some(*kind), *cause, Some(*certainty)),
            "{inside}: {verdict:#}"
        );
        by_rows += 1;
    }
    assert!(by_rows > 0, "`make record` has written no moment");
}

#[test]
fn the_waiting_preemptor_is_told_whole() {
    let answer = explain("1.37/3-preemption/1-waiting", "hi -n s3");
    let victim = &answer["victims"][0];
    assert_eq!(victim["name"], "victim");
    assert_eq!(victim["deletionTimestamp"], "2026-11-30T08:21:49Z");
    assert_eq!(victim["gracePeriodSeconds"], 30);
    assert_eq!(victim["overdue"], false);
    let nomination = &answer["nominations"][0];
    assert_eq!(
        (&nomination["node"], &nomination["kind"]),
        (&"n1".into(), &"Preemption".into())
    );
    assert_eq!(nomination["by"]["manager"], "kube-scheduler");
    assert_eq!(nomination["by"]["scheduler"], "default-scheduler");
    assert_eq!(
        nomination["by"]["user"],
        Value::Null,
        "only an audit log proves a user"
    );
    assert_eq!(nomination["ended"], Value::Null);
    assert_eq!(
        answer["scheduler"]["reasons"][0]["text"],
        "Insufficient cpu"
    );
    assert_eq!(answer["scheduler"]["reasons"][0]["nodes"], 2);
    assert_eq!(answer["scheduler"]["nodesTotal"], 2);
    assert_eq!(
        answer["now"], "2026-11-30T08:21:21Z",
        "the newest observation in the files is the clock"
    );
}

#[test]
fn overdue_follows_the_clock() {
    let path = root().join("tests/recorded/1.37/3-preemption/1-waiting");
    let path = path.to_str().expect("the path is UTF-8");
    // Due at 08:21:49; overdue after ten seconds more.
    for (now, overdue, code) in [
        ("2026-11-30T08:21:59Z", false, 0),
        ("2026-11-30T08:22:00Z", true, 3),
    ] {
        let run = nominate(&[
            "explain",
            "hi",
            "-n",
            "s3",
            "--from",
            path,
            "--now",
            now,
            "--fail-on=error",
            "-o",
            "json",
        ]);
        let answer: Value = serde_json::from_str(&run.stdout).expect("the answer is JSON");
        assert_eq!(answer["verdict"]["overdue"], overdue, "at {now}");
        assert_eq!(run.code, Some(code), "at {now}");
    }
}

#[test]
fn earlier_incarnations_are_not_mixed_in() {
    let answer = explain("1.37/12-recreated/1-after", "web -n s12");
    let timeline = answer["timeline"].as_array().expect("a list");
    assert!(
        timeline.iter().all(|moment| moment["what"] != "Scheduled"),
        "that event is of the Pod before: {timeline:#?}"
    );
}

/// Explains the waiting preemptor from some of its moment's files, each named for itself.
fn explain_files(names: &[&str]) -> Value {
    let folder = root().join("tests/recorded/1.37/3-preemption/1-waiting");
    let files: Vec<String> = names
        .iter()
        .map(|file| folder.join(file).display().to_string())
        .collect();
    let mut arguments = vec!["explain", "hi", "-n", "s3", "-o", "json"];
    for file in &files {
        arguments.extend(["--from", file]);
    }
    let run = nominate(&arguments);
    serde_json::from_str(&run.stdout).expect("the answer is JSON")
}

#[test]
fn what_one_of_several_files_lacks_is_no_loss() {
    let answer = explain_files(&["pods.json", "nodes.json", "events.json"]);
    let absent: Vec<&Value> = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|line| line["state"] == "Absent")
        .collect();
    assert!(absent.is_empty(), "{absent:#?}");
    assert_eq!(answer["verdict"]["certainty"], "Proven");
}

#[test]
fn both_events_apis_tell_the_same() {
    let of = |events: &str| {
        let answer = explain_files(&["pods.json", "nodes.json", events]);
        let moments: Vec<(Value, Value, Value)> = answer["timeline"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|moment| {
                (
                    moment["at"].clone(),
                    moment["actor"].clone(),
                    moment["detail"].clone(),
                )
            })
            .collect();
        (answer["verdict"]["kind"].clone(), moments)
    };
    assert_eq!(of("events.json"), of("events-v1.json"));
}

/// The contract: every key is always there, null or empty where there is nothing.
#[test]
fn every_key_is_always_there() {
    let keys = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    let of = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let victim =
        of("cause deletionTimestamp gracePeriodSeconds name namespace node overdue priority uid");
    for (scenario, moment, pod, ..) in MOMENTS {
        let answer = explain(&format!("{scenario}/{moment}"), pod);
        let top = "apiVersion binding coverage generatedAt kind nominations now pod preemptedBy scheduler sources timeline verdict victims";
        assert_eq!(keys(&answer), of(top));
        assert_eq!(answer["apiVersion"], "kube-placement.dev/v1alpha1");
        assert_eq!(answer["kind"], "NominationExplanation");
        assert_eq!(
            keys(&answer["pod"]),
            of(
                "context name namespace nodeName nominatedNodeName phase priority schedulerName uid"
            )
        );
        assert_eq!(
            keys(&answer["verdict"]),
            of("advice cause certainty evidence kind overdue summary")
        );
        assert_eq!(
            keys(&answer["scheduler"]),
            of("attempts nodesTotal preemption raw reasons")
        );
        let each = |list: &str, expected: &[String]| {
            for entry in answer[list].as_array().expect("a list") {
                assert_eq!(keys(entry), expected, "in {list}");
            }
        };
        each("coverage", &of("detail location source state subject"));
        each(
            "nominations",
            &of("by decision ended endedBy from kind node until"),
        );
        each("victims", &victim);
        each("timeline", &of("actor at detail source what"));
    }
}
