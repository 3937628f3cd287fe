//! How a gate changed, as the binaries of each minor tell of their own time.
//!
//! A later binary may tell the past anew: 1.36 registers `TopologyManagerPolicyOptions` as locked since 1.32, and a 1.35
//! binary does not lock it.

use super::{Behaviour, Catalogue, Spec};
use crate::model::version::Minor;

impl Catalogue {
    /// What held from which version on, oldest first; empty if no known minor registers the gate.
    ///
    /// Up to the oldest known minor that has the gate its registration is taken; after that, what a component of each
    /// minor does where nothing is set.
    pub(crate) fn history(&self, name: &str) -> Vec<Spec> {
        let mut minors = self.minors_with(name);
        let (Some(first), Some(newest)) = (minors.next(), self.last_with(name)) else {
            return Vec::new();
        };
        let registered = |minor| self.gate(name, minor).map_or(&[][..], |gate| &gate.specs);
        let dated = |spec: &Spec| Spec {
            since: spec.since.or_else(|| {
                let same = |later: &&Spec| is_alike(later, spec);
                registered(newest).iter().find(same)?.since
            }),
            ..*spec
        };
        let mut history: Vec<Spec> = registered(first).iter().map(dated).collect();
        let native = |minor| self.at(name, Behaviour::native(minor)).copied();
        let mut before = native(first);
        for minor in minors {
            let now = native(minor);
            if let Some(spec) = now.filter(|spec| !before.is_some_and(|old| is_alike(&old, spec))) {
                let conditional = conditional(registered(minor), minor);
                history.push(Spec {
                    since: Some(minor),
                    ..spec
                });
                history.extend(conditional);
            }
            before = now;
        }
        history
    }
}

/// Specs of this very version that ask for a minimum compatibility version.
fn conditional(specs: &[Spec], minor: Minor) -> impl Iterator<Item = Spec> {
    specs
        .iter()
        .filter(move |spec| spec.since == Some(minor) && spec.min_compatibility.is_some())
        .copied()
}

/// Whether two specs mean the same for a component.
fn is_alike(one: &Spec, other: &Spec) -> bool {
    (one.default, one.stage, one.locked) == (other.default, other.stage, other.locked)
}
