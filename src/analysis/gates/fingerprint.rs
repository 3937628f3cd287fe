//! Fingerprints of the gates that a process runs: equal where the gates are, whatever told of them.
//!
//! SHA-256 over sorted lines `Name=true|false` of the catalogue's gates of that minor, as it behaves. Null where one of the values
//! is not known: a fingerprint of a part would look like a difference.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::effective::Table;
use crate::answer::gate_skew::GateValue;
use crate::catalogue::{Catalogue, META_GATES, NOT_OF_SCHEDULERS};
use crate::model::component::ComponentKind;

/// Gates that some components of a minor do not list: a scheduler of 1.36.3 and 1.37.2 lacks it, the others have it.
const NOT_OF_ALL: &[&str] = &[NOT_OF_SCHEDULERS];

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fingerprints {
    /// Every gate that all components of that minor list.
    pub(super) all: Option<String>,
    /// Of those, the gates whose component list names this kind.
    pub(super) relevant: Option<String>,
    /// Gates that the catalogue does not have; null where there is none.
    pub(super) vendor: Option<String>,
}

pub(super) fn of(kind: ComponentKind, table: &Table) -> Fingerprints {
    let catalogue = Catalogue::known();
    let Some(behaviour) = table.behaviour else {
        return Fingerprints::default();
    };
    let names: Vec<&str> = catalogue
        .gates(behaviour.binary)
        .into_iter()
        .flatten()
        .filter(|(name, gate)| !NOT_OF_ALL.contains(name) && gate.at(behaviour).is_some())
        .map(|(name, _)| *name)
        .collect();
    let is_relevant = |name: &&&str| {
        let components = catalogue.components(name);
        components.is_some_and(|components| components.contains(&kind.word()))
    };
    let vendor: Vec<&str> = table
        .gates
        .iter()
        .filter(|(name, effective)| {
            let is_ours = catalogue.gate(name, behaviour.binary).is_some()
                || META_GATES.contains(&name.as_str())
                || NOT_OF_ALL.contains(&name.as_str());
            !is_ours && effective.value != GateValue::NotInVersion
        })
        .map(|(name, _)| name.as_str())
        .collect();
    Fingerprints {
        all: digest(table, &names),
        relevant: digest(
            table,
            &names
                .iter()
                .filter(is_relevant)
                .copied()
                .collect::<Vec<_>>(),
        ),
        vendor: digest(table, &vendor).filter(|_| !vendor.is_empty()),
    }
}

/// Null where one of the gates is neither on nor off.
fn digest(table: &Table, names: &[&str]) -> Option<String> {
    let mut digest = Sha256::new();
    for name in names {
        let value = table.gates.get(*name)?.value.is_on()?;
        digest.update(format!("{name}={value}\n"));
    }
    let bytes = digest.finalize();
    Some(
        bytes
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                // Writing to a String cannot fail.
                write!(text, "{byte:02x}").unwrap_or_default();
                text
            }),
    )
}
