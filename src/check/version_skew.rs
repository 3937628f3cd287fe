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
            let advice = advice(facts, &skew);
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

fn advice(facts: &Facts<'_>, skew: &VersionSkew) -> String {
    let is_of_node = skew.subject.starts_with("kube-proxy") || skew.subject.starts_with("kubelet");
    let servers = |of: fn(&Target) -> Option<Behaviour>| {
        let servers = facts.targets.iter().filter(|it| is_server(it));
        servers.filter_map(move |it| Some(of(it)?.emulated))
    };
    let oldest_now = servers(|it| it.versions.0).min();
    let newest_then = servers(|it| it.versions.1).max();
    match (skew.rule, oldest_now.zip(newest_then)) {
        ("not-newer-than-kube-apiserver", _) => {
            "move the API servers first, or leave these out of the move".to_owned()
        }
        ("not-too-old-for-kube-apiserver", Some((now, then))) if is_of_node => {
            let least = Minor(then.0.saturating_sub(version_skew::KUBELET));
            if least > now {
                return format!(
                    "move these to {now}, then the API servers one minor at a time: at {then} they must be at least of {least}"
                );
            }
            let to = if least == now {
                format!("{least}")
            } else {
                format!("{least} to {now}")
            };
            format!("move these to {to} first; they may leave minors out on the way")
        }
        ("not-too-old-for-kube-apiserver", _) => {
            "move these right after the API servers, one minor at a time".to_owned()
        }
        ("kube-apiserver-replicas", _) => {
            "move all API servers to one minor before the next one".to_owned()
        }
        _ => "move the kube-proxy with the kubelet of its node".to_owned(),
    }
}

/// What has to move before, or after, for versions to keep to the policy; what can never be is not told.
pub(super) fn first(facts: &Facts<'_>) -> Vec<String> {
    if matches!(facts.intention, Intention::Set(_)) {
        return Vec::new();
    }
    let skew = skew(facts, |target| target.versions.1);
    let mut advised: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for skew in skew {
        let subjects = advised.entry(advice(facts, &skew)).or_default();
        subjects.push(skew.subject);
    }
    let skew = advised
        .into_iter()
        .map(|(advice, subjects)| format!("{advice}: {}", subjects.join(", ")));
    let steps = leaps(facts).into_iter().filter_map(|(old, new, _)| {
        (new > old).then(|| {
            let next = Minor(old.0 + 1);
            format!("move to {next} first: --to-version {next}")
        })
    });
    steps.chain(skew).collect()
}

fn is_server(target: &Target) -> bool {
    target.name.kind == ComponentKind::KubeApiserver
}

/// API servers that leave out a minor, or go back: from, to, and who.
fn leaps(facts: &Facts<'_>) -> Vec<(Minor, Minor, Vec<String>)> {
    let mut moves: BTreeMap<(Minor, Minor), Vec<String>> = BTreeMap::new();
    for target in facts.meant().filter(|target| is_server(target)) {
        if let (Some(old), Some(new)) = target.versions {
            let names = moves.entry((old.binary, new.binary)).or_default();
            names.push(target.name.to_string());
        }
    }
    let moves = moves
        .into_iter()
        .map(|((old, new), names)| (old, new, names));
    moves
        .filter(|(old, new, _)| new < old || new.0 > old.0 + 1)
        .collect()
}

fn moves(facts: &Facts<'_>) -> Vec<Finding> {
    let found = leaps(facts).into_iter().map(|(old, new, names)| {
        let evidence = [format!("kube-apiserver is {old}, and would be {new}")];
        if new < old {
            let message = format!(
                "kube-apiserver would go back from {old} to {new}, which is not supported: what is stored may be of {old} alone"
            );
            let advice = [
                "restore a backup of etcd that was taken before the move up, into API servers of the old version".to_owned(),
                format!("or keep the binaries, and have the control plane emulate {new}: --to-emulated-version {new}"),
            ];
            return finding(some(&names), message, evidence, advice);
        }
        let message = format!(
            "kube-apiserver would move {} minors at once; it must not leave one out",
            new.0 - old.0
        );
        let next = Minor(old.0 + 1);
        let advice = [format!("move to {next} first: --to-version {next}")];
        finding(some(&names), message, evidence, advice)
    });
    found.collect()
}

fn unknown(facts: &Facts<'_>) -> Option<String> {
    let mut servers = facts.targets.iter().filter(|target| is_server(target));
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
