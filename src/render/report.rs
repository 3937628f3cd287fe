//! A report of checks as the formats for CI read it: from its data, beside what is said of each check.
//!
//! It must not judge: statuses, severities and counts are the report's own.

use std::io;

use serde::Deserialize;
use serde_json::Value;

/// What is said of a check that may be made, whether it was made or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) what: String,
    pub(crate) why: String,
    pub(crate) severity: Severity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Severity {
    Error,
    Warning,
    Info,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Status {
    Pass,
    Fail,
    Unknown,
    Skipped,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(super) intention: String,
    pub(super) result: String,
    pub(super) checks: Vec<Check>,
    pub(super) summary: Summary,
    #[serde(default)]
    pub(super) smallest_change: Vec<String>,
    #[serde(default)]
    pub(super) plan: Vec<String>,
    sources: Vec<Source>,
    coverage: Vec<Coverage>,
    /// Every check that may be made, made ones that nobody described included.
    #[serde(skip)]
    pub(super) described: Vec<Described>,
}

#[derive(Debug, Deserialize)]
struct Source {
    name: String,
    kind: String,
}

#[derive(Debug, Deserialize)]
struct Coverage {
    subject: String,
    detail: Option<String>,
    location: Option<Location>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) severity: Severity,
    pub(super) title: String,
    pub(super) findings: Vec<Finding>,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    pub(super) subject: String,
    pub(super) message: String,
    evidence: Vec<Evidence>,
    advice: Vec<String>,
    pub(super) location: Option<Location>,
    pub(super) related_locations: Vec<Location>,
    pub(super) suppressed: Option<Suppressed>,
}

#[derive(Debug, Clone, Deserialize)]
struct Evidence {
    text: String,
}

/// Where a file says it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Location {
    pub(super) path: String,
    pub(super) line: Option<u64>,
    pub(super) column: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Suppressed {
    pub(super) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Summary {
    pub(super) pass: usize,
    pub(super) error: usize,
    pub(super) warning: usize,
    pub(super) unknown: usize,
    pub(super) skipped: usize,
}

impl Report {
    pub(crate) fn new(report: &Value, mut described: Vec<Described>) -> io::Result<Self> {
        let mut report = Self::deserialize(report).map_err(io::Error::other)?;
        for check in &report.checks {
            if described.iter().all(|known| known.id != check.id) {
                described.push(Described {
                    id: check.id.clone(),
                    title: check.title.clone(),
                    what: check.title.clone(),
                    why: String::new(),
                    severity: check.severity,
                });
            }
        }
        report.described = described;
        Ok(report)
    }

    /// The first file that was judged: the place of a finding of which none is known. Of a folder the first that a finding names.
    /// Null where a cluster was.
    pub(super) fn file(&self) -> Option<&str> {
        let file = self.sources.iter().find(|source| source.kind == "file");
        let findings = self.checks.iter().flat_map(|check| &check.findings);
        let mut named = findings.filter_map(|finding| finding.location.as_ref());
        file.map(|source| source.name.as_str())
            .or_else(|| named.next().map(|location| location.path.as_str()))
    }

    /// Places of files from which on they could not be read, and why: checks are unknown for them.
    pub(super) fn unread(&self) -> impl Iterator<Item = Finding> {
        let placed = self.coverage.iter().filter(|it| it.location.is_some());
        placed.map(|it| Finding {
            subject: it.subject.clone(),
            location: it.location.clone(),
            ..Finding::of(it.detail.clone().unwrap_or_default())
        })
    }

    /// The verdict and its counts, in a line.
    pub(super) fn verdict(&self) -> String {
        let Summary {
            pass,
            error,
            warning,
            unknown,
            skipped,
        } = self.summary;
        format!(
            "{}: {}: {error} failed, {warning} with warnings, {unknown} not known, {skipped} skipped, {pass} passed",
            self.intention, self.result
        )
    }
}

impl Check {
    /// What was found: the check itself where it failed without a word more.
    pub(super) fn found(&self) -> Vec<Finding> {
        match (self.status, self.findings.is_empty()) {
            (Status::Fail, true) => vec![Finding::of(self.reason().to_owned())],
            (Status::Fail | Status::Skipped | Status::Unknown, _) => self.findings.clone(),
            // A pass has nothing to find, though its numbers are told as data.
            (Status::Pass, _) => Vec::new(),
        }
    }

    pub(super) fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or(&self.title)
    }
}

