//! `GuaranteedQoSPodCPUResize`: a changed CPU request of a container in a Pod of class Guaranteed. Only 1.35 knows it.
//!
//! Init containers do not count, and amounts are compared by worth. A kubelet whose CPU manager has the policy `none` declares it
//! without any gate. Source: component-helpers `nodedeclaredfeatures/features/inplacepodresize/guaranteed_cpu_resize.go` (0.35.4).

use super::{Because, Feature, Update, never};
use crate::model::needs::ContainerNeeds;
use crate::model::version::Minor;
use crate::model::written::Written;

const EXCLUSIVE: &str = "InPlacePodVerticalScalingExclusiveCPUs";

pub(super) const FEATURE: Feature = Feature {
    name: "GuaranteedQoSPodCPUResize",
    since: Minor(35),
    until: Some(Minor(35)),
    max_version: None,
    gates: &[EXCLUSIVE],
    declared: |kubelet| {
        let exclusive = kubelet.gate(EXCLUSIVE).and(|| kubelet.policy("static"));
        exclusive.or(|| kubelet.policy("none"))
    },
    scheduling: never,
    update,
};

fn update(update: &Update<'_>) -> Vec<Because> {
    if update.old.qos.as_deref() != Some("Guaranteed") {
        return Vec::new();
    }
    let pairs = update.old.containers.iter().zip(&update.new.containers);
    pairs
        .enumerate()
        .filter_map(|(at, (old, new))| {
            let (old, new) = (cpu(old), cpu(new));
            (!old.is_worth(&new)).then(|| {
                let field = format!("spec.containers[{at}].resources.requests.cpu");
                Because::new(field, format!("{} becomes {}", old.0, new.0))
            })
        })
        .collect()
}

/// One that is not there is nought.
fn cpu(container: &ContainerNeeds) -> Written {
    let requests = container.resources.requests.as_ref();
    let cpu = requests.and_then(|requests| requests.get("cpu"));
    cpu.cloned().unwrap_or_else(|| Written("0".to_owned()))
}
