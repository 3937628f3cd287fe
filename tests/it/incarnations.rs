//! Order and identity in an audit log: files that overlap, Pods of one name, other clusters, and Pods that are no more.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::levels::{explain, lines, write};
use super::plugin::root;

fn log(moment: &str) -> PathBuf {
    root().join(format!("tests/audited/{moment}.jsonl.gz"))
}

fn pod(name: &str, namespace: &str) -> [String; 2] {
    [name.to_owned(), namespace.to_owned()]
}

fn kind(answer: &Value) -> &str {
    answer["verdict"]["kind"].as_str().expect("a verdict")
}

fn certainty(answer: &Value) -> &str {
    answer["verdict"]["certainty"].as_str().expect("a verdict")
}

fn whats(answer: &Value) -> Vec<String> {
    let timeline = answer["timeline"].as_array().expect("a list");
    let what = |moment: &Value| moment["what"].as_str().expect("text").to_owned();
    timeline.iter().map(what).collect()
}

fn has(answer: &Value, what: &str, words: &str) -> bool {
    let timeline = answer["timeline"].as_array().expect("a list");
    timeline.iter().any(|moment| {
        moment["what"] == what
            && moment["detail"]
                .as_str()
                .is_some_and(|text| text.contains(words))
    })
}

fn gzip(path: &Path, lines: &[Value]) {
    let file = fs::File::create(path).expect("the folder can be written");
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    for line in lines {
        writeln!(packed, "{line}").expect("it can be written");
    }
    packed.finish().expect("it can be finished");
}

#[test]
fn rotated_files_that_overlap_are_one_log() {
    let moment = "1.37/4-outsider-overwrite/2-bound";
    let all = lines(&log(moment));
    let pod = pod("hi", "s4");
    let whole = explain(&pod, &[&log(moment)]);
    let folder = TempDir::new().expect("a folder");
    let older = folder.path().join("audit-2026-11-30T08-20-00.000.log.gz");
    let newer = folder.path().join("audit.log");
    gzip(&older, &all[..all.len() * 2 / 3]);
    write(&newer, &all[all.len() / 3..]);
    let as_folder = explain(&pod, &[folder.path()]);
    let by_turns = explain(&pod, &[&newer, &older]);
    for answer in [&as_folder, &by_turns] {
        assert_eq!(kind(answer), kind(&whole));
        assert_eq!(certainty(answer), certainty(&whole));
        assert_eq!(whats(answer), whats(&whole));
    }
}

#[test]
fn what_was_not_carried_out_changes_nothing() {
    let moment = "1.37/3-preemption/1-waiting";
    let mut all = lines(&log(moment));
    let pod = pod("hi", "s3");
    let whole = explain(&pod, &[&log(moment)]);
    let set = all
        .iter()
        .rfind(|line| line["requestObject"]["status"]["nominatedNodeName"].is_string())
        .expect("somebody nominated")
        .clone();
    let mut add = |id: &str, change: &dyn Fn(&mut Value)| {
        let mut line = set.clone();
        line["auditID"] = id.into();
        line["requestObject"]["status"]["nominatedNodeName"] = "elsewhere".into();
        line["responseObject"]["status"]["nominatedNodeName"] = "elsewhere".into();
        change(&mut line);
        all.push(line);
    };
    add("received", &|line| line["stage"] = "RequestReceived".into());
    add("panic", &|line| line["stage"] = "Panic".into());
    add("dry", &|line| {
        line["requestURI"] = "/api/v1/namespaces/s3/pods/hi/status?dryRun=All".into();
    });
    add("exec", &|line| {
        line["objectRef"]["subresource"] = "exec".into();
    });
    let refused = [
        (403, "is forbidden"),
        (409, "has been modified"),
        (422, "is invalid"),
    ];
    for (code, words) in refused {
        add(&code.to_string(), &|line| {
            line["responseStatus"] = json!({"code": code, "status": "Failure", "message": format!("pods \"hi\" {words}")});
            line["responseObject"] =
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure"});
            line["impersonatedUser"] = json!({"username": "mallory"});
        });
    }
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("audit.log");
    write(&path, &all);
    let answer = explain(&pod, &[&path]);
    assert_eq!(kind(&answer), kind(&whole), "{answer:#}");
    assert_eq!(
        answer["nominations"][0]["node"],
        whole["nominations"][0]["node"]
    );
    for (_, words) in refused {
        assert!(
            has(&answer, "NominationRefused", words),
            "{words}: {answer:#}"
        );
    }
    let tries = answer["timeline"].as_array().expect("a list");
    let tries: Vec<&Value> = tries
        .iter()
        .filter(|moment| moment["what"] == "NominationRefused")
        .collect();
    assert_eq!(tries.len(), refused.len(), "{answer:#}");
    assert!(tries.iter().all(|moment| {
        moment["actor"]
            .as_str()
            .is_some_and(|actor| actor.starts_with("mallory (impersonated by "))
    }));
}

/// The recorded log of a Pod that was nominated and not bound, and then deleted in that way.
fn deleted(change: &dyn Fn(&mut Value, &Value)) -> Value {
    let moment = "1.37/1b-unschedulable-external/2-nominated";
    let mut all = lines(&log(moment));
    let last = all
        .iter()
        .rfind(|line| line["objectRef"]["name"] == "u1" && line["responseObject"]["kind"] == "Pod")
        .expect("its object was logged")["responseObject"]
        .clone();
    let mut line = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": "gone",
        "stage": "ResponseComplete", "requestURI": "/api/v1/namespaces/s1b/pods/u1", "verb": "delete",
        "user": {"username": "alice"}, "userAgent": "kubectl/v1.37.2",
        "objectRef": {"resource": "pods", "namespace": "s1b", "name": "u1", "apiVersion": "v1"},
        "responseStatus": {"code": 200}, "requestObject": {"kind": "DeleteOptions"}, "responseObject": last,
        "requestReceivedTimestamp": "2026-11-30T23:00:00.000000Z", "stageTimestamp": "2026-11-30T23:00:00.000000Z",
    });
    change(&mut line, &last);
    all.push(line);
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("audit.log");
    write(&path, &all);
    explain(&pod("u1", "s1b"), &[&path])
}

