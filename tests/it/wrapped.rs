//! Audit logs as clouds hand them out tell what the API server's own log tells.
//!
//! The shapes are those of the providers' documentation (src/source/audit/wrapping/ names it); what they wrap was recorded.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::levels::{explain, lines};
use super::plugin::{nominate, root};

/// Moments with the Pod that they are about.
const MOMENTS: &[(&str, &str, &str)] = &[
    ("1.37/1a-gated-external/3-bound", "g1", "s1a"),
    ("1.37/2-patch-bound/1-after", "g1", "s1a"),
    ("1.37/3-preemption/1-waiting", "hi", "s3"),
    ("1.37/3-preemption/2-bound", "hi", "s3"),
    ("1.37/4d-external-change-wakes/1-after", "u", "s4d"),
    ("1.37/9-kubelet-rejection/1-outofcpu", "b2", "s9"),
];

type Wrap = fn(&[Value]) -> String;

/// A shape by name.
const SHAPES: &[(&str, Wrap)] = &[
    ("EventList of the webhook", |events| {
        pretty(
            &json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": events}),
        )
    }),
    ("aws logs filter-log-events", |events| {
        let events: Vec<Value> = events.iter().map(message).collect();
        pretty(&json!({"events": events, "searchedLogStreams": []}))
    }),
    ("CloudWatch subscription", |events| {
        each(events.chunks(3).map(|batch| {
            let events: Vec<Value> = batch.iter().map(message).collect();
            json!({"messageType": "DATA_MESSAGE", "owner": "000000000000", "logGroup": "/aws/eks/example/cluster",
                "logStream": "kube-apiserver-audit-0123", "subscriptionFilters": ["audit"], "logEvents": events})
        }))
    }),
    ("CloudWatch Logs Insights", |events| {
        each(events.iter().map(|event| {
            json!({"@timestamp": "2026-11-30 08:21:19.000", "@logStream": "kube-apiserver-audit-0123", "@message": event.to_string()})
        }))
    }),
    ("CloudWatch export to S3", |events| {
        let lines: Vec<String> = events
            .iter()
            .map(|event| format!("2026-11-30T08:21:19.000Z {event}"))
            .collect();
        lines.join(
            "
",
        )
    }),
    ("Azure event hub", |events| {
        let records: Vec<Value> = events.iter().map(record).collect();
        pretty(&json!({"records": records}))
    }),
    ("Azure storage account", |events| {
        each(events.iter().map(record))
    }),
    ("AzureDiagnostics", |events| {
        let rows = events
            .iter()
            .map(|event| json!({"Category": "kube-audit", "log_s": event.to_string()}));
        pretty(&rows.collect())
    }),
    ("gcloud logging read", |events| {
        pretty(&events.iter().map(log_entry).collect())
    }),
    ("Cloud Logging sink", |events| {
        each(events.iter().map(log_entry))
    }),
];

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON can be printed")
}

fn each(lines: impl Iterator<Item = Value>) -> String {
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    lines.join("\n")
}

fn message(event: &Value) -> Value {
    json!({"logStreamName": "kube-apiserver-audit-0123", "timestamp": 1_796_026_879_000_u64, "message": event.to_string(),
        "ingestionTime": 1_796_026_880_000_u64, "eventId": "0"})
}

fn record(event: &Value) -> Value {
    json!({"category": "kube-audit", "operationName": "Microsoft.ContainerService/managedClusters/diagnosticLogs/Read",
        "properties": {"log": event.to_string(), "stream": "stdout", "pod": "kube-apiserver-0"}, "time": "2026-11-30T08:21:19Z"})
}

fn log_entry(event: &Value) -> Value {
    let object = &event["objectRef"];
    let word = |key: &str| object[key].as_str().unwrap_or_default();
    let (namespace, name, subresource) = (word("namespace"), word("name"), word("subresource"));
    let verb = event["verb"].as_str().expect("an event has a verb");
    let (method, place) = if subresource.is_empty() {
        (format!("pods.{verb}"), format!("pods/{name}"))
    } else {
        (
            format!("pods.{subresource}.{verb}"),
            format!("pods/{name}/{subresource}"),
        )
    };
    let status = match event["responseStatus"]["code"].as_u64() {
        Some(200..300) => json!({}),
        Some(409) => json!({"code": 10, "message": event["responseStatus"]["message"]}),
        _ => json!({"code": 3, "message": event["responseStatus"]["message"]}),
    };
    json!({
        "insertId": event["auditID"],
        "logName": "projects/example/logs/cloudaudit.googleapis.com%2Factivity",
        "operation": {"first": true, "id": event["auditID"], "last": true, "producer": "k8s.io"},
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "authenticationInfo": {"principalEmail": event["user"]["username"]},
            "methodName": format!("io.k8s.core.v1.{method}"),
            "request": event["requestObject"],
            "requestMetadata": {"callerIp": "192.0.2.10", "callerSuppliedUserAgent": event["userAgent"]},
            "resourceName": format!("core/v1/namespaces/{namespace}/{place}"),
            "response": event["responseObject"],
            "serviceName": "k8s.io",
            "status": status,
        },
        "receiveTimestamp": event["stageTimestamp"],
        "resource": {"labels": {"cluster_name": "example"}, "type": "k8s_cluster"},
        "timestamp": event["stageTimestamp"],
    })
}

