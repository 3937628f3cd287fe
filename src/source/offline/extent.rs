//! Of what a list is the whole, as its layout says; a list itself does not tell whether it was taken of all namespaces.
//!
//! It must not conclude more: a list that has a fault, or that no layout speaks for, is the whole of nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::coverage::State;

/// What an input holds all objects of a kind of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// Nobody says.
    Unsaid,
    /// Some objects, each for itself.
    Part,
    Namespace(String),
    Everything,
}

/// What the lists of an origin cover.
#[derive(Debug, Default)]
pub(super) struct Extents {
    whole: BTreeSet<(&'static str, Extent)>,
    /// Kinds that a layout speaks for, even where it has only a part.
    spoken_for: BTreeSet<&'static str>,
    refused: BTreeMap<(&'static str, Extent), (State, String)>,
    /// All namespaces of the cluster, where they are known.
    namespaces: Option<BTreeSet<String>>,
}

impl Extents {
    /// Notes that a kind's objects were found, and whether they are all of them.
    pub(super) fn add(&mut self, kind: &'static str, extent: &Extent, sound: bool) {
        if *extent == Extent::Unsaid {
            return;
        }
        self.spoken_for.insert(kind);
        if sound && *extent != Extent::Part {
            self.whole.insert((kind, extent.clone()));
        }
    }

    /// Notes that a list could not be taken, and why.
    pub(super) fn refuse(&mut self, kind: &'static str, extent: Extent, state: State, why: String) {
        self.spoken_for.insert(kind);
        self.refused.insert((kind, extent), (state, why));
    }

    pub(super) fn know_namespaces(&mut self, names: BTreeSet<String>) {
        self.namespaces.get_or_insert_default().extend(names);
    }

    /// Whether a layout speaks for anything.
    pub(super) fn is_spoken_for(&self) -> bool {
        !self.spoken_for.is_empty()
    }

    /// Whether a layout says of what this kind's lists are the whole.
    pub(super) fn speaks_for(&self, kind: &str) -> bool {
        self.spoken_for.contains(kind)
    }

    /// Whether all objects of a kind are here, of one namespace or of the whole cluster.
    pub(super) fn covers(&self, kind: &'static str, namespace: Option<&str>) -> bool {
        let has = |extent: Extent| self.whole.contains(&(kind, extent));
        let in_namespace = |name: &str| has(Extent::Namespace(name.to_owned()));
        has(Extent::Everything)
            || match (namespace, &self.namespaces) {
                (Some(namespace), _) => in_namespace(namespace),
                (None, Some(all)) => all.iter().all(|name| in_namespace(name)),
                (None, None) => false,
            }
    }

    /// Why a list is not there.
    pub(super) fn refusal(
        &self,
        kind: &'static str,
        namespace: Option<&str>,
    ) -> Option<(State, String)> {
        let of = |extent: Extent| self.refused.get(&(kind, extent)).cloned();
        namespace
            .and_then(|namespace| of(Extent::Namespace(namespace.to_owned())))
            .or_else(|| of(Extent::Everything))
    }

    /// Namespaces of which all objects of a kind are here.
    pub(super) fn namespaces_of(&self, kind: &'static str) -> impl Iterator<Item = &str> {
        self.whole
            .iter()
            .filter(move |(of, _)| *of == kind)
            .filter_map(|(_, extent)| match extent {
                Extent::Namespace(name) => Some(name.as_str()),
                _ => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str) -> Extent {
        Extent::Namespace(name.to_owned())
    }

    #[test]
    fn all_is_known_only_where_all_namespaces_are() {
        let mut extents = Extents::default();
        extents.add("Pod", &namespace("a"), true);
        extents.add("Pod", &namespace("b"), true);
        assert!(extents.covers("Pod", Some("a")) && !extents.covers("Pod", None));
        extents.know_namespaces(["a", "b"].map(str::to_owned).into());
        assert!(extents.covers("Pod", None) && !extents.covers("Event", None));
        extents.know_namespaces(["c"].map(str::to_owned).into());
        assert!(!extents.covers("Pod", None));
    }

    #[test]
    fn what_has_a_fault_is_the_whole_of_nothing() {
        let mut extents = Extents::default();
        extents.add("Event", &namespace("a"), false);
        extents.add("Node", &Extent::Part, true);
        extents.add("Pod", &Extent::Unsaid, true);
        assert!(extents.speaks_for("Event") && !extents.covers("Event", Some("a")));
        assert!(extents.speaks_for("Node") && !extents.covers("Node", None));
        assert!(!extents.speaks_for("Pod"));
    }
}
