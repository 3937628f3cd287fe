//! Findings that somebody accepts until a day: the file that lists them, and what it does to checks.
//!
//! An entry has a reason and an end, so that nothing is silent for ever: one that has expired is a finding itself, and one that is of no
//! use is told. It must not read files, and must not take a finding away: a suppressed one stays in the report and does not count.

use jiff::civil::Date;
use serde::Deserialize;

use crate::answer::check_report::{Check, Finding, Status, Suppressed};
use crate::answer::gate_skew::Severity;

use super::{RULES, finding};
use crate::analysis::conformance::TRIALS;
use crate::analysis::guard::CONDITIONS;
use crate::analysis::probe;
use crate::model::listing;

/// The checks of every command, so that one file is enough for all of them.
fn checks() -> impl Iterator<Item = &'static str> {
    let rules = RULES.iter().map(|it| it.id);
    let conditions = CONDITIONS.iter().map(|it| it.id);
    let trials = TRIALS.iter().map(|it| it.id);
    let of_probe = probe::CHECKS.iter().copied();
    rules.chain(conditions).chain(trials).chain(of_probe)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    suppressions: Vec<Suppression>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suppression {
    check: String,
    /// A subject, with `*` for any text.
    subject: String,
    reason: String,
    /// The last day on which it counts, by UTC.
    expires: Date,
}

impl Suppression {
    /// Whether it is for one of these checks.
    pub(crate) fn is_of(&self, ids: &[&str]) -> bool {
        ids.contains(&self.check.as_str())
    }
}

/// The entries of a file, or what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Vec<Suppression>, String> {
    let file: File = listing::read(text)?;
    for entry in &file.suppressions {
        if checks().all(|id| id != entry.check) {
            return Err(format!("there is no check {:?}", entry.check));
        }
        if entry.subject.trim().is_empty() || entry.reason.trim().is_empty() {
            return Err(format!(
                "an entry for {} has no subject or no reason",
                entry.check
            ));
        }
    }
    Ok(file.suppressions)
}

/// Marks what is suppressed, and adds a check of what has expired and one of what is of no use.
pub(crate) fn apply(checks: &mut Vec<Check>, entries: &[Suppression], today: Date) {
    let (live, expired): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| entry.expires >= today);
    let mut used = vec![false; live.len()];
    for check in checks
        .iter_mut()
        .filter(|check| check.status == Status::Fail)
    {
        for finding in &mut check.findings {
            let matching = live.iter().zip(&mut used).find(|(entry, _)| {
                entry.check == check.id && matches_all(&entry.subject, &finding.subject)
            });
            if let Some((entry, used)) = matching {
                *used = true;
                finding.suppressed = Some(Suppressed {
                    reason: entry.reason.clone(),
                    expires: entry.expires,
                });
            }
        }
        settle(check);
    }
    // Where a check was not made, or could not be, nobody knows whether its entries are of use.
    let is_made = |id: &str| {
        let mut made = checks.iter().filter(|check| check.id == id).peekable();
        made.peek().is_some() && made.all(|check| check.status != Status::Unknown)
    };
    let unused: Vec<&Suppression> = live
        .into_iter()
        .zip(used)
        .filter(|(entry, used)| !used && is_made(&entry.check))
        .map(|(entry, _)| entry)
        .collect();
    checks.push(of_entries(
        "expired-suppression",
        Severity::Error,
        "no suppression has expired",
        &expired,
        |entry| format!("expired after {}: {}", entry.expires, entry.reason),
    ));
    checks.push(of_entries(
        "unused-suppression",
        Severity::Info,
        "every suppression is of use",
        &unused,
        |entry| format!("nothing was found that it is for: {}", entry.reason),
    ));
}

/// A check of which nothing is left that counts.
fn settle(check: &mut Check) {
    let count = check.findings.len();
    let is_quiet = count > 0
        && check
            .findings
            .iter()
            .all(|finding| finding.suppressed.is_some());
    if !is_quiet {
        return;
    }
    // A rule that found something may also have said what it could not know.
    check.status = if check.reason.is_some() {
        Status::Unknown
    } else {
        check.reason = Some(format!("suppressed: {count} of {count} findings"));
        Status::Skipped
    };
}

fn of_entries(
    id: &'static str,
    severity: Severity,
    title: &str,
    entries: &[&Suppression],
    message: impl Fn(&Suppression) -> String,
) -> Check {
    let findings: Vec<Finding> = entries
        .iter()
        .map(|entry| {
            finding(
                format!("{} {}", entry.check, entry.subject),
                message(entry),
                None,
                Some("take it out of the file, or give it a new end".to_owned()),
            )
        })
        .collect();
    Check {
        id,
        status: if findings.is_empty() {
            Status::Pass
        } else {
            Status::Fail
        },
        severity,
        title: title.to_owned(),
        findings,
        reason: None,
    }
}

