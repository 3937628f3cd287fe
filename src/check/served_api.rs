//! Rule: the API that a gate is about is served where the gate is turned on.
//!
//! A gate lets an API server store objects of a group and version; whether it serves them is said by `--runtime-config`, and alpha
//! and beta versions are not served unless it says so (kubernetes 1.35.4, 1.36.3, 1.37.2: `pkg/registry/*/rest/storage_*.go`,
//! `pkg/controlplane/instance.go`; apiserver `pkg/server/resourceconfig/helpers.go`). What is served now is not asked for: after
//! the move the versions are others.

use std::collections::{BTreeMap, BTreeSet};

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::intention::Target;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::component::ComponentKind;
use crate::model::version::Minor;

pub(super) const RULE: Rule = Rule {
    id: "served-api",
    title: "the API that a gate is about is served where it is turned on",
    severity: Severity::Error,
    docs: Docs {
        what: "Looks for gates that are turned on and that need a group and version which is alpha or beta, and compares it with \
               --runtime-config of the API servers, as static Pods, kubeadm's configuration and command lines have it.",
        why: "The feature is on and cannot be used: every object of it is refused as unknown. Some API servers never become ready \
              then, for they wait for objects that they do not serve: one of 1.35 with PodCertificateRequest, one of 1.36 with \
              GenericWorkload (informer-sync in /readyz).",
        cannot_see: "Versions that a plugin or a vendor's server serves; --runtime-config of an API server whose command line nobody \
                     shows; and gates whose API lies in a module of its own, as admission policies do.",
        example: "GenericWorkload would be on, and scheduling.k8s.io/v1beta1 is not served",
    },
    judge,
};

/// Versions of a gate's API, from a minor on; of several one is enough. Newest first.
type Versions = (Minor, &'static [&'static str]);

/// By gate; sorted. A minor before the first is not told of. A 1.37.2 does not serve `certificates.k8s.io/v1alpha1` whatever it is
/// told, and says nothing of it.
const APIS: &[(&str, &[Versions])] = &[
    (
        "ClusterTrustBundle",
        &[
            (
                Minor(37),
                &["certificates.k8s.io/v1", "certificates.k8s.io/v1beta1"],
            ),
            (
                Minor(35),
                &[
                    "certificates.k8s.io/v1beta1",
                    "certificates.k8s.io/v1alpha1",
                ],
            ),
        ],
    ),
    (
        "CompositePodGroup",
        &[(Minor(37), &["scheduling.k8s.io/v1alpha3"])],
    ),
    (
        "EvictionRequestAPI",
        &[(Minor(37), &["lifecycle.k8s.io/v1alpha1"])],
    ),
    (
        "GenericWorkload",
        &[
            (
                Minor(37),
                &["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"],
            ),
            (Minor(36), &["scheduling.k8s.io/v1alpha2"]),
            (Minor(35), &["scheduling.k8s.io/v1alpha1"]),
        ],
    ),
    (
        "PodCertificateRequest",
        &[
            (
                Minor(37),
                &["certificates.k8s.io/v1", "certificates.k8s.io/v1beta1"],
            ),
            (Minor(35), &["certificates.k8s.io/v1beta1"]),
        ],
    ),
    (
        "StorageVersionMigrator",
        &[
            (
                Minor(37),
                &[
                    "storagemigration.k8s.io/v1",
                    "storagemigration.k8s.io/v1beta1",
                ],
            ),
            (Minor(35), &["storagemigration.k8s.io/v1beta1"]),
        ],
    ),
];

/// Gates of the table with the versions that they need in a minor.
pub(crate) fn needed(
    minor: Minor,
) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    APIS.iter().filter_map(move |(gate, all)| {
        let versions = all.iter().find(|(since, _)| *since <= minor)?;
        Some((*gate, versions.1))
    })
}

