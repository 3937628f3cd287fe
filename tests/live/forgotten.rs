//! Pods that a scenario took away when it ended: the audit log of the whole cluster still has their story, from creation to deletion.
//!
//! It must not know what is due at a moment: what the log told while the Pod was there, it tells afterwards.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::{Value, json};
use testkit::Cluster;
use testkit::scenario::Moment;

use crate::expected::explain;
use crate::plugin::{kubectl, same};

/// Scenario, Pod, what its end makes of the story: verdict and how its last nomination ended.
const ENDS: &[(&str, &str, [&str; 2])] = &[
    ("cordon-while-waiting", "preemptor", ["Honoured", "Cleared"]),
    ("outside-hint-changed", "decided", ["Deleted", "Cleared"]),
    ("outside-hint-changed", "hinted", ["Deleted", "Cleared"]),
    (
        "preemption-with-grace",
        "preemptor",
        ["Honoured", "BoundHere"],
    ),
    ("room-taken", "preemptor", ["Deleted", "Cleared"]),
];

/// What the audit log told of Pods at their last moments, by namespace and name.
pub(crate) type Audited = BTreeMap<(String, String), Value>;

/// Asks the log about the Pods of a scenario.
pub(crate) fn check(
    cluster: &Cluster,
    scenario: &str,
    audited: &Audited,
) -> Result<(), Box<dyn Error>> {
    for ((namespace, pod), before) in audited {
        let moment = Moment {
            scenario,
            name: "taken-away",
            namespace,
            pod,
        };
        check_one(cluster, &moment, before)
            .map_err(|error| format!("after the end, of Pod {pod}: {error}"))?;
    }
    let is_met = |row: &&(&str, &str, _)| audited.keys().any(|(_, pod)| pod == row.1);
    let of_it = ENDS.iter().filter(|row| row.0 == scenario);
    match of_it.clone().find(|row| !is_met(row)) {
        Some((_, pod, _)) => Err(format!("no Pod {pod} was at a moment").into()),
        None => Ok(()),
    }
}

/// Asks the log about a Pod of which it told `before` at a scenario's last moment.
fn check_one(cluster: &Cluster, moment: &Moment<'_>, before: &Value) -> Result<(), Box<dyn Error>> {
    let asked = kubectl(
        cluster,
        "admin",
        &["get", "pod", moment.pod, "-n", moment.namespace],
    )?;
    if !asked.stderr.contains("(NotFound)") {
        return Err(format!("the Pod is still there: {asked:?}").into());
    }
    let log = cluster.audit_log().display().to_string();
    let after = explain(cluster, "nobody", moment, &["--from", &log])?;
    complete(moment, before, &after).map_err(|error| format!("{error}, in {after:#}").into())
}

fn complete(moment: &Moment<'_>, before: &Value, after: &Value) -> Result<(), Box<dyn Error>> {
    same(&after["pod"]["uid"], &before["pod"]["uid"])?;
    let mut rest = told(after).into_iter();
    // A condition is what the object said last; the next one takes its place.
    let stays = |known: &Value| known["actor"] != "condition";
    for known in told(before).into_iter().filter(stays) {
        if !rest.any(|later| later == known) {
            return Err(format!("{known} was told before").into());
        }
    }
    let is = |what: &'static str| {
        move |known: &Value| {
            known["what"] == what
                && known["actor"]
                    .as_str()
                    .is_some_and(|actor| !actor.is_empty())
        }
    };
    let all = told(after);
    for what in ["Created", "Deleted"] {
        if !all.iter().any(is(what)) {
            return Err(format!("nobody is told for {what}").into());
        }
    }
    let verdict = &after["verdict"];
    if after["binding"].is_null() {
        same(
            &[&verdict["kind"], &verdict["certainty"]],
            &[&json!("Deleted"), &json!("Proven")],
        )?;
    } else if !before["binding"].is_null() {
        same(&verdict["kind"], &before["verdict"]["kind"])?;
        same(&verdict["certainty"], &before["verdict"]["certainty"])?;
    }
    let row = ENDS
        .iter()
        .find(|row| (row.0, row.1) == (moment.scenario, moment.pod));
    if let Some((.., [kind, ended])) = row {
        let last = after["nominations"].as_array().and_then(|all| all.last());
        let last = last.ok_or("no nomination is told")?;
        same(
            &[&verdict["kind"], &last["ended"]],
            &[&json!(kind), &json!(ended)],
        )?;
    }
    Ok(())
}

/// What happened, when, and by whom.
fn told(answer: &Value) -> Vec<Value> {
    let timeline = answer["timeline"].as_array().into_iter().flatten();
    timeline
        .map(|known| json!({"what": known["what"], "at": known["at"], "actor": known["actor"]}))
        .collect()
}
