//! The checks of `features preflight`: a rule a file, and one list of them.
//!
//! A rule's descriptor is the only source of what is said of it: help, `docs/checks.md`, the metadata of SARIF. A rule looks at
//! [`Facts`] and finds, or says why it cannot know; it must not read, ask or print.

mod broken_dependency;
pub(crate) mod describe;
mod locked_gate;
pub(crate) mod preflight;
mod start;
mod syntax;
mod unknown_gate;

use jiff::Timestamp;

use crate::analysis::gates::intention::{Intention, Target};
use crate::answer::check_report::{Check, Finding, Status};
use crate::answer::gate_skew::Severity;
use crate::answer::nomination_explanation::Evidence;
use crate::model::world::World;

/// What is said of a rule, in four short texts.
pub(crate) struct Docs {
    pub(crate) what: &'static str,
    pub(crate) why: &'static str,
    pub(crate) cannot_see: &'static str,
    /// A finding's message, as it may look.
    pub(crate) example: &'static str,
}

pub(crate) struct Rule {
    /// Kebab case, the name of its file; stable for ever.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) severity: Severity,
    pub(crate) docs: Docs,
    judge: fn(&Facts<'_>) -> Ruling,
}

/// Every rule, by its id.
pub(crate) const RULES: &[Rule] = &[
    broken_dependency::RULE,
    locked_gate::RULE,
    syntax::RULE,
    unknown_gate::RULE,
];

/// What rules look at.
pub(crate) struct Facts<'w> {
    #[expect(dead_code, reason = "rules about objects look at it")]
    pub(crate) world: &'w World,
    pub(crate) intention: &'w Intention,
    /// Every component before and after.
    pub(crate) targets: Vec<Target>,
    #[expect(dead_code, reason = "rules about age look at it")]
    pub(crate) now: Timestamp,
}

impl Facts<'_> {
    /// Components that the intention is about.
    pub(crate) fn meant(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| target.is_meant)
    }
}

/// What a rule says.
#[derive(Debug, Default)]
pub(crate) struct Ruling {
    pub(crate) findings: Vec<Finding>,
    /// What it could not know, and why; null where it knows all.
    pub(crate) unknown: Option<String>,
    /// Why it does not apply; null where it does.
    pub(crate) skipped: Option<String>,
}

impl Rule {
    /// The check of these facts. What was found counts before what is not known.
    pub(crate) fn check(&self, facts: &Facts<'_>) -> Check {
        let Ruling {
            findings,
            unknown,
            skipped,
        } = (self.judge)(facts);
        let status = match (findings.is_empty(), &unknown, &skipped) {
            (false, ..) => Status::Fail,
            (true, Some(_), _) => Status::Unknown,
            (true, None, Some(_)) => Status::Skipped,
            (true, None, None) => Status::Pass,
        };
        Check {
            id: self.id,
            status,
            severity: self.severity,
            title: self.title.to_owned(),
            findings,
            reason: unknown.or(skipped),
        }
    }
}

/// A finding, with what it rests on and what can be done.
pub(crate) fn finding(
    subject: impl Into<String>,
    message: impl Into<String>,
    evidence: impl IntoIterator<Item = String>,
    advice: impl IntoIterator<Item = String>,
) -> Finding {
    let evidence = evidence.into_iter().map(|text| Evidence {
        source: "input".to_owned(),
        at: None,
        text,
    });
    Finding {
        subject: subject.into(),
        message: message.into(),
        evidence: evidence.collect(),
        advice: advice.into_iter().collect(),
        ..Finding::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("check", &["describe", "mod", "preflight", "start"]);
        let ids: Vec<String> = RULES.iter().map(|rule| rule.id.replace('-', "_")).collect();
        assert_eq!(files, registry::names(ids.iter().map(String::as_str)));
        assert!(RULES.is_sorted_by_key(|rule| rule.id));
    }
}
