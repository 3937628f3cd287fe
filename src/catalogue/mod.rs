//! The feature gates that each minor of Kubernetes registers, and which components a gate's KEP names.
//!
//! Pure data with look-ups: what upstream's sources say, never what a cluster runs. A minor that is not in the data is not
//! known; nothing here guesses. The data lies in `data/gates/` and is made by `make generate` (data/gates/README.md).

pub(crate) mod apis;
mod data;
pub(crate) mod dependencies;
mod history;
pub(crate) mod kubeadm;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::model::version::Minor;

/// Set all alpha, or all beta, gates that are not set by name; listed like gates and left out of the data (component-base
/// 0.37.2, `featuregate/feature_gate.go`, `setUnsetAlphaGates`).
pub(crate) const META_GATES: [&str; 2] = ["AllAlpha", "AllBeta"];

/// A gate that schedulers do not register although the other components of their minor do: k8s.io/controller-manager has it, which
/// they do not link (1.36.3, 1.37.2).
pub(crate) const NOT_OF_SCHEDULERS: &str = "ControllerManagerReleaseLeaderElectionLockOnExit";

/// Binaries that KEPs name.
pub(crate) const COMPONENTS: [&str; 6] = [
    "cloud-controller-manager",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
];

/// Maturity, as `kubernetes_feature_enabled` tells it: a general gate has the empty word there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Alpha,
    Beta,
    General,
    Deprecated,
}

impl Stage {
    /// Upstream's abbreviation for people and JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Alpha => "Alpha",
            Self::Beta => "Beta",
            Self::General => "GA",
            Self::Deprecated => "Deprecated",
        }
    }

    /// The gate that sets all of this stage which are not set by name (component-base 1.37, `featuregate/feature_gate.go`,
    /// `setUnsetAlphaGates`, `setUnsetBetaGates`).
    pub(crate) fn meta_gate(self) -> Option<&'static str> {
        match self {
            Self::Alpha => Some(META_GATES[0]),
            Self::Beta => Some(META_GATES[1]),
            Self::General | Self::Deprecated => None,
        }
    }
}

/// What holds for a gate from some version on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Null where it was registered without a version, which means: since ever.
    pub(crate) since: Option<Minor>,
    pub(crate) default: bool,
    pub(crate) stage: Stage,
    /// Setting it to anything but the default ends the component at its start.
    pub(crate) locked: bool,
    /// The spec holds only from this minimum compatibility version on.
    pub(crate) min_compatibility: Option<Minor>,
}

/// Which version a component behaves as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// Whose registrations count.
    pub(crate) binary: Minor,
    pub(crate) emulated: Minor,
    pub(crate) min_compatibility: Minor,
}

impl Behaviour {
    /// A component of this minor without flags about versions.
    pub(crate) fn native(minor: Minor) -> Self {
        Self::emulating(minor, minor)
    }

    /// A component with `--emulated-version`. The minimum compatibility version is the one before, unless it is set: so did
    /// 1.37.2 by default (`version_info`: emulation 1.37 with 1.36, 1.36 with 1.35), but never below the floor (1.34 with 1.34).
    pub(crate) fn emulating(binary: Minor, emulated: Minor) -> Self {
        let before = Minor(emulated.0.saturating_sub(1));
        Self {
            binary,
            emulated,
            min_compatibility: before.max(Self::floor(binary)),
        }
    }

    /// The oldest version that a binary emulates, and is compatible with: three minors back, as far as emulation reaches
    /// (apiserver 0.34 to 0.37, `pkg/util/compatibility/version.go`, `kubeEffectiveVersionFloors`).
    pub(crate) fn floor(binary: Minor) -> Minor {
        const FIRST: Minor = Minor(31);
        Minor(binary.0.saturating_sub(3)).max(FIRST)
    }
}

/// A gate as the binaries of one minor register it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    /// Oldest first; two of one version differ by their minimum compatibility version.
    pub(crate) specs: Vec<Spec>,
    /// Gates that must be on where this one is, by name. Registered from 1.35 on.
    pub(crate) depends_on: Vec<&'static str>,
}

