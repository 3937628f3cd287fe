//! At a moment, a bundle is made and explained without the cluster: the answer has to be the server's.
//!
//! It must not know what is due: whatever the server's answer was, the bundle's is the same.

#![expect(clippy::disallowed_methods, reason = "a wait has an end")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::Cluster;
use testkit::scenario::Moment;

use crate::plugin::{Run, kubectl, same};

/// The longest wait for a cluster that does not change while it is looked at.
const CEILING: Duration = Duration::from_mins(1);

/// Compares the answers to the Pod, judged at the time of the server's answer.
pub(crate) fn check(
    cluster: &Cluster,
    moment: &Moment<'_>,
    folder: &Path,
    live: &Value,
) -> Result<(), Box<dyn Error>> {
    let before = comparable(live.clone());
    compare(
        cluster,
        "viewer",
        moment.pod,
        moment,
        folder,
        live,
        Some(before),
    )
}

/// The same of a user who may see little, and of all Pods of the namespace.
pub(crate) fn check_more(
    cluster: &Cluster,
    moment: &Moment<'_>,
    folder: &Path,
    live: &Value,
) -> Result<(), Box<dyn Error>> {
    compare(cluster, "pods-only", moment.pod, moment, folder, live, None)?;
    compare(cluster, "viewer", "pods", moment, folder, live, None)
}

fn compare(
    cluster: &Cluster,
    user: &str,
    what: &str,
    moment: &Moment<'_>,
    folder: &Path,
    live: &Value,
    before: Option<Value>,
) -> Result<(), Box<dyn Error>> {
    let now = live["now"].as_str().ok_or("the answer has no now")?;
    let bundle = folder.with_extension("tar.zst");
    let bundle = bundle.to_str().ok_or("the folder's name is not UTF-8")?;
    let question = [what, "-n", moment.namespace];
    let (run, answer) = settled(cluster, user, &question, bundle, now, before)?;
    let more = ["--now", now, "--from", bundle];
    let (again, from_bundle) = explain(cluster, "nobody", &question, &more)?;
    same(&(again.code, &again.stderr), &(run.code, &run.stderr))?;
    same(&from_bundle, &answer).map_err(|error| format!("of {user} about {what}: {error}").into())
}

/// Makes a bundle while the server's answer stays the same: events and heartbeats come when they will.
fn settled(
    cluster: &Cluster,
    user: &str,
    question: &[&str],
    bundle: &str,
    now: &str,
    before: Option<Value>,
) -> Result<(Run, Value), Box<dyn Error>> {
    let deadline = Instant::now() + CEILING;
    let mut before = match before {
        Some(answer) => answer,
        None => explain(cluster, user, question, &["--now", now])?.1,
    };
    loop {
        let words = ["nominate", "collect", "--force", "-o", bundle];
        let made = kubectl(cluster, user, &[&words, question].concat())?;
        same(&made.code, &Some(0)).map_err(|error| format!("{error}: {made:?}"))?;
        let (run, after) = explain(cluster, user, question, &["--now", now])?;
        if before == after {
            return Ok((run, after));
        }
        if Instant::now() > deadline {
            return Err(format!("the answer never stays: {before:?}, then {after:?}").into());
        }
        before = after;
    }
}

fn explain(
    cluster: &Cluster,
    user: &str,
    question: &[&str],
    more: &[&str],
) -> Result<(Run, Value), Box<dyn Error>> {
    let words = ["nominate", "explain", "-o", "json", "--fail-on", "error"];
    let run = kubectl(cluster, user, &[&words, question, more].concat())?;
    let answer = serde_json::from_str(&run.stdout).map_err(|error| format!("{error}: {run:?}"))?;
    Ok((run, comparable(answer)))
}

/// The answer without what tells where it was read, and when it was made.
fn comparable(mut answer: Value) -> Value {
    fn strip(value: &mut Value, keys: &[&str]) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, _| !keys.contains(&key.as_str()));
                fields.values_mut().for_each(|value| strip(value, keys));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| strip(value, keys)),
            _ => {}
        }
    }
    strip(&mut answer, &["generatedAt", "source", "sources"]);
    answer
}
