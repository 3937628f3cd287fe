//! What a gate needs, and what needs it, over any number of steps.

use std::collections::BTreeSet;

use super::Catalogue;
use crate::model::version::Minor;

/// A gate that is needed, or that needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: &'static str,
    /// The gate one step nearer; null where the dependency is direct.
    pub(crate) through: Option<&'static str>,
}

impl Catalogue {
    /// Gates that a gate needs in the binaries of a minor: direct ones first, then step by step, each once.
    pub(crate) fn depends_on(&self, name: &str, binary: Minor) -> Vec<Dependency> {
        walk(name, |gate| {
            self.gate(gate, binary)
                .map_or_else(Vec::new, |gate| gate.depends_on.clone())
        })
    }

    /// Gates that need a gate in the binaries of a minor: direct ones first, then step by step, each once.
    pub(crate) fn needed_by(&self, name: &str, binary: Minor) -> Vec<Dependency> {
        walk(name, |needed| {
            let gates = self.gates(binary).into_iter().flatten();
            gates
                .filter(|(_, gate)| gate.depends_on.contains(&needed))
                .map(|(name, _)| *name)
                .collect()
        })
    }
}

/// Breadth first, sorted within a step's gate; a circle, which upstream refuses to register, ends it too.
fn walk(start: &str, next: impl Fn(&str) -> Vec<&'static str>) -> Vec<Dependency> {
    let direct = |name| Dependency {
        name,
        through: None,
    };
    let mut found: Vec<Dependency> = next(start).into_iter().map(direct).collect();
    let mut seen: BTreeSet<&str> = found.iter().map(|dependency| dependency.name).collect();
    let mut at = 0;
    while let Some(Dependency { name, .. }) = found.get(at).copied() {
        for further in next(name) {
            if further != start && seen.insert(further) {
                found.push(Dependency {
                    name: further,
                    through: Some(name),
                });
            }
        }
        at += 1;
    }
    found
}