/// Whether a pattern is for everything that a subject names. "A, B and 3 more" names three that are not told: only a pattern for any name is for them.
fn matches_all(pattern: &str, subject: &str) -> bool {
    let (told, more) = match subject.rsplit_once(" and ") {
        Some((told, more)) if more.ends_with(" more") => (told, true),
        _ => (subject, false),
    };
    let untold = told
        .split_once('/')
        .filter(|_| more)
        .map(|(kind, _)| format!("{kind}/\0"));
    told.split(", ")
        .chain(untold.as_deref())
        .all(|name| matches(pattern.as_bytes(), name.as_bytes()))
}

/// A `*` stands for any text, also none. Linear but for the last star, whatever the pattern is.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, seen));
            at += 1;
        } else if pattern.get(at) == text.get(seen) {
            at += 1;
            seen += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            at = after + 1;
            seen = from + 1;
        } else {
            return false;
        }
    }
    pattern.iter().skip(at).all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const FILE: &str = "\
suppressions:
- check: locked-gate
  subject: kubelet/n*
  reason: the pool goes next week
  expires: 2026-12-24
";

    fn check(id: &'static str, subjects: &[&str], reason: Option<&str>) -> Check {
        let findings = subjects.iter();
        Check {
            id,
            status: Status::Fail,
            severity: Severity::Error,
            title: String::new(),
            findings: findings
                .map(|subject| finding(*subject, "it is so", None, None))
                .collect(),
            reason: reason.map(str::to_owned),
        }
    }

    fn applied(checks: Vec<Check>, today: Date) -> Vec<(&'static str, Status)> {
        let mut checks = checks;
        apply(&mut checks, &parse(FILE).expect("it is one"), today);
        checks
            .iter()
            .map(|check| (check.id, check.status))
            .collect()
    }

    #[test]
    fn all_that_is_found_has_to_be_suppressed() {
        let day = date(2026, 12, 24);
        let quiet = applied(
            vec![check("locked-gate", &["kubelet/n1", "kubelet/n2"], None)],
            day,
        );
        assert_eq!(
            quiet,
            [
                ("locked-gate", Status::Skipped),
                ("expired-suppression", Status::Pass),
                ("unused-suppression", Status::Pass)
            ]
        );
        let loud = applied(
            vec![check("locked-gate", &["kubelet/n1", "kubelet/m"], None)],
            day,
        );
        assert_eq!(loud[0].1, Status::Fail);
        let unseen = applied(
            vec![check(
                "locked-gate",
                &["kubelet/n1"],
                Some("n3 is not seen"),
            )],
            day,
        );
        assert_eq!(unseen[0].1, Status::Unknown);
    }

    #[test]
    fn after_its_day_it_counts_for_nothing_and_fails() {
        let late = applied(
            vec![check("locked-gate", &["kubelet/n1"], None)],
            date(2026, 12, 25),
        );
        assert_eq!(
            late,
            [
                ("locked-gate", Status::Fail),
                ("expired-suppression", Status::Fail),
                ("unused-suppression", Status::Pass)
            ]
        );
    }

    #[test]
    fn one_of_no_use_is_told_where_its_check_was_made() {
        let day = date(2026, 12, 1);
        let other = applied(vec![check("locked-gate", &["kube-apiserver/a"], None)], day);
        assert_eq!(other[2], ("unused-suppression", Status::Fail));
        let not_made = applied(vec![check("syntax", &["kubelet/n1"], None)], day);
        assert_eq!(not_made[2], ("unused-suppression", Status::Pass));
    }

    #[test]
    fn a_pattern_is_for_every_name_of_a_subject() {
        for (pattern, subject, is_for) in [
            ("kubelet/n1", "kubelet/n1", true),
            ("kubelet/n1", "kubelet/n11", false),
            ("kubelet/n1*", "kubelet/n1, kubelet/n2", false),
            ("kubelet/*", "kubelet/n1, kubelet/n2", true),
            ("kubelet/n*", "kubelet/n1, kubelet/n2 and 3 more", false),
            ("kubelet/*", "kubelet/n1, kubelet/n2 and 3 more", true),
            ("*", "anything at all", true),
            ("*a*b", "xxaxxbxb", true),
            ("*a*b", "xxaxxbxc", false),
        ] {
            assert_eq!(matches_all(pattern, subject), is_for, "{pattern} {subject}");
        }
    }

    #[test]
    fn a_bad_file_says_what_is_bad() {
        for (change, into, due) in [
            (
                "locked-gate",
                "looked-gate",
                "there is no check \"looked-gate\"",
            ),
            ("the pool goes next week", "''", "no subject or no reason"),
            ("2026-12-24", "soon", "line 5 column 12"),
            ("  expires: 2026-12-24\n", "", "expires"),
            ("  reason", "  until: x\n  reason", "until"),
        ] {
            let error = parse(&FILE.replace(change, into)).expect_err(into);
            assert!(error.contains(due), "{error:?}");
        }
    }
}
