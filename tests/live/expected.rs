//! The verdict due at each moment of each scenario, and the check of it: live, from the collected files, and with few rights.
//!
//! It must not know what is due: `rows` does.

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Cluster;
use testkit::collect;
use testkit::scenario::Moment;

use crate::audited::FROM_AUDIT;
use crate::collected;
use crate::dumped;
use crate::logged::{BESIDE_AUDIT, BESIDE_FILES};
use crate::matrix;
use crate::plugin::{kubectl, same};
use crate::rows::{A_MINUTE_LATER, FROM_FILES, ROWS, Row, WITH_FEW_RIGHTS, WITH_FEW_RIGHTS_LATER};

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
    ("tried-again", "third-attempt", "/scheduler/attempts", "3"),
    (
        "victim-in-another-namespace",
        "waiting",
        "/victims/0/namespace",
        "\"NAMESPACE-victims\"",
    ),
];

/// Asks about a moment in every way, and compares. Returns the answer from the audit log.
pub(crate) fn check(
    cluster: &Cluster,
    moment: &Moment<'_>,
    folder: &Path,
) -> Result<Value, Box<dyn Error>> {
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
    collected::check(cluster, moment, folder, &live)?;
    dumped::check(cluster, moment, folder, &live)?;
    if find(WITH_FEW_RIGHTS, moment).is_some() {
        collected::check_more(cluster, moment, folder, &live)?;
    }
    let log = collect::audit_log(folder);
    let said = collect::scheduler_log(folder);
    let folder = folder.to_str().ok_or("the folder's name is not UTF-8")?;
    let from_files = explain(cluster, "nobody", moment, &["--from", folder, "--now", now])?;
    match find(FROM_FILES, moment) {
        Some(row) => due(row, &from_files)?,
        None => same(&projection(&live), &projection(&from_files))?,
    }
    let log = log.to_str().ok_or("the folder's name is not UTF-8")?;
    let audited = explain(cluster, "nobody", moment, &["--from", log, "--now", now])?;
    due(find(FROM_AUDIT, moment).unwrap_or(row), &audited)?;
    // A Pod that no scheduler looks at is in no scheduler's log.
    if fs::metadata(&said)?.len() > 0 {
        let said = said.to_str().ok_or("the folder's name is not UTF-8")?;
        let beside = |witness: &str| {
            let from = ["--from", witness, "--from", said, "--now", now];
            explain(cluster, "nobody", moment, &from)
        };
        let by_files = find(FROM_FILES, moment).unwrap_or(row);
        due(
            find(BESIDE_FILES, moment).unwrap_or(by_files),
            &beside(folder)?,
        )?;
        let by_audit = find(FROM_AUDIT, moment).unwrap_or(row);
        due(
            find(BESIDE_AUDIT, moment).unwrap_or(by_audit),
            &beside(log)?,
        )?;
    }
    matrix::check(cluster, moment, &live)?;
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
    Ok(audited)
}

fn find<'r>(rows: &'r [Row], moment: &Moment<'_>) -> Option<&'r Row> {
    rows.iter()
        .find(|row| (row.0, row.1) == (moment.scenario, moment.name))
}

/// Runs explain through kubectl; the exit code has to follow from the answer.
pub(crate) fn explain(
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
        Some("NeverAttempted")
            if verdict["cause"] != "just-created" && verdict["cause"] != "waiting-for-group" =>
        {
            3
        }
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
pub(crate) fn projection(answer: &Value) -> Value {
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
