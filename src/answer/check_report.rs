//! The answer of commands that check something: one verdict over named checks, each with what it found.
//!
//! Shapes as the contract has them. The result follows from the checks alone, so that no format and no exit code can disagree.

use jiff::civil::Date;
use serde::Serialize;

use super::Header;
use super::gate_skew::Severity;
use super::nomination_explanation::Evidence;
use super::parts::{column, heading, not_seen};
use crate::block::{Block, Finding as Drawn, Role, Text};
use crate::model::coverage::Location;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckReport {
    #[serde(flatten)]
    pub(crate) header: Header,
    /// What was to be checked, in a sentence.
    pub(crate) intention: String,
    pub(crate) result: Outcome,
    pub(crate) checks: Vec<Check>,
    /// What else has to change for components to start and versions to keep to the policy: settings as `NAME=value`, the rest in words.
    pub(crate) smallest_change: Vec<String>,
    pub(crate) plan: Vec<String>,
    pub(crate) summary: Summary,
}

/// The whole report in a word. The first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Outcome {
    /// A check of severity error failed.
    Fail,
    /// A check could not be made.
    Incomplete,
    /// A check of severity warning failed.
    Warn,
    Pass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Status {
    Pass,
    Fail,
    /// What it needs could not be observed.
    Unknown,
    /// It does not apply, or was not asked for.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Check {
    /// Kebab case, stable.
    pub(crate) id: &'static str,
    pub(crate) status: Status,
    /// Of a failure; of the others it says what one would be.
    pub(crate) severity: Severity,
    pub(crate) title: String,
    pub(crate) findings: Vec<Finding>,
    /// Why it is unknown or skipped; null otherwise.
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    pub(crate) subject: String,
    pub(crate) message: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) advice: Vec<String>,
    /// Where a file says it; null where none does.
    pub(crate) location: Option<Location>,
    /// The other places that it rests on.
    pub(crate) related_locations: Vec<Location>,
    pub(crate) measurement: Option<Measurement>,
    /// Somebody accepts it: it is told and does not count.
    pub(crate) suppressed: Option<Suppressed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Suppressed {
    pub(crate) reason: String,
    /// The last day on which it is accepted.
    pub(crate) expires: Date,
}

/// A number that was measured, in the unit that the metric's name ends with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Measurement {
    pub(crate) metric: &'static str,
    pub(crate) baseline: Option<f64>,
    pub(crate) value: f64,
    pub(crate) threshold: Option<f64>,
    /// How many it is a number of; null where it is one.
    pub(crate) sample: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) pass: usize,
    pub(crate) error: usize,
    pub(crate) warning: usize,
    pub(crate) unknown: usize,
    pub(crate) skipped: usize,
}

impl Check {
    /// What it counts as: that of a note that failed is no fault.
    fn outcome(&self) -> Outcome {
        match (self.status, self.severity) {
            (Status::Fail, Severity::Error) => Outcome::Fail,
            (Status::Fail, Severity::Warning) => Outcome::Warn,
            (Status::Unknown, _) => Outcome::Incomplete,
            _ => Outcome::Pass,
        }
    }
}

impl CheckReport {
    /// The report of checks: result and summary follow from them.
    pub(crate) fn new(header: Header, intention: String, checks: Vec<Check>) -> Self {
        let mut summary = Summary::default();
        for check in &checks {
            let count = match (check.status, check.outcome()) {
                (Status::Skipped, _) => &mut summary.skipped,
                (_, Outcome::Fail) => &mut summary.error,
                (_, Outcome::Incomplete) => &mut summary.unknown,
                (_, Outcome::Warn) => &mut summary.warning,
                (_, Outcome::Pass) => &mut summary.pass,
            };
            *count += 1;
        }
        let result = checks.iter().map(Check::outcome).min();
        Self {
            header,
            intention,
            result: result.unwrap_or(Outcome::Pass),
            checks,
            smallest_change: Vec::new(),
            plan: Vec::new(),
            summary,
        }
    }
}

fn result(outcome: Outcome) -> Text {
    let (role, word) = match outcome {
        Outcome::Fail => (Role::Bad, "fail"),
        Outcome::Incomplete => (Role::Warning, "incomplete: not all could be checked"),
        Outcome::Warn => (Role::Warning, "pass, with warnings"),
        Outcome::Pass => (Role::Good, "pass"),
    };
    Text::new(role, word)
}