/// Whether `--runtime-config` lets a version be served. What is closer counts: the version, then its stage, then all.
pub(crate) fn is_served(version: &str, config: &BTreeMap<String, bool>) -> bool {
    let name = version.rsplit('/').next().unwrap_or_default();
    let stage = if name.contains("alpha") {
        "api/alpha"
    } else if name.contains("beta") {
        "api/beta"
    } else {
        "api/ga"
    };
    let told = [version, stage, "api/all"]
        .into_iter()
        .find_map(|key| config.get(key));
    // One resource of it alone may be served.
    let is_part = |key: &str| {
        key.strip_prefix(version)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    told.copied().unwrap_or(stage == "api/ga") || config.iter().any(|(key, on)| *on && is_part(key))
}

fn judge(facts: &Facts<'_>) -> Ruling {
    let is_server = |it: &&Target| it.name.kind == ComponentKind::KubeApiserver;
    let servers: Vec<&Target> = facts.targets.iter().filter(is_server).collect();
    let is_server_seen = !servers.is_empty();
    let turned: BTreeSet<&str> = facts
        .meant()
        .flat_map(|target| APIS.iter().map(move |(gate, _)| (target, *gate)))
        .filter(|(target, gate)| turns_on(target, gate, is_server_seen))
        .map(|(_, gate)| gate)
        .collect();
    if turned.is_empty() {
        let unknown = start::unknown(facts);
        return Ruling {
            skipped: unknown
                .is_none()
                .then(|| "no gate is turned on that needs an alpha or beta API".to_owned()),
            unknown,
            ..Ruling::default()
        };
    }
    let mut unknown = Vec::new();
    if !is_server_seen {
        unknown.push("no API server was seen".to_owned());
    }
    let mut lacking: BTreeMap<(&str, &[&str]), Vec<String>> = BTreeMap::new();
    for server in servers {
        let (Some(after), Some(config)) = (&server.after, &server.runtime_config) else {
            unknown.push(format!(
                "what {} is told to serve was not seen",
                server.name
            ));
            continue;
        };
        for (gate, versions) in needed(after.behaviour.emulated) {
            let served = versions.iter().any(|version| is_served(version, config));
            if turned.contains(gate) && !served {
                let names = lacking.entry((gate, versions)).or_default();
                names.push(server.name.to_string());
            }
        }
    }
    let findings = lacking.into_iter().map(|((gate, versions), names)| {
        finding(
            gate,
            format!(
                "{gate} would be on, and {} is not served",
                versions.join(" or ")
            ),
            [format!(
                "--runtime-config of {} does not let it be served",
                some(&names)
            )],
            [format!(
                "start the API servers with --runtime-config={}=true, too",
                versions.first().copied().unwrap_or_default()
            )],
        )
    });
    Ruling {
        findings: findings.collect(),
        unknown: (!unknown.is_empty()).then(|| unknown.join("; ")),
        skipped: None,
    }
}

/// Whether a component turns a gate on whose API has to be asked for: a stable version is served unless somebody takes it away, and
/// only who sees an API server can tell.
fn turns_on(target: &Target, gate: &str, is_server_seen: bool) -> bool {
    let was_on = target.before.as_ref().and_then(|start| start.value(gate)) == Some(true);
    let Some(after) = target.after.as_ref().filter(|_| !was_on) else {
        return false;
    };
    let mut known = needed(after.behaviour.emulated);
    let versions = known.find_map(|(name, versions)| (name == gate).then_some(versions));
    let nothing = BTreeMap::new();
    let is_stable = versions.is_some_and(|all| all.iter().any(|it| is_served(it, &nothing)));
    after.value(gate) == Some(true) && (is_server_seen || !is_stable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closer_counts() {
        let config = |pairs: &[(&str, bool)]| -> BTreeMap<String, bool> {
            let pairs = pairs.iter().map(|(key, on)| ((*key).to_owned(), *on));
            pairs.collect()
        };
        let version = "scheduling.k8s.io/v1beta1";
        for (pairs, due) in [
            (&[][..], false),
            (&[("api/all", true)], true),
            (&[("api/beta", true)], true),
            (&[("api/alpha", true)], false),
            (&[("api/all", true), ("api/beta", false)], false),
            (&[("api/beta", false), (version, true)], true),
            (&[("api/beta", true), (version, false)], false),
            (&[("scheduling.k8s.io/v1beta1/workloads", true)], true),
            (&[("scheduling.k8s.io/v1beta10", true)], false),
        ] {
            assert_eq!(is_served(version, &config(pairs)), due, "{pairs:?}");
        }
        assert!(is_served("certificates.k8s.io/v1", &config(&[])));
        assert!(APIS.is_sorted_by_key(|(gate, _)| *gate));
    }
}
