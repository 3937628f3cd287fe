//! A Pod whose texts want to steer the terminal and to forge an answer, on a real API server.
//!
//! What the server itself refuses cannot be tried; what it lets through has to be harmless in every format.

use std::error::Error;

use serde_json::{Value, json};
use testkit::Cluster;

use crate::machinery::{Check, block_on};
use crate::plugin::kubectl;

pub(crate) const CHECKS: &[(&str, Check)] = &[("a_hostile_pod_steers_nothing", steers_nothing)];

/// Clears the screen, sets the title, turns to red, writes over the line, and goes on in the next one as if it were an answer.
const WORDS: &str = "0/2 nodes are available: 2 \u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[31mInsufficient cpu\r\n\nVerdict:\n  Honoured\n    all is \u{202e}well\u{9b}2J\u{0}.";

const PODS: &str = "/api/v1/namespaces/default/pods";

fn steers_nothing(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    block_on(make(cluster))?;
    let checked = look(cluster);
    block_on(async {
        let admin = cluster.client("admin").await?;
        admin.delete(&format!("{PODS}/hostile"), Some(0)).await?;
        Ok(())
    })?;
    checked
}

/// A Pod that no scheduler takes, with texts in every place that the server lets a writer fill.
async fn make(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    // The server refuses a manager whose name holds such letters.
    let admin = cluster.client("admin").await?;
    let words = WORDS.replace('\0', "");
    let decision = json!({"id": words, "node": "n1", "recommender": words, "reason": words, "writtenAt": "2026-11-30T08:00:00Z"});
    let pod = json!({
        "metadata": {
            "name": "hostile",
            "annotations": {"nominate.kube-placement.dev/decision": decision.to_string()},
        },
        "spec": {
            "schedulerName": "nobody-serves-this",
            "containers": [{"name": "c", "image": "busybox", "env": [{"name": "TOKEN", "value": "canary-3141"}]}],
        },
    });
    let pod = admin.create(PODS, &pod).await?;
    let status = json!({"status": {
        "nominatedNodeName": "n1",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}],
    }});
    admin
        .merge_patch(&format!("{PODS}/hostile/status"), &status)
        .await?;
    let event = json!({
        "metadata": {"name": "hostile.1"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "hostile", "uid": pod["metadata"]["uid"], "apiVersion": "v1"},
        "reason": "FailedScheduling", "message": words, "type": "Warning",
        "source": {"component": words}, "reportingComponent": words,
        "firstTimestamp": "2026-11-30T08:00:00Z", "lastTimestamp": "2026-11-30T08:00:00Z", "count": 1,
    });
    admin
        .create("/api/v1/namespaces/default/events", &event)
        .await?;
    Ok(())
}

fn look(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    for format in ["table", "wide", "json", "yaml"] {
        for more in [
            &["-n", "default"][..],
            &["-n", "default", "--color", "never"],
        ] {
            let mut arguments = vec!["nominate", "explain", "hostile", "-o", format];
            arguments.extend(more);
            let run = kubectl(cluster, "viewer", &arguments)?;
            let steers = |letter: char| {
                (letter.is_control() && letter != '\n')
                    || ('\u{202a}'..='\u{202e}').contains(&letter)
            };
            if let Some(letter) = run.stdout.chars().find(|letter| steers(*letter)) {
                return Err(format!("{format} lets {letter:?} through: {:?}", run.stdout).into());
            }
            if run.stdout.contains("canary-3141") {
                return Err(format!("{format} shows an environment variable").into());
            }
            let forged = run
                .stdout
                .lines()
                .filter(|line| *line == "Verdict:")
                .count();
            if matches!(format, "table" | "wide") && forged != 1 {
                return Err(format!("{format} has {forged} verdicts: {}", run.stdout).into());
            }
            if format == "json" {
                let answer: Value = serde_json::from_str(&run.stdout)?;
                // Who writes the condition as well passes for a scheduler; that is inferred, and no more.
                let verdict = &answer["verdict"];
                if verdict["kind"] != "WaitingForVictims" || verdict["certainty"] != "Inferred" {
                    return Err(format!("the texts were believed: {answer:#}").into());
                }
            }
        }
    }
    Ok(())
}