/// An answer without the names of files.
fn told(mut answer: Value) -> [Value; 4] {
    let mut part = |key: &str| answer[key].take();
    let mut told = [
        part("verdict"),
        part("nominations"),
        part("timeline"),
        part("binding"),
    ];
    for value in &mut told {
        strip(value);
    }
    told
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("source");
            object.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn each_wrapping_tells_what_the_plain_log_tells() {
    let folder = TempDir::new().expect("a folder");
    for (moment, name, namespace) in MOMENTS {
        let log = root().join(format!("tests/audited/{moment}.jsonl.gz"));
        let pod = [(*name).to_owned(), (*namespace).to_owned()];
        let plain = told(explain(&pod, &[&log]));
        let events = lines(&log);
        for (shape, wrap) in SHAPES {
            let path = folder.path().join("wrapped");
            fs::write(&path, wrap(&events)).expect("the folder can be written");
            assert_eq!(told(explain(&pod, &[&path])), plain, "{moment} as {shape}");
        }
    }
}

#[test]
fn what_is_wrapped_badly_is_told_with_its_place_and_the_rest_is_read() {
    let folder = TempDir::new().expect("a folder");
    let log = root().join("tests/audited/1.37/1a-gated-external/3-bound.jsonl.gz");
    let pod = ["g1".to_owned(), "s1a".to_owned()];
    let events = lines(&log);
    let bad: [(&[u8], &str); 6] = [
        (b"{\"kind\":\"Event\",\"objectRef\":{\"resource\":\"pods\",\"name\":\"g1\"", "line 2: "),
        (b"{\"stage\":7,\"objectRef\":\"pods g1\"}", "line 2: "),
        (b"{\"pods\":\"g1\"}", "line 2 is no audit event"),
        (b"\xff\xfe\x00 pods g1 \x1b[31m", "line 2: "),
        (b"{\"responseStatus\":{\"code\":99999999999999999999},\"objectRef\":{\"resource\":\"pods\",\"name\":\"g1\"}}", "line 2: "),
        (b"{\"message\":\"{\\\"stage\\\":\",\"pods\":\"g1\"}", "line 2: "),
    ];
    for (line, place) in bad {
        let mut bytes = format!("{}\n", events[0]).into_bytes();
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        for event in &events[1..] {
            bytes.extend_from_slice(format!("{event}\n").as_bytes());
        }
        let path = folder.path().join("audit.log");
        fs::write(&path, bytes).expect("the folder can be written");
        let answer = explain(&pod, &[&path]);
        assert_eq!(answer["verdict"]["kind"], "Honoured", "{answer:#}");
        let coverage = answer["coverage"].to_string();
        assert!(
            coverage.contains("1 of ") && coverage.contains(place),
            "{place}: {coverage}"
        );
    }
    // Deeper than any object, and longer than any line.
    let deep = format!(
        "{{\"stage\":\"ResponseComplete\",\"pods\":\"g1\",\"a\":{}",
        "[".repeat(100_000)
    );
    let endless = format!("{{\"pods\":\"g1\",\"a\":\"{}\"}}", "x".repeat(100 << 20));
    for (line, place) in [
        (deep, "line 2: "),
        (endless, "line 2 is longer than 64 MiB"),
    ] {
        let mut text = format!("{}\n{line}\n", events[0]);
        for event in &events[1..] {
            text.push_str(&event.to_string());
            text.push('\n');
        }
        let path = folder.path().join("audit.log");
        fs::write(&path, text).expect("the folder can be written");
        let answer = explain(&pod, &[&path]);
        assert_eq!(answer["verdict"]["kind"], "Honoured", "{place}");
        let coverage = answer["coverage"].to_string();
        assert!(coverage.contains(place), "{place}: {coverage}");
    }
    // A document that is cut off gives the entries before the cut.
    let whole = SHAPES[1].1(&events);
    let path = folder.path().join("audit.log");
    let cut = whole
        .get(..whole.len() - 300)
        .expect("it is longer, and ASCII");
    fs::write(&path, cut).expect("the folder can be written");
    let answer = explain(&pod, &[&path]);
    assert!(
        answer["coverage"].to_string().contains("after entry "),
        "{answer:#}"
    );
    assert_eq!(
        answer["nominations"].as_array().map(Vec::len),
        Some(1),
        "{answer:#}"
    );
    // Nothing at all is no log.
    fs::write(&path, "").expect("the folder can be written");
    let run = nominate(&["explain", "g1", "--from", path.to_str().expect("UTF-8")]);
    assert!(
        run.stderr.contains("it is empty") && run.stderr.contains("audit.log"),
        "{}",
        run.stderr
    );
}
