//! The version skew policy of upstream (website `releases/version-skew-policy.md`, and KEP-4330 for emulated versions).
//!
//! What an API server emulates is its newest version for the others, its minimum compatibility version less two its oldest. A
//! version that is not known breaks no rule and keeps none.

use std::collections::BTreeMap;

use crate::answer::gate_skew::{Severity, VersionSkew};
use crate::answer::parts::some;
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::version::Minor;

/// Minors that a kubelet may be behind: one older than 1.25 may be two.
pub(crate) const KUBELET: u32 = 3;

/// A component, and the minor that it behaves as.
pub(crate) type Member<'n> = (&'n ComponentName, Minor);

pub(crate) fn of(members: &[Member<'_>]) -> Vec<VersionSkew> {
    let mut found = Vec::new();
    let servers: Vec<Member<'_>> = of_kind(members, ComponentKind::KubeApiserver).collect();
    let (Some(newest), Some(oldest)) = (
        servers.iter().map(|(_, minor)| *minor).max(),
        servers.iter().map(|(_, minor)| *minor).min(),
    ) else {
        return found;
    };
    if newest.0 - oldest.0 > 1 {
        found.push(VersionSkew {
            severity: Severity::Error,
            rule: "kube-apiserver-replicas",
            subject: "kube-apiserver".to_owned(),
            detail: format!("replicas are of {oldest} to {newest}; they may be one minor apart"),
        });
    }
    for (kind, behind) in [
        (ComponentKind::KubeControllerManager, 1),
        (ComponentKind::KubeProxy, KUBELET),
        (ComponentKind::KubeScheduler, 1),
        (ComponentKind::Kubelet, KUBELET),
    ] {
        found.extend(of_component(members, kind, behind, oldest, newest));
    }
    found.extend(proxies(members));
    found.sort();
    found
}

fn of_kind<'m, 'n>(
    members: &'m [Member<'n>],
    kind: ComponentKind,
) -> impl Iterator<Item = Member<'n>> + use<'m, 'n> {
    members
        .iter()
        .copied()
        .filter(move |(name, _)| name.kind == kind)
}

/// A component may not be newer than the oldest API server, nor older than `behind` minors before the newest.
fn of_component(
    members: &[Member<'_>],
    kind: ComponentKind,
    behind: u32,
    oldest: Minor,
    newest: Minor,
) -> Vec<VersionSkew> {
    let mut newer: BTreeMap<Minor, Vec<String>> = BTreeMap::new();
    let mut older: BTreeMap<Minor, Vec<String>> = BTreeMap::new();
    for (name, minor) in of_kind(members, kind) {
        let behind = if kind == ComponentKind::Kubelet && minor < Minor(25) {
            2
        } else {
            behind
        };
        if minor > oldest {
            newer.entry(minor).or_default().push(name.to_string());
        }
        if minor.0 + behind < newest.0 {
            older.entry(minor).or_default().push(name.to_string());
        }
    }
    let word = kind.word();
    let newer = newer.into_iter().map(|(minor, names)| VersionSkew {
        severity: Severity::Error,
        rule: "not-newer-than-kube-apiserver",
        subject: some(&names),
        detail: format!(
            "{word} {minor} is newer than an API server, {oldest}; move the API servers first"
        ),
    });
    let older = older.into_iter().map(|(minor, names)| VersionSkew {
        severity: Severity::Error,
        rule: "not-too-old-for-kube-apiserver",
        subject: some(&names),
        detail: format!(
            "{word} {minor} is {} minors older than an API server, {newest}; {behind} are supported",
            newest.0 - minor.0
        ),
    });
    newer.chain(older).collect()
}

/// A kube-proxy may be three minors older or newer than the kubelet of its node.
fn proxies(members: &[Member<'_>]) -> Vec<VersionSkew> {
    let kubelets: BTreeMap<&str, Minor> = of_kind(members, ComponentKind::Kubelet)
        .map(|(name, minor)| (name.identity.as_str(), minor))
        .collect();
    of_kind(members, ComponentKind::KubeProxy)
        .filter_map(|(name, minor)| {
            let kubelet = kubelets.get(name.identity.as_str())?;
            (minor.0.abs_diff(kubelet.0) > KUBELET).then(|| VersionSkew {
                severity: Severity::Error,
                rule: "kube-proxy-and-kubelet",
                subject: name.to_string(),
                detail: format!(
                    "kube-proxy {minor} and the kubelet {kubelet} of its node are more than {KUBELET} minors apart"
                ),
            })
        })
        .collect()
}
