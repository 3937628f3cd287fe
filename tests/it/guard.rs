//! What `features guard` makes of numbers, over recorded nodes and metrics; lines of counts are added to these here.
//!
//! It must not look at how real components count (`tests/live/guard.rs`).

#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::plugin::{Run, root, run};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");

/// What a scheduler and an API server have counted.
#[derive(Clone, Copy)]
struct Counted {
    started: u32,
    unschedulable: u32,
    refused: u32,
    /// Attempts below a millisecond, and all.
    attempts: [u32; 2],
}

const BEFORE: Counted = Counted {
    started: 1_764_000_000,
    unschedulable: 2,
    refused: 7,
    attempts: [100, 100],
};

/// A moment's nodes and what was counted then, as arguments.
fn inputs(folder: &Path, moment: &str, counted: Counted) -> Vec<String> {
    let recorded = |path: &str| {
        root()
            .join("tests/recorded")
            .join(path)
            .display()
            .to_string()
    };
    let gates = fs::read_to_string(recorded(
        "features/1.37/kube-scheduler/metrics-features.txt",
    ))
    .expect("it was recorded");
    let Counted {
        started,
        unschedulable,
        refused,
        attempts: [fast, all],
    } = counted;
    let bucket = |bound: &str, count: u32| {
        format!(
            "scheduler_scheduling_attempt_duration_seconds_bucket{{profile=\"a\",result=\"scheduled\",le=\"{bound}\"}} {count}\n"
        )
    };
    let scheduler = format!(
        "{gates}process_start_time_seconds {started}\n{}{}{}scheduler_unschedulable_pods{{plugin=\"NodeDeclaredFeatures\",profile=\"a\"}} {unschedulable}\n",
        bucket("0.001", fast),
        bucket("0.002", all),
        bucket("+Inf", all),
    );
    let server = format!(
        "{gates}apiserver_admission_controller_admission_duration_seconds_count{{name=\"NodeDeclaredFeatureValidator\",operation=\"UPDATE\",rejected=\"true\",type=\"validate\"}} {refused}\nprocess_start_time_seconds {started}\n",
    );
    let file = |name: &str, text: String| {
        let path = folder.join(format!("{moment}-{name}"));
        fs::write(&path, text).expect("the folder takes it");
        path.display().to_string()
    };
    let kubelet = |node: &str, minor: &str| {
        let path = recorded(&format!("features/{minor}/kubelet/metrics-features.txt"));
        format!("metrics@kubelet/{node}:{path}")
    };
    let mut from = vec![
        recorded(&format!("declared/{moment}/nodes.json")),
        recorded(&format!("declared/{moment}/leases.json")),
        format!("metrics@kube-scheduler/s:{}", file("scheduler", scheduler)),
        format!("metrics@kube-apiserver/a:{}", file("server", server)),
        kubelet("n2", "1.36"),
    ];
    // Before, its gate was on, as it is not by default.
    if moment == "gate-off" {
        from.push(kubelet("n3", "1.35"));
    }
    let from = from
        .into_iter()
        .flat_map(|path| ["--from".to_owned(), path]);
    from.chain(["--pool-label", "kubernetes.io/os", "-o", "json"].map(str::to_owned))
        .collect()
}

fn guard(arguments: &[&str], inputs: &[String], stdin: &str) -> Run {
    let inputs = inputs.iter().map(String::as_str);
    let all: Vec<&str> = [&["guard"], arguments]
        .concat()
        .into_iter()
        .chain(inputs)
        .collect();
    run(BINARY, &all, stdin)
}

/// A report against a baseline of before, with the numbers of after.
fn report(moment: &str, after: Counted, arguments: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let measured = guard(&["baseline"], &inputs(folder.path(), "living", BEFORE), "");
    // Files hold no Pods.
    assert_eq!(measured.code, Some(5), "{measured:?}");
    let arguments = [&["--baseline", "-"], arguments].concat();
    let judged = guard(
        &arguments,
        &inputs(folder.path(), moment, after),
        &measured.stdout,
    );
    let answer = serde_json::from_str(&judged.stdout);
    (judged.code, answer.unwrap_or_else(|_| panic!("{judged:?}")))
}

fn check<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let mut checks = answer["checks"].as_array().into_iter().flatten();
    checks
        .find(|check| check["id"] == id)
        .expect("every condition has a check")
}