#[test]
fn the_story_of_a_pod_that_is_no_more_is_whole() {
    let answer = deleted(&|_, _| {});
    assert_eq!(
        (kind(&answer), certainty(&answer)),
        ("Deleted", "Proven"),
        "{answer:#}"
    );
    assert!(
        answer["verdict"]
            .to_string()
            .contains("user alice deleted it"),
        "{answer:#}"
    );
    assert_eq!(answer["nominations"][0]["ended"], "Deleted", "{answer:#}");
    assert_eq!(answer["nominations"][0]["endedBy"], "alice", "{answer:#}");
    let whats = whats(&answer);
    let place = |what: &str| whats.iter().position(|known| known == what);
    assert!(
        place("Created") < place("Nominated") && place("Nominated") < place("Deleted"),
        "{whats:?}"
    );
    // Many at once.
    let answer = deleted(&|line, last| {
        line["verb"] = "deletecollection".into();
        line["objectRef"] = json!({"resource": "pods", "namespace": "s1b", "apiVersion": "v1"});
        line["responseObject"] = json!({"kind": "PodList", "apiVersion": "v1", "items": [last]});
    });
    assert_eq!(
        (kind(&answer), certainty(&answer)),
        ("Deleted", "Proven"),
        "{answer:#}"
    );
    // Which they were, a poorer level does not tell; that there was something, it does.
    let answer = deleted(&|line, _| {
        line["verb"] = "deletecollection".into();
        line["objectRef"] = json!({"resource": "pods", "namespace": "s1b", "apiVersion": "v1"});
        line.as_object_mut()
            .expect("an event")
            .remove("responseObject");
    });
    assert_ne!(kind(&answer), "Deleted");
    assert!(
        answer["coverage"].to_string().contains("to which Pods"),
        "{answer:#}"
    );
    // Without the answer a dry run cannot be ruled out.
    let answer = deleted(&|line, _| {
        line.as_object_mut()
            .expect("an event")
            .remove("responseObject");
    });
    assert_eq!(
        (kind(&answer), certainty(&answer)),
        ("Deleted", "Inferred"),
        "{answer:#}"
    );
    let answer = deleted(&|line, _| line["requestObject"]["dryRun"] = json!(["All"]));
    assert_ne!(kind(&answer), "Deleted", "{answer:#}");
    // An eviction that a budget forbids is an attempt.
    let answer = deleted(&|line, _| {
        line["verb"] = "create".into();
        line["objectRef"]["subresource"] = "eviction".into();
        line["responseStatus"] = json!({"code": 429, "message": "Cannot evict pod as it would violate the pod's disruption budget."});
        line["responseObject"] = json!({"kind": "Status", "apiVersion": "v1"});
    });
    assert_ne!(kind(&answer), "Deleted");
    assert!(
        has(&answer, "DeletionRefused", "disruption budget"),
        "{answer:#}"
    );
}

#[test]
fn writes_to_an_earlier_pod_of_the_name_are_not_its_own() {
    let answer = explain(&pod("web", "s12"), &[&log("1.37/12-recreated/1-after")]);
    let whats = whats(&answer);
    assert_eq!(whats.iter().filter(|what| *what == "Created").count(), 1);
    assert!(
        !whats.contains(&"Deleted".to_owned()) && !whats.contains(&"Bound".to_owned()),
        "{whats:?}"
    );
    let created = answer["pod"]["created"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let early = |moment: &Value| {
        moment["at"]
            .as_str()
            .is_some_and(|at| at < created.as_str())
    };
    assert!(
        !answer["timeline"]
            .as_array()
            .expect("a list")
            .iter()
            .any(early),
        "{answer:#}"
    );
}

#[test]
fn logs_of_two_clusters_are_told_apart_by_uid() {
    let moment = "1.37/3-preemption/2-bound";
    let all = lines(&log(moment));
    let of_another: Vec<Value> = all
        .iter()
        .map(|line| {
            let text = line.to_string().replace(
                "3982b3b0-1ba7-4fa9-adbc-4beddb02646a",
                "00000000-0000-4000-8000-000000000001",
            );
            let mut line: Value = serde_json::from_str(&text).expect("it is JSON still");
            line["auditID"] = format!("other-{}", line["auditID"]).into();
            line
        })
        .collect();
    let folder = TempDir::new().expect("a folder");
    let (one, other) = (
        folder.path().join("one.log"),
        folder.path().join("other.log"),
    );
    write(&one, &all);
    write(&other, &of_another);
    let pod = pod("hi", "s3");
    let alone = explain(&pod, &[&one]);
    assert!(
        !alone["coverage"].to_string().contains("several clusters"),
        "{alone:#}"
    );
    let both = explain(&pod, &[&one, &other]);
    assert!(
        both["coverage"]
            .to_string()
            .contains("logs of several clusters"),
        "{both:#}"
    );
    assert_eq!(kind(&both), kind(&alone));
    assert_eq!(
        both["nominations"].as_array().map(Vec::len),
        alone["nominations"].as_array().map(Vec::len)
    );
}