impl Finding {
    /// A message alone.
    pub(super) fn of(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    /// What it rests on and what can be done, a line each.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let evidence = self
            .evidence
            .iter()
            .map(|evidence| format!("Evidence: {}", evidence.text));
        let advice = self.advice.iter().map(|text| format!("What now: {text}"));
        evidence.chain(advice)
    }

    /// The subject and what is said of it.
    pub(super) fn sentence(&self) -> String {
        if self.subject.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.subject, self.message)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A report with each status, a finding that is suppressed, one with its line, and text that is hostile everywhere.
    pub(in super::super) fn report() -> Report {
        let hostile = "<b>]]>[a](1)&\"'|`*@a\u{1b}[31m\n::error::x\u{202e}%0A\u{fffe}";
        let finding = |subject: &str, location: Value, suppressed: Value| {
            let related: Vec<Value> = [location.clone()]
                .into_iter()
                .filter(|it| !it.is_null())
                .collect();
            json!({
                "subject": subject, "message": hostile, "location": location, "relatedLocations": related, "measurement": null, "suppressed": suppressed,
                "evidence": [{"source": "input", "at": null, "text": hostile}], "advice": [hostile],
            })
        };
        let suppressed = json!({"reason": hostile, "expires": "2026-12-24"});
        let check = |id: &str, status: &str, severity: &str, findings: Vec<Value>| {
            let reason = (status != "Pass" && status != "Fail").then_some(hostile);
            json!({"id": id, "status": status, "severity": severity, "title": hostile, "findings": findings, "reason": reason})
        };
        let line = json!({"path": "a b/kubelet.yaml", "line": 3, "column": 7});
        let value = json!({
            "intention": hostile, "result": "Fail",
            "sources": [{"name": "kubelet.yaml", "kind": "file"}],
            "checks": [
                check("a-fail", "Fail", "Error", vec![
                    finding("kubelet/n1", line, Value::Null),
                    finding(hostile, Value::Null, Value::Null),
                    finding("kubelet/n2", Value::Null, suppressed.clone()),
                ]),
                check("a-note", "Fail", "Info", vec![finding("Pod/a/b", Value::Null, Value::Null)]),
                check("a-pass", "Pass", "Error", vec![finding("kubelet/n1", Value::Null, Value::Null)]),
                check("a-silent-fail", "Fail", "Error", Vec::new()),
                check("a-skip", "Skipped", "Error", vec![finding("kubelet/n1", Value::Null, suppressed)]),
                check("a-warning", "Fail", "Warning", vec![finding("kubelet/n1", Value::Null, Value::Null)]),
                check("an-unknown", "Unknown", "Error", Vec::new()),
            ],
            "coverage": [
                {"source": "a b", "subject": "broken.yaml", "state": "Unreadable", "detail": hostile, "location": {"path": "a b/broken.yaml", "line": 5, "column": 2}},
                {"source": "a b", "subject": "nodes", "state": "Absent", "detail": hostile, "location": null},
            ],
            "summary": {"pass": 2, "error": 2, "warning": 1, "unknown": 1, "skipped": 1},
        });
        let described = vec![Described {
            id: "not-made".to_owned(),
            title: "nobody asked".to_owned(),
            what: "What it does.".to_owned(),
            why: "Why it matters.".to_owned(),
            severity: Severity::Warning,
        }];
        Report::new(&value, described).expect("it is a report")
    }

    pub(in super::super) fn drawn(
        draw: fn(&Report, &mut dyn io::Write) -> io::Result<()>,
    ) -> String {
        let mut out = Vec::new();
        draw(&report(), &mut out).expect("a Vec takes everything");
        String::from_utf8(out).expect("it is UTF-8")
    }

    #[test]
    fn checks_that_nobody_described_describe_themselves() {
        let report = report();
        let ids: Vec<&str> = report.described.iter().map(|it| it.id.as_str()).collect();
        assert_eq!((ids[0], ids.len()), ("not-made", 1 + report.checks.len()));
    }
}