/// Status, value and sample of a condition's only number.
fn one(answer: &Value, id: &str) -> (String, f64, u64) {
    let check = check(answer, id);
    let status = check["status"].as_str().expect("it has one").to_owned();
    let [finding] = check["findings"].as_array().expect("a list").as_slice() else {
        panic!("one finding: {check:#}");
    };
    let measured = &finding["measurement"];
    let value = measured["value"].as_f64().expect("a number");
    (status, value, measured["sample"].as_u64().expect("a count"))
}

#[test]
fn counts_are_those_since_the_baseline() {
    let after = Counted {
        refused: 13,
        attempts: [100, 110],
        unschedulable: 9,
        ..BEFORE
    };
    let (code, answer) = report("living", after, &[]);
    assert_eq!(code, Some(3), "{answer:#}");
    assert_eq!(one(&answer, "update-refusals"), ("Fail".to_owned(), 6.0, 6));
    assert_eq!(
        one(&answer, "scheduling-refusals"),
        ("Fail".to_owned(), 9.0, 9)
    );
    let (status, seconds, attempts) = one(&answer, "attempt-latency");
    assert_eq!((status.as_str(), attempts), ("Fail", 10));
    assert!(seconds > 0.0019, "none of the ten was fast: {seconds}");
    // Three show nothing, and nobody is told that all is well.
    let after = Counted {
        refused: 10,
        ..BEFORE
    };
    let (code, answer) = report("living", after, &[]);
    assert_eq!(code, Some(5), "{answer:#}");
    assert_eq!(check(&answer, "update-refusals")["status"], "Unknown");
    assert_eq!(check(&answer, "attempt-latency")["status"], "Skipped");
}

#[test]
fn who_started_again_counts_from_nothing() {
    // Long after the recorded moment.
    let after = Counted {
        started: 2_000_000_000,
        refused: 8,
        attempts: [9, 9],
        ..BEFORE
    };
    let (_, answer) = report("living", after, &[]);
    assert_eq!(one(&answer, "update-refusals"), ("Fail".to_owned(), 8.0, 8));
    let (status, _, attempts) = one(&answer, "attempt-latency");
    assert_eq!((status.as_str(), attempts), ("Pass", 9));
}

#[test]
fn a_list_that_is_left_over_is_a_breach_where_it_is_of_enough() {
    let flags = ["--min-sample", "1", "--select", "stale-declarations"];
    let (code, answer) = report("gate-off", BEFORE, &flags);
    assert_eq!(code, Some(3), "{answer:#}");
    let findings = check(&answer, "stale-declarations")["findings"].to_string();
    assert!(
        findings.contains("pool linux v1.35") && findings.contains("n3"),
        "{findings}"
    );
    let few = report("gate-off", BEFORE, &["--select", "stale-declarations"]);
    assert_eq!(few.0, Some(5), "{:#}", few.1);
    let more = [&flags[..], &["--threshold", "stale-declarations=1"]].concat();
    let allowed = report("gate-off", BEFORE, &more);
    assert_ne!(
        check(&allowed.1, "stale-declarations")["status"],
        json!("Fail")
    );
}

/// Six refused updates since, judged with a file of the user's.
fn judged_by(flag: &str, text: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("list.yaml");
    fs::write(&path, text).expect("the folder takes it");
    let path = path.display().to_string();
    let after = Counted {
        refused: 13,
        ..BEFORE
    };
    let select = ["--select", "update-refusals", flag, &path];
    report("living", after, &[&select, arguments].concat())
}

#[test]
fn thresholds_of_a_file_count_where_no_flag_does() {
    let of = |entry: &str, arguments: &[&str]| {
        let text = format!("thresholds:\n- condition: update-refusals\n  {entry}\n");
        let (code, answer) = judged_by("--thresholds", &text, arguments);
        (code, check(&answer, "update-refusals")["status"].clone())
    };
    assert_eq!(of("limit: 6", &[]), (Some(0), json!("Pass")));
    assert_eq!(of("limit: 5", &[]), (Some(3), json!("Fail")));
    let by_flag = ["--threshold", "update-refusals=0"];
    assert_eq!(of("limit: 6", &by_flag), (Some(3), json!("Fail")));
    let few = "limit: 0\n  minSample: 7";
    assert_eq!(of(few, &[]), (Some(5), json!("Unknown")));
    assert_eq!(of(few, &["--min-sample", "6"]), (Some(3), json!("Fail")));
}

