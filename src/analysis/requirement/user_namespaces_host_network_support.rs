//! `UserNamespacesHostNetworkSupport`: the host's network together with users of its own.
//!
//! Declared only where the runtime supports it, too. Neither field changes later. Source: component-helpers
//! `nodedeclaredfeatures/features/usernamespaceshostnetwork/user_namespaces_host_network.go` (0.36.3, 0.37.2).

use super::{Because, Feature, KubeletSettings, never_updated};
use crate::model::needs::PodNeeds;
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "UserNamespacesHostNetworkSupport",
    since: Minor(36),
    until: None,
    max_version: None,
    gates: &["UserNamespacesHostNetworkSupport"],
    declared: |kubelet| {
        let supports = kubelet.runtime.user_namespaces_host_network;
        let gate = kubelet.gate("UserNamespacesHostNetworkSupport");
        gate.and(|| KubeletSettings::runtime(supports, "user namespaces with the host's network"))
    },
    scheduling,
    update: never_updated,
};

fn scheduling(pod: &PodNeeds) -> Vec<Because> {
    if pod.host_network && pod.host_users == Some(false) {
        vec![
            Because::new("spec.hostNetwork", "true"),
            Because::new("spec.hostUsers", "false"),
        ]
    } else {
        Vec::new()
    }
}
