//! The gates of each kubelet, for questions about nodes.
//!
//! It answers with what is known of one gate of one kubelet, and how; what a gate means for a node is the caller's.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::effective::{Table, Tables};
use super::process;
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
