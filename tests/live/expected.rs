//! The verdict due at each moment of each scenario, and the check of it: live, from the collected files, and with few rights.
//!
//! What a table row says was seen on the real control plane of every minor; it must not be loosened for one of them.

use std::error::Error;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Cluster;
use testkit::scenario::Moment;

use crate::plugin::{kubectl, same};

/// Scenario, moment, verdict, cause, certainty.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
);

const ROWS: &[Row] = &[
    (
        "cordon-clears-nomination",
        "cleared",
        "Cleared",
        None,
        "Inferred",
    ),
    (
        "cordon-clears-nomination",
        "victim-gone",
        "Cleared",
        None,
        "Inferred",
    ),
    (
        "cordon-clears-nomination",
        "bound",
        "Honoured",
        Some("cleared-before-binding"),
        "Inferred",
    ),
    (
        "cordon-while-waiting",
        "cordoned",
        "Stale",
        Some("node-unschedulable"),
        "Proven",
    ),
    (
        "cordon-while-waiting",
        "cleared",
        "Cleared",
        None,
        "Inferred",
    ),
    (
        "cordon-while-waiting",
        "bound",
        "Honoured",
        Some("cleared-before-binding"),
        "Inferred",
    ),
    (
        "created-with-node-name",
        "running",
        "Bypassed",
        None,
        "Proven",
    ),
    (
        "created-with-node-name",
        "bound-by-other",
        "NotNominated",
        None,
        "Inferred",
    ),
    (
        "deletion-that-is-no-preemption",
        "waiting",
        "WaitingForVictims",
        Some("not-a-victim"),
        "Inferred",
    ),
    (
        "deletion-that-is-no-preemption",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "nominated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    (
        "hint-reserves-room",
        "blocked",
        "NotNominated",
        Some("blocked-by-reservation"),
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "higher-bound",
        "NotNominated",
        None,
        "Inferred",
    ),
    (
        "hint-to-absent-node",
        "standing",
        "Stale",
        Some("node-gone"),
        "Proven",
    ),
    (
        "hint-to-absent-node",
        "nominated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    (
        "hint-to-absent-node",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "infeasible-hint",
        "nominated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    // Where a bare hint pointed is not recorded once it is bound; with a decision it is.
    (
        "infeasible-hint",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "infeasible-hint",
        "decided-bound",
        "Moved",
        Some("outside-hint-ignored"),
        "Inferred",
    ),
    (
        "kubelet-killed-while-waiting",
        "not-ready",
        "Stale",
        Some("node-not-ready"),
        "Proven",
    ),
    (
        "kubelet-killed-while-waiting",
        "node-gone",
        "Stale",
        Some("node-gone"),
        "Proven",
    ),
    (
        "kubelet-killed-while-waiting",
        "cleared",
        "Cleared",
        None,
        "Inferred",
    ),
    (
        "kubelet-killed-while-waiting",
        "bound",
        "Honoured",
        Some("cleared-before-binding"),
        "Inferred",
    ),
    (
        "no-scheduler",
        "pending",
        "NeverAttempted",
        Some("just-created"),
        "Inferred",
    ),
    // Of a bare hint that was cleared nothing is left.
    (
        "outside-hint-changed",
        "cleared",
        "NotNominated",
        Some("unschedulable"),
        "Inferred",
    ),
    (
        "outside-hint-changed",
        "decided-cleared",
        "Cleared",
        Some("outside-hint-overwritten"),
        "Inferred",
    ),
    (
        "outside-hint-no-wake",
        "hinted",
        "WaitingForScheduler",
        Some("outside-hint-no-wake"),
        "Proven",
    ),
    (
        "outside-hint-no-wake",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "outside-hint-on-gated-pod",
        "gated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    (
        "outside-hint-on-gated-pod",
        "nominated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    (
        "outside-hint-on-gated-pod",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "outside-hint-on-gated-pod",
        "decided-nominated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    (
        "outside-hint-on-gated-pod",
        "decided-bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "overwritten-preemption",
        "overwritten",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Proven",
    ),
    (
        "overwritten-preemption",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "prebind-timeout-clears",
        "timed-out",
        "NotNominated",
        Some("volume-binding"),
        "Inferred",
    ),
    (
        "prebind-timeout-keeps",
        "timed-out",
        "Stale",
        Some("prebind-timeout"),
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing",
        "WaitingForBinding",
        Some("volume-binding"),
        "Inferred",
    ),
    (
        "prebind-wait",
        "overwritten",
        "WaitingForBinding",
        Some("binding-elsewhere"),
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing-after-failure",
        "WaitingForBinding",
        Some("volume-binding"),
        "Inferred",
    ),
    ("prebind-wait", "bound", "Honoured", None, "Inferred"),
    (
        "prebind-wait",
        "overwritten-bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Proven",
    ),
    (
        "preemption-with-grace",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "recreated-with-the-same-name",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "recreated-with-the-same-name",
        "again",
        "NotNominated",
        Some("unschedulable"),
        "Inferred",
    ),
    (
        "refused-by-kubelet",
        "refused",
        "RefusedByKubelet",
        Some("node-resources"),
        "Proven",
    ),
    (
        "refused-by-kubelet",
        "refused-with-node-name",
        "RefusedByKubelet",
        Some("node-resources"),
        "Proven",
    ),
    (
        "scheduler-restart-while-waiting",
        "restarted",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Proven",
    ),
    (
        "scheduler-restart-while-waiting",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "second-scheduler",
        "waiting",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Proven",
    ),
    ("second-scheduler", "bound", "Honoured", None, "Inferred"),
    (
        "victim-held-by-finalizer",
        "waiting",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Proven",
    ),
    // It does not count any more, though its object is still there.
    (
        "victim-held-by-finalizer",
        "victim-finished",
        "WaitingForVictims",
        Some("just-nominated"),
        "Inferred",
    ),
    (
        "victim-held-by-finalizer",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "victim-in-another-namespace",
        "waiting",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Proven",
    ),
    (
        "victim-in-another-namespace",
        "bound",
        "Honoured",
        None,
        "Inferred",
    ),
];

/// The same moment from the collected files, where they hold less than a user may see who asks the servers.
const FROM_FILES: &[Row] = &[
    // The events of the victim's namespace are not collected.
    (
        "victim-in-another-namespace",
        "waiting",
        "WaitingForVictims",
        Some("victim-terminating"),
        "Inferred",
    ),
    (
        "victim-in-another-namespace",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
];

/// What else an answer has to say: scenario, moment, where it stands, the JSON that stands there; `NAMESPACE` is the moment's.
const STATED: &[(&str, &str, &str, &str)] = &[
    (
        "created-with-node-name",
        "bound-by-other",
        "/binding/by",
        "null",
    ),
    (
        "recreated-with-the-same-name",
        "again",
        "/nominations",
        "[]",
    ),
    ("recreated-with-the-same-name", "again", "/victims", "[]"),
    ("recreated-with-the-same-name", "again", "/binding", "null"),
    (
        "recreated-with-the-same-name",
        "again",
        "/scheduler/attempts",
        "1",
    ),
    (
        "second-scheduler",
        "waiting",
        "/nominations/0/by/scheduler",
        "\"second-scheduler\"",
    ),
    (
        "second-scheduler",
        "bound",
        "/binding/by",
        "\"second-scheduler\"",
    ),
    (
        "victim-in-another-namespace",
        "waiting",
        "/victims/0/namespace",
        "\"NAMESPACE-victims\"",
    ),
];

/// The same moment, asked about a minute later: what is due by then.
const A_MINUTE_LATER: &[Row] = &[
    (
        "cordon-while-waiting",
        "cordoned",
        "Stale",
        Some("node-unschedulable"),
        "Proven",
    ),
    (
        "no-scheduler",
        "pending",
        "NeverAttempted",
        Some("no-scheduler"),
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "WaitingForVictims",
        Some("victim-overdue"),
        "Proven",
    ),
    (
        "deletion-that-is-no-preemption",
        "waiting",
        "WaitingForVictims",
        Some("not-a-victim"),
        "Inferred",
    ),
    (
        "kubelet-killed-while-waiting",
        "not-ready",
        "Stale",
        Some("node-not-ready"),
        "Proven",
    ),
    (
        "prebind-wait",
        "preparing",
        "WaitingForBinding",
        Some("volume-binding"),
        "Inferred",
    ),
    (
        "victim-held-by-finalizer",
        "victim-finished",
        "Stale",
        Some("not-retried"),
        "Inferred",
    ),
];

/// The same moment for a user who may only get Pods.
const WITH_FEW_RIGHTS: &[Row] = &[
    // Only a victim's event tells of the nomination.
    (
        "cordon-while-waiting",
        "cleared",
        "NotNominated",
        Some("unschedulable"),
        "Inferred",
    ),
    (
        "cordon-while-waiting",
        "bound",
        "NotNominated",
        None,
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "blocked",
        "NotNominated",
        Some("unschedulable"),
        "Inferred",
    ),
    // Whether there is such a node could not be seen.
    (
        "hint-to-absent-node",
        "standing",
        "WaitingForScheduler",
        Some("outside-hint-no-wake"),
        "Inferred",
    ),
    (
        "outside-hint-changed",
        "decided-cleared",
        "Cleared",
        Some("outside-hint-overwritten"),
        "Inferred",
    ),
    // Whether the node can take it could not be seen.
    (
        "outside-hint-no-wake",
        "hinted",
        "WaitingForScheduler",
        Some("outside-hint-no-wake"),
        "Inferred",
    ),
    // Within ten seconds the victims may not be deleted yet, whoever looks.
    (
        "preemption-with-grace",
        "waiting",
        "WaitingForVictims",
        Some("just-nominated"),
        "Inferred",
    ),
    (
        "outside-hint-on-gated-pod",
        "nominated",
        "Gated",
        Some("scheduling-gates"),
        "Proven",
    ),
    (
        "outside-hint-on-gated-pod",
        "decided-bound",
        "Honoured",
        None,
        "Inferred",
    ),
    (
        "created-with-node-name",
        "running",
        "Bypassed",
        None,
        "Proven",
    ),
    (
        "kubelet-killed-while-waiting",
        "bound",
        "NotNominated",
        None,
        "Inferred",
    ),
    (
        "prebind-timeout-clears",
        "timed-out",
        "NotNominated",
        Some("volume-binding"),
        "Inferred",
    ),
    (
        "prebind-timeout-keeps",
        "timed-out",
        "Stale",
        Some("prebind-timeout"),
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing",
        "WaitingForBinding",
        None,
        "Inferred",
    ),
    (
        "prebind-wait",
        "overwritten",
        "WaitingForScheduler",
        Some("no-attempt-yet"),
        "Inferred",
    ),
    (
        "prebind-wait",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "recreated-with-the-same-name",
        "again",
        "NotNominated",
        Some("unschedulable"),
        "Inferred",
    ),
    (
        "refused-by-kubelet",
        "refused",
        "RefusedByKubelet",
        Some("node-resources"),
        "Proven",
    ),
    (
        "second-scheduler",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
        "Inferred",
    ),
    (
        "victim-in-another-namespace",
        "waiting",
        "WaitingForVictims",
        Some("just-nominated"),
        "Inferred",
    ),
];

/// Both at once: what hinges on what this user may not see.
const WITH_FEW_RIGHTS_LATER: &[Row] = &[
    (
        "cordon-while-waiting",
        "cordoned",
        "Unknown",
        Some("pods-not-observed"),
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "Unknown",
        Some("pods-not-observed"),
        "Inferred",
    ),
];

/// Asks about a moment in every way, and compares.
pub(crate) fn check(
    cluster: &Cluster,
    moment: &Moment<'_>,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let row = find(ROWS, moment).ok_or_else(|| {
        format!(
            "no row says what is due at {} of {}",
            moment.name, moment.scenario
        )
    })?;
    let live = explain(cluster, "viewer", moment, &[])?;
    due(row, &live)?;
    stated(moment, &live)?;
    let now = live["now"].as_str().ok_or("the answer has no now")?;
    let folder = folder.to_str().ok_or("the folder's name is not UTF-8")?;
    let collected = explain(cluster, "nobody", moment, &["--from", folder, "--now", now])?;
    match find(FROM_FILES, moment) {
        Some(row) => due(row, &collected)?,
        None => same(&projection(&live), &projection(&collected))?,
    }
    let later: jiff::Timestamp = now.parse()?;
    let later = (later + jiff::SignedDuration::from_secs(60)).to_string();
    let asked: [(&[Row], &str, &[&str]); 3] = [
        (A_MINUTE_LATER, "viewer", &["--now", &later]),
        (WITH_FEW_RIGHTS, "pods-only", &[]),
        (WITH_FEW_RIGHTS_LATER, "pods-only", &["--now", &later]),
    ];
    for (rows, user, more) in asked {
        if let Some(row) = find(rows, moment) {
            due(row, &explain(cluster, user, moment, more)?)?;
        }
    }
    Ok(())
}

