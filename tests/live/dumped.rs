//! At a moment, what support tools take of the cluster: the verdict from their files is the live one, or [`LACKING`] says what lacks.
//!
//! kubectl makes the dump; a must-gather is laid out from the same objects. It must not know what is due: whatever the server's answer
//! was, theirs is the same.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use serde_json::Value;
use testkit::Cluster;
use testkit::layouts::{self, Lists};
use testkit::scenario::Moment;

use crate::expected::{explain, projection};
use crate::lacking::{LACKING, Lack};
use crate::plugin::{kubectl, same};

/// The moment that is also dumped onto standard output: one is enough to see how kubectl prints.
const PRINTED: (&str, &str) = ("preemption-with-grace", "bound");

/// Compares the verdicts from each layout with the server's; `folder` holds what was collected of the moment.
pub(crate) fn check(
    cluster: &Cluster,
    moment: &Moment<'_>,
    folder: &Path,
    live: &Value,
) -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let inside = |name: &str| place.path().join(name).display().to_string();
    let dump = inside("dump");
    let into = format!("--output-directory={dump}");
    let namespaces = format!("--namespaces={}", namespaces(moment, live).join(","));
    let words = ["cluster-info", "dump", &namespaces, "--show-managed-fields"];
    let run = kubectl(cluster, "admin", &[&words[..], &[&into]].concat())?;
    same(&run.code, &Some(0)).map_err(|error| format!("{error}: {run:?}"))?;
    let lists = Lists::read_dump(Path::new(&dump), folder)?;
    let gather = inside("gather");
    layouts::write(&lists.must_gather(), Path::new(&gather))?;
    let mut all = vec![
        ("dump", "read as a dump of kubectl cluster-info", dump),
        ("gather", "read as an OpenShift must-gather", gather),
    ];
    if PRINTED == (moment.scenario, moment.name) {
        let run = kubectl(cluster, "admin", &words)?;
        same(&run.code, &Some(0)).map_err(|error| format!("{error}: {run:?}"))?;
        if !run.stdout.contains("\n==== START logs for container ") {
            return Err("kubectl printed no logs".into());
        }
        let printed = inside("dump.txt");
        std::fs::write(&printed, &run.stdout)?;
        all.push(("printed", "", printed));
    }
    let now = live["now"].as_str().ok_or("the answer has no now")?;
    for (layout, recognised, path) in &all {
        let answer = explain(cluster, "nobody", moment, &["--from", path, "--now", now])?;
        compare(moment, layout, recognised, live, &answer)
            .map_err(|error| format!("{layout}: {error}, in {answer:#}"))?;
    }
    Ok(())
}

/// Those that the answer is about; kubectl asks for a list five times a second, so that all would take longer than a moment lasts.
fn namespaces<'a>(moment: &Moment<'a>, live: &'a Value) -> Vec<&'a str> {
    let victims = live["victims"].as_array().into_iter().flatten();
    let of_victims = victims.filter_map(|victim| victim["namespace"].as_str());
    let all: BTreeSet<&str> = of_victims.chain([moment.namespace]).collect();
    all.into_iter().collect()
}

fn compare(
    moment: &Moment<'_>,
    layout: &str,
    recognised: &str,
    live: &Value,
    answer: &Value,
) -> Result<(), Box<dyn Error>> {
    let lines = answer["coverage"].as_array().ok_or("no coverage")?;
    let about = |subject: &str| lines.iter().find(|line| line["subject"] == subject);
    let detail = about("layout").and_then(|line| line["detail"].as_str());
    if !detail.unwrap_or_default().starts_with(recognised) {
        return Err(format!("it was {detail:?}").into());
    }
    // They were asked for.
    same(&about("managed fields"), &None)?;
    let (mut due, found) = (projection(live), projection(answer));
    let row = LACKING
        .iter()
        .find(|row| row.0.contains(&layout) && (row.1, row.2) == (moment.scenario, moment.name));
    if let Some((.., verdict, lack)) = row {
        is_told(*lack, lines)?;
        let verdict = verdict.map(|word| Some(word).filter(|word| !word.is_empty()));
        for (at, word) in verdict.into_iter().enumerate() {
            due["verdict"][at] = word.into();
        }
        due["verdict"][3] = found["verdict"][3].clone();
        forget(&mut due["nominations"], &found["nominations"]);
    }
    same(&found, &due)
}

/// What lacks makes a nomination's words unknown, and never other words.
fn forget(due: &mut Value, found: &Value) {
    let each = due.as_array_mut().into_iter().flatten();
    for (due, found) in each.zip(found.as_array().into_iter().flatten()) {
        for (word, kept) in [
            ("ended", Value::Null),
            ("kind", "Unknown".into()),
            ("node", Value::Null),
        ] {
            if found[word] == kept {
                due[word] = kept;
            }
        }
    }
}

/// The answer itself says what it lacks.
fn is_told(lack: Lack, lines: &[Value]) -> Result<(), Box<dyn Error>> {
    let (subject, state) = lack.told();
    let is_it = |line: &&Value| {
        line["state"] == state
            && line["subject"]
                .as_str()
                .is_some_and(|text| text.starts_with(subject))
    };
    match lines.iter().find(is_it) {
        Some(_) => Ok(()),
        None => Err(format!("{lack:?} is not told").into()),
    }
}
