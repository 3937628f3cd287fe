//! Each right that an explanation uses taken away alone: what is told then, and that it says what it could not see.
//!
//! It must not loosen a row: with less to see an answer may be lesser, never another.

use std::error::Error;

use serde_json::Value;
use testkit::Cluster;
use testkit::scenario::Moment;

use crate::expected::explain;

/// Scenario, moment, user, verdict, cause, certainty.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// User, and the beginning of what he is denied.
const USERS: &[(&str, &[&str])] = &[
    ("without-claims", &["persistentvolumeclaims/"]),
    (
        "without-events",
        &["events about", "events with reason", "any event by"],
    ),
    ("without-lists-of-pods", &["pods on node", "nominated pods"]),
    ("without-nodes", &["nodes/"]),
];

const ROWS: &[Row] = &[
    (
        "prebind-wait",
        "preparing-after-failure",
        "without-claims",
        "Unknown",
        "claims-not-observed",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing-after-failure",
        "without-events",
        "WaitingForBinding",
        "volume-binding",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing-after-failure",
        "without-lists-of-pods",
        "WaitingForBinding",
        "volume-binding",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing-after-failure",
        "without-nodes",
        "WaitingForBinding",
        "volume-binding",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "without-claims",
        "WaitingForVictims",
        "victim-terminating",
        "Proven",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "without-events",
        "WaitingForVictims",
        "victim-terminating",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "without-lists-of-pods",
        "WaitingForVictims",
        "just-nominated",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "waiting",
        "without-nodes",
        "WaitingForVictims",
        "victim-terminating",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "bound",
        "without-claims",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "bound",
        "without-events",
        "Unknown",
        "node-not-recorded",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "bound",
        "without-lists-of-pods",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "preemption-with-grace",
        "bound",
        "without-nodes",
        "Honoured",
        "",
        "Inferred",
    ),
    (
        "cordon-while-waiting",
        "cordoned",
        "without-claims",
        "Stale",
        "node-unschedulable",
        "Proven",
    ),
    (
        "cordon-while-waiting",
        "cordoned",
        "without-events",
        "Stale",
        "node-unschedulable",
        "Proven",
    ),
    (
        "cordon-while-waiting",
        "cordoned",
        "without-lists-of-pods",
        "Stale",
        "node-unschedulable",
        "Proven",
    ),
    (
        "cordon-while-waiting",
        "cordoned",
        "without-nodes",
        "WaitingForVictims",
        "victim-terminating",
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "blocked",
        "without-claims",
        "NotNominated",
        "blocked-by-reservation",
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "blocked",
        "without-events",
        "NotNominated",
        "blocked-by-reservation",
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "blocked",
        "without-lists-of-pods",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "hint-reserves-room",
        "blocked",
        "without-nodes",
        "NotNominated",
        "unschedulable",
        "Inferred",
    ),
    (
        "hint-to-absent-node",
        "standing",
        "without-claims",
        "Stale",
        "node-gone",
        "Proven",
    ),
    (
        "hint-to-absent-node",
        "standing",
        "without-events",
        "Stale",
        "node-gone",
        "Proven",
    ),
    (
        "hint-to-absent-node",
        "standing",
        "without-lists-of-pods",
        "Stale",
        "node-gone",
        "Proven",
    ),
    (
        "hint-to-absent-node",
        "standing",
        "without-nodes",
        "WaitingForScheduler",
        "outside-hint-no-wake",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing",
        "without-claims",
        "WaitingForBinding",
        "",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing",
        "without-events",
        "WaitingForBinding",
        "volume-binding",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing",
        "without-lists-of-pods",
        "WaitingForBinding",
        "volume-binding",
        "Inferred",
    ),
    (
        "prebind-wait",
        "preparing",
        "without-nodes",
        "WaitingForBinding",
        "volume-binding",
        "Inferred",
    ),
    (
        "scheduler-silent",
        "silent",
        "without-claims",
        "NeverAttempted",
        "just-created",
        "Inferred",
    ),
    (
        "scheduler-silent",
        "silent",
        "without-events",
        "NeverAttempted",
        "just-created",
        "Inferred",
    ),
    (
        "scheduler-silent",
        "silent",
        "without-lists-of-pods",
        "NeverAttempted",
        "just-created",
        "Inferred",
    ),
    (
        "scheduler-silent",
        "silent",
        "without-nodes",
        "NeverAttempted",
        "just-created",
        "Inferred",
    ),
    (
        "outside-hint-no-wake",
        "hinted",
        "without-claims",
        "WaitingForScheduler",
        "outside-hint-no-wake",
        "Proven",
    ),
    (
        "outside-hint-no-wake",
        "hinted",
        "without-events",
        "WaitingForScheduler",
        "outside-hint-no-wake",
        "Proven",
    ),
    (
        "outside-hint-no-wake",
        "hinted",
        "without-lists-of-pods",
        "WaitingForScheduler",
        "outside-hint-no-wake",
        "Proven",
    ),
    (
        "outside-hint-no-wake",
        "hinted",
        "without-nodes",
        "WaitingForScheduler",
        "outside-hint-no-wake",
        "Inferred",
    ),
];

/// Asks as each of these users about a moment that has rows.
pub(crate) fn check(
    cluster: &Cluster,
    moment: &Moment<'_>,
    whole: &Value,
) -> Result<(), Box<dyn Error>> {
    let mut rows = ROWS
        .iter()
        .filter(|row| (row.0, row.1) == (moment.scenario, moment.name))
        .peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    for (user, denied) in USERS {
        let answer = explain(cluster, user, moment, &[])?;
        let verdict = &answer["verdict"];
        let found = ["kind", "cause", "certainty"].map(|key| verdict[key].as_str().unwrap_or(""));
        let due = rows
            .clone()
            .find(|row| row.2 == *user)
            .map(|row| [row.3, row.4, row.5]);
        if due != Some(found) {
            return Err(format!("{user}: {due:?} is due, found {found:?} in {answer:#}").into());
        }
        for subject in
            subjects(whole).filter(|subject| denied.iter().any(|start| subject.starts_with(start)))
        {
            let told =
                lines(&answer).any(|line| line["subject"] == subject && line["state"] == "Denied");
            // What hinges on something denied is not asked for.
            let asked = subjects(&answer).any(|other| other == subject);
            if asked && !told {
                return Err(format!("{user} was not told of {subject}: {answer:#}").into());
            }
        }
        if !lines(&answer).any(|line| line["state"] == "Denied")
            && subjects(whole).any(|subject| denied.iter().any(|start| subject.starts_with(start)))
        {
            return Err(format!("{user} was told of no denial: {answer:#}").into());
        }
    }
    Ok(())
}

fn lines(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["coverage"].as_array().into_iter().flatten()
}

fn subjects(answer: &Value) -> impl Iterator<Item = &str> {
    lines(answer).filter_map(|line| line["subject"].as_str())
}