fn status(check: &Check) -> Text {
    let role = match check.status {
        Status::Pass => Role::Good,
        Status::Fail => check.severity.role(),
        Status::Unknown => Role::Warning,
        Status::Skipped => Role::Dim,
    };
    let word = match (check.status, check.severity) {
        (Status::Fail, Severity::Warning) => "Warning".to_owned(),
        (status, _) => format!("{status:?}"),
    };
    Text::new(role, word)
}

fn drawn(check: &Check) -> impl Iterator<Item = Drawn> {
    check.findings.iter().map(|finding| {
        let evidence = finding.evidence.iter();
        let evidence = evidence.map(|evidence| ("Evidence", evidence.text.clone()));
        let advice = finding.advice.iter().map(|text| ("What now", text.clone()));
        let suppressed = finding.suppressed.iter();
        let suppressed =
            suppressed.map(|it| ("Suppressed", format!("until {}: {}", it.expires, it.reason)));
        Drawn {
            title: Text::new(
                status(check).role,
                format!("{}: {}", check.id, finding.subject),
            ),
            message: finding.message.clone(),
            extras: evidence.chain(advice).chain(suppressed).collect(),
        }
    })
}

/// The result, each check in a row, then what was found.
pub(crate) fn view(answer: &CheckReport) -> Vec<Block> {
    let mut blocks = vec![Block::KeyValues(vec![
        ("Checked", Text::plain(&answer.intention)),
        ("Result", result(answer.result)),
    ])];
    let rows = answer.checks.iter().map(|check| {
        vec![
            Text::name(check.id),
            status(check),
            Text::plain(check.reason.as_deref().unwrap_or(&check.title)),
        ]
    });
    blocks.push(heading("Checks"));
    blocks.push(Block::Rows {
        columns: ["CHECK", "STATUS", "WHAT"].map(column).into(),
        rows: rows.collect(),
    });
    // A pass has nothing to find, though its numbers are told as data.
    let findings: Vec<Drawn> = answer
        .checks
        .iter()
        .filter(|check| check.status != Status::Pass)
        .flat_map(drawn)
        .collect();
    if !findings.is_empty() {
        blocks.push(heading("Findings"));
        blocks.push(Block::Findings(findings));
    }
    if !answer.plan.is_empty() {
        blocks.push(heading("Plan"));
        blocks.push(Block::Notes(answer.plan.clone()));
    }
    if !answer.smallest_change.is_empty() {
        blocks.push(heading("Smallest change"));
        blocks.push(Block::Notes(answer.smallest_change.clone()));
    }
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fail_comes_before_incomplete_and_both_are_counted() {
        let check = |status, severity| Check {
            id: "x",
            status,
            severity,
            title: String::new(),
            findings: Vec::new(),
            reason: None,
        };
        let header = Header {
            api_version: super::super::API_VERSION,
            kind: "CheckReport",
            generated_at: jiff::Timestamp::UNIX_EPOCH,
            now: jiff::Timestamp::UNIX_EPOCH,
            sources: Vec::new(),
            coverage: Vec::new(),
        };
        let of = |checks| CheckReport::new(header.clone(), String::new(), checks);
        let unknown = || check(Status::Unknown, Severity::Error);
        let warning = || check(Status::Fail, Severity::Warning);
        let report = of(vec![
            unknown(),
            check(Status::Fail, Severity::Error),
            warning(),
        ]);
        assert_eq!(report.result, Outcome::Fail);
        let Summary {
            error,
            unknown: unseen,
            warning: warned,
            ..
        } = report.summary;
        assert_eq!((error, unseen, warned), (1, 1, 1));
        assert_eq!(of(vec![unknown(), warning()]).result, Outcome::Incomplete);
        assert_eq!(of(vec![warning()]).result, Outcome::Warn);
        let skipped = check(Status::Skipped, Severity::Error);
        assert_eq!(of(vec![skipped]).result, Outcome::Pass);
        assert_eq!(of(Vec::new()).result, Outcome::Pass);
    }
}
