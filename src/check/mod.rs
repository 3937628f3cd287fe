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
pub(crate) mod reduced;
mod replicas;
mod runtime_config;
pub(crate) mod served_api;
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
use crate::model::coverage::{Coverage, Location, State};
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
    runtime_config::RULE,
    served_api::RULE,
    syntax::RULE,
    unknown_gate::RULE,
    version_skew::RULE,
    workloads::RULE,
];

/// Rules about a cluster as it is. Of configuration alone they say what they find; what they cannot find there is no gap of what
/// was read (docs/decisions/0007-configuration-alone.md).
const OF_CLUSTER: &[&str] = &[
    "freshness",
    "nominations",
    "oldest-scheduler",
    "version-skew",
    "workloads",
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

    /// The file that sets a component up which a finding is about, where its line is not known.
    fn file_of(&self, subject: &str) -> Option<Location> {
        let is_named = |target: &Target| {
            let name = target.name.to_string();
            subject.split(", ").any(|known| known == name)
        };
        // Of a cluster none has a file, and names of thousands need not be made.
        let file = self.targets.iter().find_map(|target| {
            let mut places = target.setting.places.iter();
            let file = places.find_map(|(_, places)| places.file.as_ref());
            file.filter(|_| is_named(target))
        })?;
        Some(Location {
            path: file.to_string(),
            line: None,
            column: None,
        })
    }

    /// Whether files tell what components are started with, and nothing of any cluster.
    pub(crate) fn is_configuration_alone(&self) -> bool {
        let world = self.world;
        let is_of_cluster = |kind: &str| matches!(kind, "live" | "bundle");
        let told = world.statements().flat_map(|(_, told)| told);
        let mut documents = told.map(|told| told.value.0);
        !world.sources().any(|source| is_of_cluster(&source.kind))
            && world.nodes().next().is_none()
            && world.pods().all(|pod| pod.value.node.is_none())
            && documents.all(|document| !document.is_running())
    }

    /// Files, or parts of them, that nobody could read: whatever they say, it may be what a rule looks for.
    fn unread(&self) -> Option<String> {
        let is_of = |line: &Coverage, kinds: &[&str]| {
            let mut sources = self.world.sources();
            sources.any(|it| it.name == line.source && kinds.contains(&it.kind.as_str()))
        };
        // What was read in part may lack what follows its fault. Which namespaces there are is no part of any text.
        let is_unread = |line: &Coverage| match line.state {
            State::Unreadable => !is_of(line, &["live"]),
            State::Partial => !is_of(line, &["live", "bundle"]) && line.subject != "namespaces",
            _ => false,
        };
        let lines = self.world.coverage().filter(|line| is_unread(line));
        let lines = lines.map(|line| match &line.detail {
            Some(detail) if detail.contains(&line.subject) => detail.clone(),
            Some(detail) => format!("{}: {detail}", line.subject),
            None => line.subject.clone(),
        });
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
            mut findings,
            unknown,
            skipped,
        } = (self.judge)(facts);
        for finding in &mut findings {
            let known = finding.location.take();
            finding.location = known.or_else(|| facts.file_of(&finding.subject));
        }
        let is_alone = || OF_CLUSTER.contains(&self.id) && facts.is_configuration_alone();
        let (unknown, skipped) = match unknown {
            // What was not read may be what is lacking.
            Some(why) if is_alone() => match facts.unread() {
                Some(unread) => (Some(unread), None),
                None => (
                    None,
                    Some(format!("configuration alone does not tell: {why}")),
                ),
            },
            unknown => (unknown, skipped),
        };
        let unknown = match (unknown, &skipped) {
            (None, None) => facts.unread(),
            (unknown, _) => unknown,
        };
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
                "reduced",
                "start",
                "suppression",
            ],
        );
        let ids: Vec<String> = RULES.iter().map(|rule| rule.id.replace('-', "_")).collect();
        assert_eq!(files, registry::names(ids.iter().map(String::as_str)));
        assert!(RULES.is_sorted_by_key(|rule| rule.id));
        let is_rule = |id: &&str| RULES.iter().any(|rule| rule.id == *id);
        assert!(OF_CLUSTER.iter().all(is_rule));
    }
}
