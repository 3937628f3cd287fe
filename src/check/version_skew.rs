//! Rule: versions after the move keep to upstream's version skew policy, and the move itself is one that is supported.
//!
//! Source: website `releases/version-skew-policy.md` (1.37): API servers go one minor at a time, also where there is only one; a
//! kubelet may jump within the policy. Going back to an older API server is supported nowhere.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::intention::{Intention, Target};
use crate::analysis::gates::version_skew;
use crate::answer::check_report::Finding;
use crate::answer::gate_skew::{Severity, VersionSkew};
use crate::answer::parts::some;
use crate::catalogue::Behaviour;
use crate::model::component::ComponentKind;
use crate::model::version::Minor;

pub(super) const RULE: Rule = Rule {
    id: "version-skew",
    title: "versions keep to the version skew policy after the move",
    severity: Severity::Error,
    docs: Docs {
        what: "Holds the versions that components behave as after the move against upstream's version skew policy, components that \
               do not move among them; API servers may go up one minor at a time, and never down. An emulated version is no other \
               binary.",
        why: "A component that is newer than its API server asks for what is not there, one that is too old reads objects that it \
              does not understand, and an older API server finds stored objects that it cannot read.",
        cannot_see: "Replicas that were not seen, vendors' own policies, and the moments between: whether a step of a rolling \
                     move breaks the policy depends on the order, which the plan tells.",
        example: "kubelet 1.33 is 4 minors older than an API server, 1.37; 3 are supported",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    if matches!(facts.intention, Intention::Set(_)) {
        return Ruling {
            skipped: Some("no version changes".to_owned()),
            ..Ruling::default()
        };
    }
    let is_so_before = skew(facts, |target| target.versions.0);
    let mut findings: Vec<Finding> = skew(facts, |target| target.versions.1)
        .into_iter()
        .map(|skew| {
            let evidence = is_so_before
                .contains(&skew)
                .then(|| "it is so already".to_owned());
            let advice = advice(&skew);
            finding(skew.subject, skew.detail, evidence, [advice])
        })
        .collect();
    findings.extend(moves(facts));
    Ruling {
        findings,
        unknown: unknown(facts),
        skipped: None,
    }
}

fn skew(facts: &Facts<'_>, of: impl Fn(&Target) -> Option<Behaviour>) -> Vec<VersionSkew> {
    let members = facts.targets.iter();
    let members = members.filter_map(|it| Some((&it.name, of(it)?.emulated)));
    version_skew::of(&members.collect::<Vec<_>>())
}

fn advice(skew: &VersionSkew) -> String {
    let is_of_node = skew.subject.starts_with("kube-proxy") || skew.subject.starts_with("kubelet");
    match skew.rule {
        "not-newer-than-kube-apiserver" => {
            "move the API servers first, or leave these out of the move"
        }
        "not-too-old-for-kube-apiserver" if is_of_node => {
            "move these first, as far as the API servers of today allow"
        }
        "not-too-old-for-kube-apiserver" => {
            "move these right after the API servers, one minor at a time"
        }
        "kube-apiserver-replicas" => "move all API servers to one minor before the next one",
        _ => "move the kube-proxy with the kubelet of its node",
    }
    .to_owned()
}

/// API servers that leave out a minor, or go back.
fn moves(facts: &Facts<'_>) -> Vec<Finding> {
    let mut moves: BTreeMap<(Minor, Minor), Vec<String>> = BTreeMap::new();
    for target in facts.meant() {
        if let (ComponentKind::KubeApiserver, (Some(old), Some(new))) =
            (target.name.kind, target.versions)
        {
            let names = moves.entry((old.binary, new.binary)).or_default();
            names.push(target.name.to_string());
        }
    }
    let found = moves.into_iter().filter_map(|((old, new), names)| {
        let evidence = [format!("kube-apiserver is {old}, and would be {new}")];
        if new < old {
            let message = format!(
                "kube-apiserver would go back from {old} to {new}, which is not supported: what is stored may be of {old} alone"
            );
            let advice = [
                "restore a backup of etcd that was taken before the move up, into API servers of the old version".to_owned(),
                format!("or keep the binaries, and have the control plane emulate {new}: --to-emulated-version {new}"),
            ];
            return Some(finding(some(&names), message, evidence, advice));
        }
        if new.0 - old.0 > 1 {
            let message = format!(
                "kube-apiserver would move {} minors at once; it must not leave one out",
                new.0 - old.0
            );
            let next = Minor(old.0 + 1);
            let advice = [format!("move to {next} first: --to-version {next}")];
            return Some(finding(some(&names), message, evidence, advice));
        }
        None
    });
    found.collect()
}

fn unknown(facts: &Facts<'_>) -> Option<String> {
    let is_server = |target: &&Target| target.name.kind == ComponentKind::KubeApiserver;
    let mut servers = facts.targets.iter().filter(is_server);
    if !servers.any(|target| target.versions.1.is_some()) {
        return Some("no API server's version was seen".to_owned());
    }
    let silent = facts.targets.iter();
    let silent = silent.filter(|it| it.versions.1.is_none());
    let silent: Vec<String> = silent.map(|it| it.name.to_string()).collect();
    if !silent.is_empty() {
        return Some(format!("{}: the version is not known", some(&silent)));
    }
    facts
        .meant()
        .next()
        .is_none()
        .then(|| start::NOBODY.to_owned())
}
