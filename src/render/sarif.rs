//! A report of checks as SARIF 2.1.0 (OASIS), as GitHub's code scanning takes it.
//!
//! A rule a check that may be made, a result a finding, a notification a check that could not be made, and one for each file that could
//! not be read (3.58: conditions that affect the completeness of results), with its place. A result names its object as a logical
//! location, and further places as related ones, which its message links to (3.11.6), since GitHub shows none that it does not; a physical one has a line only where the finding has one. GitHub refuses results that name no file, so the
//! first file that was judged stands for findings whose line is not known; without files there is none.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::json;
use super::report::{Check, Finding, Location, Report, Severity, Status};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub(crate) fn render(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let rules = report.described.iter().map(|rule| {
        json!({
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.what},
            "help": {"text": format!("{} {}", rule.what, rule.why).trim_end()},
            "defaultConfiguration": {"level": level(rule.severity)},
        })
    });
    let index = |check: &Check| {
        let at = report.described.iter().position(|rule| rule.id == check.id);
        at.unwrap_or_default()
    };
    let results = report.checks.iter().flat_map(|check| {
        let found = check.found().into_iter();
        let found =
            found.filter(|finding| check.status == Status::Fail || finding.suppressed.is_some());
        found.map(move |finding| result(report, check, &finding, index(check)))
    });
    let unknown = report
        .checks
        .iter()
        .filter(|check| check.status == Status::Unknown)
        .map(|check| {
            json!({
                "level": "warning",
                "message": {"text": format!("could not be checked: {}", check.reason())},
                "associatedRule": {"id": check.id, "index": index(check)},
            })
        });
    let unread = report.unread().map(|it| {
        let place: Vec<Value> = it.location.iter().map(physical).collect();
        let place = place.iter().map(|it| json!({"physicalLocation": it}));
        json!({
            "level": "warning",
            "message": {"text": format!("not read: {}", it.sentence())},
            "locations": place.collect::<Vec<_>>(),
        })
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "kube-placement",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": unread.chain(unknown).collect::<Vec<_>>(),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    json::render(&log, out)
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(report: &Report, check: &Check, finding: &Finding, index: usize) -> Value {
    let lines = std::iter::once(finding.sentence()).chain(finding.lines());
    let lines = lines.map(unlinked).chain(links(finding));
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| drop(result.insert(key.to_owned(), value));
    put("ruleId", json!(check.id));
    put("ruleIndex", json!(index));
    put("level", json!(level(check.severity)));
    put(
        "message",
        json!({"text": lines.collect::<Vec<_>>().join("\n")}),
    );
    let location = location(report, finding);
    if !location.is_empty() {
        put("locations", json!([location]));
    }
    if !finding.related_locations.is_empty() {
        let places = finding.related_locations.iter().enumerate();
        let places = places.map(|(id, it)| json!({"id": id, "physicalLocation": physical(it)}));
        put("relatedLocations", json!(places.collect::<Vec<_>>()));
    }
    // The same finding of the next run is the same alert.
    put(
        "partialFingerprints",
        json!({"finding/v1": format!("{} {}", check.id, finding.sentence())}),
    );
    let suppressed = finding.suppressed.as_ref();
    put(
        "suppressions",
        suppressed.map_or_else(
            || json!([]),
            |it| json!([{"kind": "external", "status": "accepted", "justification": it.reason}]),
        ),
    );
    Value::Object(result)
}

/// A line of links to the other places, each by its id.
fn links(finding: &Finding) -> Option<String> {
    let places = finding.related_locations.iter().enumerate();
    let links = places.map(|(id, place)| {
        let line = place.line.map_or_else(String::new, |it| format!(":{it}"));
        format!("[{}{line}]({id})", bracketed(&place.path))
    });
    let links: Vec<String> = links.collect();
    (!links.is_empty()).then(|| format!("See also: {}", links.join(", ")))
}

/// Text of others that would be read as a link is none.
fn unlinked(line: String) -> String {
    if line.contains("](") {
        bracketed(&line)
    } else {
        line
    }
}

/// Brackets as text (3.11.6): with a backslash, which then needs one itself.
fn bracketed(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('[', "\\[");
    escaped.replace(']', "\\]")
}

fn location(report: &Report, finding: &Finding) -> Map<String, Value> {
    let mut location = Map::new();
    let physical = match (&finding.location, report.file()) {
        (Some(known), _) => Some(physical(known)),
        (None, Some(path)) => Some(json!({"artifactLocation": artifact(path)})),
        (None, None) => None,
    };
    if let Some(physical) = physical {
        location.insert("physicalLocation".to_owned(), physical);
    }
    if !finding.subject.is_empty() {
        location.insert(
            "logicalLocations".to_owned(),
            json!([logical(&finding.subject)]),
        );
    }
    location
}

fn physical(known: &Location) -> Value {
    let mut physical = json!({"artifactLocation": artifact(&known.path)});
    if let Some(line) = known.line {
        let mut region = json!({"startLine": line});
        if let Some(column) = known.column {
            region["startColumn"] = json!(column);
        }
        physical["region"] = region;
    }
    physical
}

/// KIND/NAME and KIND/NAMESPACE/NAME are told in parts; several subjects in one are a name.
fn logical(subject: &str) -> Value {
    let parts: Vec<&str> = subject.split('/').collect();
    match parts.as_slice() {
        [kind, .., name] if parts.len() <= 3 && !subject.contains([' ', ',']) => {
            json!({"kind": kind, "name": name, "fullyQualifiedName": subject})
        }
        _ => json!({"name": subject, "fullyQualifiedName": subject}),
    }
}

/// A file by its path: below the folder that the program ran in, which is the root of the repository in CI, or wherever it is.
fn artifact(path: &str) -> Value {
    let is_outside = path.split('/').any(|part| part == "..");
    if path.starts_with('/') {
        return json!({"uri": format!("file://{}", uri(path))});
    }
    if is_outside {
        return json!({"uri": uri(path)});
    }
    json!({"uri": uri(path), "uriBaseId": "%SRCROOT%"})
}

/// A path as a reference by RFC 3986: what is neither unreserved nor a slash is a percent and two digits.
fn uri(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            // Writing to a String can't fail.
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::drawn;
    use super::*;

    fn log() -> Value {
        serde_json::from_str(&drawn(render)).expect("it is JSON")
    }

    #[test]
    fn rules_tell_also_of_what_was_not_made() {
        let log = log();
        let rules = &log["runs"][0]["tool"]["driver"]["rules"];
        assert_eq!(rules.as_array().map(Vec::len), Some(8));
        assert_eq!(rules[0]["id"], "not-made");
        assert_eq!(rules[0]["help"]["text"], "What it does. Why it matters.");
    }

    #[test]
    fn a_result_a_finding_and_a_notification_for_what_is_not_known() {
        let log = log();
        let run = &log["runs"][0];
        let results = run["results"].as_array().expect("a list");
        let of = |level: &str, is_suppressed: bool| {
            let it = |result: &&Value| {
                result["level"] == level && (result["suppressions"] != json!([])) == is_suppressed
            };
            results.iter().filter(it).count()
        };
        assert_eq!(
            (
                of("error", false),
                of("error", true),
                of("warning", false),
                of("note", false)
            ),
            (3, 2, 1, 1)
        );
        let unknown = &run["invocations"][0]["toolExecutionNotifications"];
        assert_eq!(unknown.as_array().map(Vec::len), Some(2));
        assert_eq!(
            unknown[0]["locations"],
            json!([{"physicalLocation": {
                "artifactLocation": {"uri": "a%20b/broken.yaml", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 5, "startColumn": 2},
            }}])
        );
        assert_eq!(unknown[1]["associatedRule"]["id"], "an-unknown");
        for result in results {
            let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"]
                .as_u64()
                .map_or(0, |at| usize::try_from(at).unwrap_or(0))];
            assert_eq!(rule["id"], result["ruleId"]);
        }
    }

    #[test]
    fn a_line_is_told_only_where_it_is_known() {
        let log = log();
        let at = |nth: usize| &log["runs"][0]["results"][nth]["locations"][0];
        assert_eq!(
            at(0),
            &json!({
                "physicalLocation": {
                    "artifactLocation": {"uri": "a%20b/kubelet.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 3, "startColumn": 7},
                },
                "logicalLocations": [{"kind": "kubelet", "name": "n1", "fullyQualifiedName": "kubelet/n1"}],
            })
        );
        assert_eq!(
            at(1)["physicalLocation"],
            json!({"artifactLocation": {"uri": "kubelet.yaml", "uriBaseId": "%SRCROOT%"}})
        );
    }

    #[test]
    fn other_places_are_linked_and_no_text_of_others_is_a_link() {
        let log = log();
        let result = &log["runs"][0]["results"][0];
        let related = &result["relatedLocations"];
        assert_eq!(
            (&related[0]["id"], related.as_array().map(Vec::len)),
            (&json!(0), Some(1))
        );
        let line = &related[0]["physicalLocation"]["region"]["startLine"];
        assert_eq!(line, &json!(3));
        let text = result["message"]["text"].as_str().expect("a text");
        assert!(
            text.ends_with("\nSee also: [a b/kubelet.yaml:3](0)"),
            "{text}"
        );
        assert!(text.contains(r"\[a\](1)"), "{text}");
        assert_eq!(unlinked("a list [A]".to_owned()), "a list [A]");
    }

    #[test]
    fn a_file_elsewhere_is_not_said_to_be_in_the_repository() {
        assert_eq!(
            artifact("/etc/a b.yaml"),
            json!({"uri": "file:///etc/a%20b.yaml"})
        );
        assert_eq!(artifact("../a.yaml"), json!({"uri": "../a.yaml"}));
        assert_eq!(artifact("./a..b/ü.yaml")["uri"], "a..b/%C3%BC.yaml");
    }
}