impl Gate {
    /// The spec that holds, or null where the gate does not exist yet ("PreAlpha"): the last one whose version is at most the
    /// emulated one, and whose minimum compatibility version, if any, is at most the component's.
    ///
    /// Rule: component-base 0.37.2, `featuregate/feature_gate.go`, `featureSpecAtEmulationAndMinCompatVersion`.
    pub(crate) fn at(&self, behaviour: Behaviour) -> Option<&Spec> {
        self.specs.iter().rev().find(|spec| {
            spec.since <= Some(behaviour.emulated)
                && spec.min_compatibility <= Some(behaviour.min_compatibility)
        })
    }
}

/// What a gate's KEP says, where one names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// Components in binaries' names; empty where the KEP does not say.
    pub(crate) components: Vec<&'static str>,
    /// Numbers of KEPs.
    pub(crate) keps: Vec<u32>,
}

/// All that is known of gates.
#[derive(Debug)]
pub(crate) struct Catalogue {
    /// Never empty.
    minors: BTreeMap<Minor, BTreeMap<&'static str, Gate>>,
    proposals: BTreeMap<&'static str, Proposal>,
    /// Components whose sources read a gate, where its KEP gives none.
    readers: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Catalogue {
    /// The embedded catalogue, read when it is first asked for.
    pub(crate) fn known() -> &'static Self {
        static KNOWN: LazyLock<Catalogue> = LazyLock::new(data::read);
        &KNOWN
    }

    /// Minors that are known, oldest first.
    pub(crate) fn minors(&self) -> impl DoubleEndedIterator<Item = Minor> {
        self.minors.keys().copied()
    }

    pub(crate) fn oldest(&self) -> Minor {
        self.minors().next().expect("the data holds a minor")
    }

    pub(crate) fn newest(&self) -> Minor {
        self.minors().next_back().expect("the data holds a minor")
    }

    /// Gates that the binaries of a minor register, by name and without the meta-gates; null if the minor is not known.
    ///
    /// Nearly every component lists all of them, whether it uses them or not; `components` says who does.
    pub(crate) fn gates(&self, binary: Minor) -> Option<&BTreeMap<&'static str, Gate>> {
        self.minors.get(&binary)
    }

    /// A gate as the binaries of a minor register it; null if they do not, or if the minor is not known.
    pub(crate) fn gate(&self, name: &str, binary: Minor) -> Option<&Gate> {
        self.minors.get(&binary)?.get(name)
    }

    /// What holds for a gate in a component; null if it is not there, or if the binary's minor is not known.
    pub(crate) fn at(&self, name: &str, behaviour: Behaviour) -> Option<&Spec> {
        self.gate(name, behaviour.binary)?.at(behaviour)
    }

    /// Components that the gate's KEP names, or else those whose sources read it; null where neither says, which is not "none".
    pub(crate) fn components(&self, name: &str) -> Option<&[&'static str]> {
        let named = self.proposals.get(name).map(|it| &it.components);
        let named = named.filter(|named| !named.is_empty());
        named.or(self.readers.get(name)).map(Vec::as_slice)
    }

    /// Whether no KEP names its components, and upstream's sources do.
    pub(crate) fn is_told_by_sources(&self, name: &str) -> bool {
        self.readers.contains_key(name)
    }

    /// What the gate's KEP says; also of gates that no known minor has.
    pub(crate) fn proposal(&self, name: &str) -> Option<&Proposal> {
        self.proposals.get(name)
    }

    /// Minors that register the gate, oldest first.
    pub(crate) fn minors_with(&self, name: &str) -> impl DoubleEndedIterator<Item = Minor> {
        self.minors()
            .filter(move |minor| self.gate(name, *minor).is_some())
    }

    /// The newest known minor that registers the gate.
    pub(crate) fn last_with(&self, name: &str) -> Option<Minor> {
        self.minors_with(name).next_back()
    }

    /// The first known minor whose binaries do not know the gate any more.
    pub(crate) fn removed_in(&self, name: &str) -> Option<Minor> {
        let last = self.last_with(name)?;
        self.minors().find(|minor| *minor > last)
    }

    /// The minor that brought the gate; it may be older than the oldest known. Null where it was registered without a
    /// version, and where no known minor has it.
    pub(crate) fn introduced_in(&self, name: &str) -> Option<Minor> {
        self.history(name).first()?.since
    }

    /// Names of all gates that some known minor registers, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let all: BTreeSet<_> = self
            .minors
            .values()
            .flat_map(|gates| gates.keys().copied())
            .collect();
        all.into_iter()
    }
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;