fn find<'r>(rows: &'r [Row], moment: &Moment<'_>) -> Option<&'r Row> {
    rows.iter()
        .find(|row| (row.0, row.1) == (moment.scenario, moment.name))
}

/// Runs explain through kubectl; the exit code has to follow from the answer.
fn explain(
    cluster: &Cluster,
    user: &str,
    moment: &Moment<'_>,
    more: &[&str],
) -> Result<Value, Box<dyn Error>> {
    let mut arguments = vec![
        "nominate",
        "explain",
        moment.pod,
        "-n",
        moment.namespace,
        "-o",
        "json",
        "--fail-on",
        "error",
    ];
    arguments.extend(more);
    let run = kubectl(cluster, user, &arguments)?;
    let answer: Value =
        serde_json::from_str(&run.stdout).map_err(|error| format!("{error}: {run:?}"))?;
    let verdict = &answer["verdict"];
    let code = match verdict["kind"].as_str() {
        Some("Unknown") => 5,
        Some("NeverAttempted") if verdict["cause"] != "just-created" => 3,
        Some("Stale" | "RefusedByKubelet") => 3,
        _ if verdict["overdue"] == true => 3,
        _ => 0,
    };
    same(&run.code, &Some(code)).map_err(|error| format!("{error}: {verdict:#}"))?;
    same(&run.stderr, &String::new())?;
    Ok(answer)
}

