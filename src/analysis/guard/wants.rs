//! What is read for a guard: what tells of gates, the Leases of kubelets, and the Pods that no scheduler has placed.

use std::collections::BTreeSet;

use crate::analysis::gates::{skew, wants};
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::Want;
use crate::model::world::World;

/// What is still to be read.
pub(crate) fn wants(world: &World, request: &skew::Request) -> BTreeSet<Want> {
    let mut wants = wants::wants(world, request);
    wants.extend([Want::NodeLeases, unplaced_pods()]);
    wants
}

/// Pods without a node, of all namespaces.
pub(super) fn unplaced_pods() -> Want {
    Want::Pods {
        namespace: None,
        labels: LabelSelector::default(),
        // It is a selector.
        fields: "spec.nodeName="
            .parse::<FieldSelector>()
            .unwrap_or_default(),
    }
}
