//! An API server and a scheduler that emulate the minor before, beside a second scheduler that really is of it.
//!
//! What each says is fetched by kubectl. It must not know a gate's value by heart.

use std::collections::BTreeMap;
use std::error::Error;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::skew::{
    ALPHA, Gates, due, every_value_is_what_it_says, features, list, reach, run, says, told, word,
};

pub(crate) const NAME: &str = "skew_of_an_emulating_control_plane_and_a_second_scheduler";

const SERVER: &str = "kube-apiserver";
const SCHEDULER: &str = "kube-scheduler";

/// What the second scheduler is called: its profile, and its name in answers.
const SECOND: &str = "second";
const NAME_OF_SECOND: &str = "kube-scheduler/second";

/// The trial.
pub(crate) fn works(clusters: &Clusters, minor: &str, before: &str) -> Result<(), Failed> {
    let emulated = format!("--emulated-version={before}");
    let component = format!("{SCHEDULER}-{SECOND}");
    // What is given to schedulers is given to the second one, too; last wins, and of itself it emulates itself.
    let options = ClusterOptions::new(minor)
        .nodes(&["n1"])
        .argument(SERVER, &emulated)
        .argument(SCHEDULER, &emulated)
        .argument(&component, &format!("--feature-gates={ALPHA}=true"))
        .of_minor(&component, before);
    clusters.apart(&options, |cluster| {
        cluster.start_scheduler(SECOND)?;
        let mut told = told(cluster)?;
        let host = cluster.server().trim_end_matches(":6443").to_owned();
        let second = format!("{host}:11259");
        told.insert(
            NAME_OF_SECOND.to_owned(),
            says(cluster, &second, "/metrics")?,
        );
        let reach = [
            reach(cluster),
            vec![
                "--component".to_owned(),
                format!("{NAME_OF_SECOND}={second}"),
            ],
        ]
        .concat();
        let reach: Vec<&str> = reach.iter().map(String::as_str).collect();
        let all = [&reach[..], &["--exact", "--all"]].concat();
        let all = features(cluster, "admin", "skew", &all)?;
        every_value_is_what_it_says(&all, &told)?;
        versions_are_told(&all, minor, before)?;
        emulation_is_a_cause(&all, &told)?;
        the_second_scheduler_is_named(&all, &told)?;
        newer_ones_are_errors(cluster, &reach, minor, before)
    })
}

fn versions_are_told(answer: &Value, minor: &str, before: &str) -> Result<(), Box<dyn Error>> {
    for row in list(&answer["components"]) {
        let name = word(&row["name"]);
        let emulates = match row["kind"].as_str() {
            // Of itself each emulates what it is.
            Some("kubelet" | "kube-controller-manager") => json!(minor),
            _ => json!(before),
        };
        due(
            &format!("what {name} emulates"),
            &row["emulationVersion"],
            &emulates,
        )?;
        let runs = if name == NAME_OF_SECOND {
            before
        } else {
            minor
        };
        let is_of = word(&row["version"]).starts_with(&format!("v{runs}."));
        due(&format!("version of {row}"), &is_of, &true)?;
    }
    due("components", &list(&answer["components"]).len(), &5)
}

/// Whatever an emulating API server says otherwise than the kubelet of its binary's minor has emulation as its cause.
fn emulation_is_a_cause(
    answer: &Value,
    told: &BTreeMap<String, Gates>,
) -> Result<(), Box<dyn Error>> {
    let of = |kind: &str| told.iter().find(|(name, _)| name.starts_with(kind));
    let (Some((server, servers)), Some((_, kubelets))) = (of(SERVER), of("kubelet")) else {
        return Err("no API server, or no kubelet".into());
    };
    let mut compared = 0;
    for difference in list(&answer["differences"]) {
        let gate = word(&difference["gate"]);
        let (Some(one), Some(other)) = (servers.get(gate), kubelets.get(gate)) else {
            continue;
        };
        if one == other {
            continue;
        }
        let has_it = |it: &&Value| list(&it["components"]).iter().any(|name| name == server);
        let values = list(&difference["values"]).iter().find(has_it);
        let cause = values.map_or("", |values| word(&values["cause"]));
        due(&format!("why {gate} differs"), &cause, &"Emulation")?;
        compared += 1;
    }
    if compared < 5 {
        return Err(format!("only {compared} gates differ by emulation").into());
    }
    Ok(())
}

/// A scheduler of a minor and one that emulates it say the same of what both know, but for what one of them was told.
fn the_second_scheduler_is_named(
    answer: &Value,
    told: &BTreeMap<String, Gates>,
) -> Result<(), Box<dyn Error>> {
    let first = told.get("kube-scheduler/it").ok_or("no first scheduler")?;
    let second = told.get(NAME_OF_SECOND).ok_or("no second scheduler")?;
    let others: Vec<&String> = second
        .iter()
        .filter(|(gate, on)| first.get(*gate).is_some_and(|other| other != *on))
        .map(|(gate, _)| gate)
        .collect();
    due(
        "what schedulers say otherwise",
        &others,
        &vec![&ALPHA.to_owned()],
    )?;
    let differences = list(&answer["differences"]).iter();
    let found = differences.clone().find(|it| it["gate"] == ALPHA);
    let values = found.map_or(&[][..], |it| list(&it["values"]));
    let on = values.iter().find(|it| it["value"] == "True").cloned();
    let on = on.unwrap_or_default();
    due("who has it on", &on["components"], &json!([NAME_OF_SECOND]))?;
    due("why", &word(&on["cause"]), &"Flag")
}

/// What an API server emulates is its version for all others (KEP-4330).
fn newer_ones_are_errors(
    cluster: &Cluster,
    reach: &[&str],
    minor: &str,
    before: &str,
) -> Result<(), Box<dyn Error>> {
    let run = run(cluster, "admin", "skew", reach)?;
    due("exit code", &run.code, &Some(3))?;
    let answer: Value = serde_json::from_str(&run.stdout)?;
    let mut found: Vec<(String, String)> = list(&answer["versionSkew"])
        .iter()
        .filter(|it| it["severity"] == "Error" && it["rule"] == "not-newer-than-kube-apiserver")
        .map(|it| {
            (
                word(&it["subject"]).to_owned(),
                word(&it["detail"]).to_owned(),
            )
        })
        .collect();
    found.sort();
    let newer = |kind: &str| {
        format!("{kind} {minor} is newer than an API server, {before}; move the API servers first")
    };
    let kcm = "kube-controller-manager";
    let expected = vec![
        (format!("{kcm}/it"), newer(kcm)),
        ("kubelet/n1".to_owned(), newer("kubelet")),
    ];
    due("what is newer", &found, &expected)
}