fn due((_, _, kind, cause, certainty): &Row, answer: &Value) -> Result<(), Box<dyn Error>> {
    let verdict = &answer["verdict"];
    let found = (
        verdict["kind"].as_str(),
        verdict["cause"].as_str(),
        verdict["certainty"].as_str(),
    );
    if found == (Some(kind), *cause, Some(certainty)) {
        return Ok(());
    }
    Err(format!("{kind}, {cause:?}, {certainty} is due, found {answer:#}").into())
}

/// Compares what else is due with the answer.
fn stated(moment: &Moment<'_>, answer: &Value) -> Result<(), Box<dyn Error>> {
    let of_moment =
        |row: &&(&str, &str, &str, &str)| (row.0, row.1) == (moment.scenario, moment.name);
    for (_, _, pointer, wanted) in STATED.iter().filter(of_moment) {
        let wanted = wanted.replace("NAMESPACE", moment.namespace);
        let found = answer.pointer(pointer).map(Value::to_string);
        if found.as_ref() != Some(&wanted) {
            return Err(format!("{pointer} is {found:?}, due is {wanted}, in {answer:#}").into());
        }
    }
    Ok(())
}

/// What an answer says of the story, without what differs by the source it was read from.
fn projection(answer: &Value) -> Value {
    let each = |list: &Value, keys: &[&str]| -> Value {
        let rows = list.as_array().map(Vec::as_slice).unwrap_or_default();
        rows.iter()
            .map(|row| {
                keys.iter()
                    .map(|key| (*key, row[*key].clone()))
                    .collect::<std::collections::BTreeMap<_, _>>()
            })
            .map(|row| json!(row))
            .collect()
    };
    let verdict = &answer["verdict"];
    json!({
        "verdict": [verdict["kind"], verdict["cause"], verdict["certainty"], verdict["overdue"]],
        "nominations": each(&answer["nominations"], &["kind", "node", "ended"]),
        "victims": each(&answer["victims"], &["namespace", "name", "node"]),
        "binding": answer["binding"]["node"],
    })
}