#[test]
fn an_accepted_breach_stops_nothing_until_its_day() {
    let list = |expires: &str| {
        format!(
            "suppressions:\n- check: update-refusals\n  subject: kube-apiserver/*\n  reason: resizes of the old pool\n  expires: {expires}\n\
             - check: locked-gate\n  subject: kubelet/n1\n  reason: of preflight\n  expires: 2001-01-01\n"
        )
    };
    let (code, answer) = judged_by("--suppressions", &list("2999-01-01"), &[]);
    assert_eq!(code, Some(0), "{answer:#}");
    let accepted = check(&answer, "update-refusals");
    assert_eq!(accepted["status"], "Skipped");
    let reason = &accepted["findings"][0]["suppressed"]["reason"];
    assert_eq!(reason, "resizes of the old pool");
    // What is for other commands has expired for them alone.
    assert_eq!(check(&answer, "expired-suppression")["status"], "Pass");
    let (code, answer) = judged_by("--suppressions", &list("2002-01-01"), &[]);
    assert_eq!(code, Some(3), "{answer:#}");
    assert_eq!(check(&answer, "update-refusals")["status"], "Fail");
    assert_eq!(check(&answer, "expired-suppression")["status"], "Fail");
}

#[test]
fn every_command_that_judges_knows_the_checks_of_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("list.yaml");
    let path = path.display().to_string();
    let of = |check: &str, command: &[&str]| {
        let text = format!(
            "suppressions:\n- check: {check}\n  subject: '*'\n  reason: known\n  expires: 2999-01-01\n"
        );
        fs::write(&path, text).expect("the folder takes it");
        let nowhere = ["--suppressions", &path, "--kubeconfig", "/nowhere/config"];
        let run = run(BINARY, &[command, &nowhere].concat(), "");
        assert_eq!(run.code, Some(1), "{run:?}");
        run.stderr
    };
    for command in [
        &["probe", "--feature", "RestartAllContainersOnContainerExits"][..],
        &["conformance", "--scheduler", "s"],
    ] {
        // A list that is wrong is told before anything is asked, or made.
        let wrong = of("places", command);
        assert!(wrong.contains("there is no check \"places\""), "{wrong}");
        for check in ["placed", "honours-hint", "update-refusals", "locked-gate"] {
            let said = of(check, command);
            assert!(said.contains("/nowhere/config"), "{said}");
        }
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let refused = |arguments: &[&str], code| {
        let run = run(BINARY, &[&["guard"], arguments].concat(), "kind: Pod\n");
        assert_eq!(run.code, Some(code), "{run:?}");
        run.stderr
    };
    assert!(refused(&["-o", "json"], 2).contains("--baseline"));
    let condition = refused(&["--baseline", "-", "--threshold", "x=1"], 2);
    assert!(condition.contains("update-refusals"), "{condition}");
    let value = refused(&["--baseline", "-", "--threshold", "pending-pods=many"], 2);
    assert!(value.contains("+0.1"), "{value}");
    refused(&["--baseline", "-", "--for", "0s"], 2);
    refused(&["--baseline", "-", "--every", "1s"], 2);
    refused(&["--baseline", "-", "--for", "1s", "--from", "x"], 2);
    let near = refused(&["--baseline", "-", "--select", "pending-pod"], 2);
    assert!(near.contains("did you mean pending-pods?"), "{near}");
    for (url, due) in [
        ("127.0.0.1:9090", "give http://HOST:PORT"),
        ("http://u:secret@h", "--prometheus-token-file"),
    ] {
        let said = refused(&["--baseline", "-", "--prometheus", url], 2);
        assert!(said.contains(due) && !said.contains("secret"), "{said}");
    }
    refused(
        &["--baseline", "-", "--prometheus", "http://h", "--from", "x"],
        2,
    );
    refused(&["--baseline", "-", "--prometheus-ca", "x"], 2);
    let foreign = refused(&["--baseline", "-"], 1);
    assert!(foreign.contains("guard baseline"), "{foreign}");
}
