//! `VolumeBindMountOptions` (KEP-5855): a volume that is mounted with options.
//!
//! Containers of all three lists count. Declared only where the runtime supports it, too. A mount does not change later. Source:
//! component-helpers `nodedeclaredfeatures/features/volumebindmountoptions/feature.go` (0.37.2).

use super::{Because, Feature, KubeletSettings, never_updated};
use crate::model::needs::PodNeeds;
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "VolumeBindMountOptions",
    since: Minor(37),
    until: None,
    max_version: None,
    gates: &["VolumeBindMountOptions"],
    declared: |kubelet| {
        let supports = kubelet.runtime.mount_options;
        let gate = kubelet.gate("VolumeBindMountOptions");
        gate.and(|| KubeletSettings::runtime(supports, "mount options"))
    },
    scheduling,
    update: never_updated,
};

fn scheduling(pod: &PodNeeds) -> Vec<Because> {
    [
        ("containers", &pod.containers),
        ("initContainers", &pod.init_containers),
        ("ephemeralContainers", &pod.ephemeral_containers),
    ]
    .into_iter()
    .flat_map(|(list, containers)| {
        let containers = containers.iter().enumerate();
        containers.flat_map(move |(at, container)| {
            container.optioned_mounts.iter().map(move |mount| {
                let field = format!("spec.{list}[{at}].volumeMounts[{mount}].bindMountOptions");
                Because::new(field, "set")
            })
        })
    })
    .collect()
}
