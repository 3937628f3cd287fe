//! What is read for a guard: what tells of gates, the Leases of kubelets, and the Pods that no scheduler has placed.

use std::collections::BTreeSet;

use super::CONDITIONS;
use crate::analysis::gates::{skew, wants};
use crate::model::component::ComponentKind;
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::Want;
use crate::model::world::World;

/// What is still to be read. Where Prometheus has what schedulers and API servers count they are not asked themselves.
pub(crate) fn wants(
    world: &World,
    request: &skew::Request,
    with_prometheus: bool,
) -> BTreeSet<Want> {
    let mut wants = wants::wants(world, request);
    if with_prometheus {
        let counts = CONDITIONS.iter().filter_map(|it| it.number);
        let counts: BTreeSet<Want> = counts.map(Want::Count).collect();
        wants.retain(|want| !matches!(want, Want::ServerSamples { .. }) && !is_of_who_counts(want));
        wants.extend(counts);
    }
    wants.extend([Want::NodeLeases, unplaced_pods(), failed_pods()]);
    wants
}

fn is_of_who_counts(want: &Want) -> bool {
    let Want::Document { component, .. } = want else {
        return false;
    };
    let kinds = [ComponentKind::KubeApiserver, ComponentKind::KubeScheduler];
    kinds.contains(&component.kind)
}

/// Pods without a node, of all namespaces.
pub(super) fn unplaced_pods() -> Want {
    pods("spec.nodeName=")
}

/// Pods that failed, as those do that a kubelet refused.
pub(super) fn failed_pods() -> Want {
    pods("status.phase=Failed")
}

fn pods(fields: &str) -> Want {
    Want::Pods {
        namespace: None,
        labels: LabelSelector::default(),
        // It is a selector.
        fields: fields.parse::<FieldSelector>().unwrap_or_default(),
    }
}
