//! The checks of `features preflight`: a rule a file, and one list of them.
//!
//! A rule's descriptor is the only source of what is said of it: help, `docs/checks.md`, the metadata of SARIF. A rule looks at
//! [`Facts`] and finds, or says why it cannot know; it must not read, ask or print.

mod behaviour_change;
mod broken_dependency;
mod compatibility_version;
mod consistency;
mod deprecated_setting;
pub(crate) mod describe;
mod freshness;
mod hazards;
mod kubeadm_gates;
mod locked_gate;
mod nominations;
mod oldest_scheduler;
mod order;
pub(crate) mod plan;
pub(crate) mod preflight;
mod replicas;
mod start;
pub(crate) mod suppression;
mod syntax;
mod unknown_gate;
mod version_skew;
mod workloads;

use jiff::Timestamp;

use crate::analysis::gates::intention::{Intention, Target};
use crate::analysis::gates::skew::Request;
use crate::answer::check_report::{Check, Finding, Status};
use crate::answer::gate_skew::Severity;
use crate::answer::nomination_explanation::Evidence;
use crate::answer::parts::some;
use crate::model::coverage::{Coverage, State};
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
    behaviour_change::RULE,
    broken_dependency::RULE,
    compatibility_version::RULE,
    consistency::RULE,
    deprecated_setting::RULE,
    freshness::RULE,
    hazards::RULE,
    kubeadm_gates::RULE,
    locked_gate::RULE,
    nominations::RULE,
    oldest_scheduler::RULE,
    order::RULE,
    replicas::RULE,
    syntax::RULE,
    unknown_gate::RULE,
    version_skew::RULE,
    workloads::RULE,
];

/// What rules look at.
pub(crate) struct Facts<'w> {
    pub(crate) world: &'w World,
    pub(crate) intention: &'w Intention,
    /// What the intention is about.
    pub(crate) request: &'w Request,
    /// Every component before and after.
    pub(crate) targets: Vec<Target>,
    pub(crate) now: Timestamp,
}

impl Facts<'_> {
    /// Components that the intention is about.
    pub(crate) fn meant(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter(|target| target.is_meant)
    }

    /// Files, or parts of them, that nobody could read: whatever they say, it may be what a rule looks for.
    fn unread(&self) -> Option<String> {
        let live = |line: &&Coverage| {
            let mut sources = self.world.sources();
            sources.any(|source| source.kind == "live" && source.name == line.source)
        };
        let lines = self.world.coverage();
        let lines = lines.filter(|line| line.state == State::Unreadable && !live(line));
        let lines = lines.map(|line| line.detail.as_ref().unwrap_or(&line.subject).clone());
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| some(&lines))
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
        let unknown = unknown.or_else(|| facts.unread().filter(|_| skipped.is_none()));
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
        let files = registry::files(
            "check",
            &[
                "describe",
                "mod",
                "plan",
                "preflight",
                "start",
                "suppression",
            ],
        );
        let ids: Vec<String> = RULES.iter().map(|rule| rule.id.replace('-', "_")).collect();
        assert_eq!(files, registry::names(ids.iter().map(String::as_str)));
        assert!(RULES.is_sorted_by_key(|rule| rule.id));
    }
}
