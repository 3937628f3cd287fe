//! The gates of each kubelet, for questions about nodes.
//!
//! It answers with what is known of one gate of one kubelet, and how; what a gate means for a node is the caller's.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::effective::{Table, Tables};
use super::{fingerprint, process};
use crate::answer::gate_skew::{GateValue, Known};
use crate::model::component::ComponentKind;
use crate::model::world::World;

/// What is known of one kubelet's gates.
#[derive(Debug, Clone)]
pub(crate) struct KubeletGates {
    pub(crate) pool: Option<String>,
    pub(crate) cpu_manager_policy: Option<String>,
    table: Rc<Table>,
}

impl KubeletGates {
    /// Whether a gate is on, and how that is known. One that the binary does not have is off.
    pub(crate) fn value(&self, gate: &str) -> Option<(bool, Known)> {
        let known = self.table.gates.get(gate)?;
        let on = match known.value {
            GateValue::NotInVersion => false,
            value => value.is_on()?,
        };
        Some((on, known.known))
    }
}

/// Fingerprints of the gates that kubelets use, by node; without those of which a gate is not known.
pub(crate) fn fingerprints(all: &BTreeMap<String, KubeletGates>) -> BTreeMap<&str, String> {
    let mut made: BTreeMap<*const Table, Option<String>> = BTreeMap::new();
    all.iter()
        .filter_map(|(node, gates)| {
            let of_table = made
                .entry(Rc::as_ptr(&gates.table))
                .or_insert_with(|| fingerprint::of(ComponentKind::Kubelet, &gates.table).relevant);
            Some((node.as_str(), of_table.clone()?))
        })
        .collect()
}

/// All kubelets of which any document tells more than their Nodes do, by their nodes.
pub(crate) fn all(world: &World, pool_label: Option<&str>) -> BTreeMap<String, KubeletGates> {
    if world.statements().next().is_none() {
        return BTreeMap::new();
    }
    let processes = process::all(world, pool_label);
    let mut tables = Tables::default();
    processes
        .iter()
        .filter(|process| process.name.kind == ComponentKind::Kubelet)
        .map(|process| {
            let gates = KubeletGates {
                pool: process.pool.clone(),
                cpu_manager_policy: process.cpu_manager_policy.map(str::to_owned),
                table: tables.of(process),
            };
            (process.name.identity.clone(), gates)
        })
        .collect()
}
