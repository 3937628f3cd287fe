//! Rule: kubeadm's `featureGates` hold kubeadm's own gates, and its next version knows them.
//!
//! `kubeadm config validate` of 1.37.2 said so of `PublicKeysECDSA` and of a component's gate, and took `RootlessControlPlane`;
//! `kubeadm upgrade` only prints (`cmd/kubeadm/app/cmd/phases/upgrade/apply/preflight.go`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Docs, Facts, Rule, Ruling, finding};
use crate::answer::gate_skew::Severity;
use crate::catalogue::{Catalogue, kubeadm};
use crate::model::component::{ComponentKind, Told};
use crate::model::coverage::State;
use crate::model::version::Minor;
use crate::model::want::Want;

pub(super) const RULE: Rule = Rule {
    id: "kubeadm-gates",
    title: "kubeadm's own gates are kubeadm's, and known to its next version",
    severity: Severity::Warning,
    docs: Docs {
        what: "Reads featureGates of kubeadm's ClusterConfiguration, from files and from the ConfigMap kubeadm-config, and tells gates of \
               components, gates that kubeadm of the target version does not know, and misspelt ones apart.",
        why: "These are gates of kubeadm itself: a component's gate there sets nothing. kubeadm init and kubeadm config validate refuse \
              what they do not know; kubeadm upgrade only prints it.",
        cannot_see: "Which version of kubeadm will be used: it is taken to be that of the API servers after the move.",
        example: "SidecarContainers is no gate of kubeadm: it sets nothing here",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let mut own: BTreeMap<&str, BTreeSet<bool>> = BTreeMap::new();
    for (_, told) in facts.world.statements() {
        for told in told {
            if let (_, Told::OfKubeadm(gates)) = &told.value {
                for (gate, on) in gates {
                    own.entry(gate).or_default().insert(*on);
                }
            }
        }
    }
    let servers = facts.targets.iter();
    let servers = servers.filter(|it| it.name.kind == ComponentKind::KubeApiserver);
    let minor = servers.filter_map(|it| Some(it.versions.1?.binary)).max();
    let findings = own.keys().filter_map(|gate| {
        let (message, advice) = fault(gate, minor)?;
        Some(finding(
            *gate,
            message,
            [
                "set in featureGates of kubeadm's ClusterConfiguration".to_owned(),
                format!("kubeadm init refuses it: {gate} is not a valid feature name."),
            ],
            [advice],
        ))
    });
    // Only a cluster can refuse to show it; files say what they say.
    let states = facts.world.answered().filter_map(|want| match want {
        Want::Configuration(name) if name.name == "kubeadm-config" => facts.world.state_of(want),
        _ => None,
    });
    let is_hidden = states
        .into_iter()
        .any(|state| !matches!(state, State::Complete | State::Absent));
    Ruling {
        findings: findings.collect(),
        unknown: if is_hidden {
            Some("the ConfigMap kubeadm-config could not be read".to_owned())
        } else {
            let is_open = !own.is_empty() && minor.is_none();
            is_open.then(|| "the version after the move is not known".to_owned())
        },
        skipped: own
            .is_empty()
            .then(|| "no gates of kubeadm are set".to_owned()),
    }
}

fn fault(gate: &str, minor: Option<Minor>) -> Option<(String, String)> {
    match kubeadm::last_with(gate) {
        Some(last) if minor.is_some_and(|minor| minor > last) => Some((
            format!("{gate} was removed from kubeadm, {last} is the last that knows it"),
            format!("take {gate} out of it"),
        )),
        Some(_) => None,
        None if Catalogue::known().last_with(gate).is_some() => Some((
            format!("{gate} is a gate of components, and none of kubeadm: it sets nothing here"),
            format!(
                "set {gate} in extraArgs (feature-gates) of each component that is to have it, and in featureGates of the KubeletConfiguration"
            ),
        )),
        None => Some((
            format!("no kubeadm that is known has {gate}"),
            format!("take {gate} out of it, or spell it as kubeadm does"),
        )),
    }
}
