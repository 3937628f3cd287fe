//! Whether a component of a minor would start with settings of gates, and if not, why: upstream's rules, gate by gate.
//!
//! Rules: component-base 1.35 to 1.37, `featuregate/feature_gate.go` (`unsafeSetFromMap`, `Validate`). Dependencies are looked at
//! from 1.35 on, with effective values. A test starts the real components with generated settings and compares.

use std::collections::{BTreeMap, BTreeSet};

use super::apis::{self, Refusal};
use super::difference;
use super::intention::Setting;
use crate::catalogue::{Behaviour, Catalogue, META_GATES, NOT_OF_SCHEDULERS, Spec};
use crate::model::component::ComponentKind;
use crate::model::version::Minor;

/// The first minor whose components look at dependencies.
const DEPENDENCIES: Minor = Minor(35);

/// A component as it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) kind: ComponentKind,
    pub(crate) behaviour: Behaviour,
    /// What is set by name.
    pub(crate) gates: BTreeMap<String, bool>,
}

/// Where a setting stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Flag,
    /// A kubelet's or kube-proxy's configuration.
    ConfigFile,
    /// The command line of a static Pod.
    Pod,
    /// It is what is meant to be set.
    Intention,
}

impl Source {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Flag => "its flags",
            Self::ConfigFile => "its configuration",
            Self::Pod => "its Pod's command line",
            Self::Intention => "what is to be set",
        }
    }
}

/// Why a component would not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// What it says itself of a value that it cannot read.
    Syntax {
        place: Source,
        words: String,
    },
    Unknown {
        gate: String,
        why: Unknown,
    },
    Locked {
        gate: String,
        to: bool,
    },
    /// The gate is newer than the version that is emulated.
    PreAlpha {
        gate: String,
    },
    /// A gate that is on needs gates that are off.
    Dependency {
        gate: String,
        disabled: Vec<String>,
    },
    /// A version that it is told to behave as, and that it cannot.
    Version {
        flag: VersionFlag,
        value: Minor,
        /// The oldest and the newest that it could.
        range: (Minor, Minor),
    },
    /// What it is told to serve, and cannot read or serve; by the key of `--runtime-config`.
    Api {
        key: String,
        why: Refusal,
    },
}

/// Flags of control plane components; kubelets and kube-proxies do not have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionFlag {
    Emulated,
    MinCompatibility,
}

impl VersionFlag {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Emulated => "--emulated-version",
            Self::MinCompatibility => "--min-compatibility-version",
        }
    }
}

impl Fault {
    /// What the component says of it, as it is started so.
    pub(crate) fn words(&self, start: &Start) -> String {
        match self {
            Self::Syntax { words, .. } => words.clone(),
            Self::Unknown { gate, .. } => format!("unrecognized feature gate: {gate}"),
            Self::Locked { gate, to } => {
                let other = !to;
                format!("cannot set feature gate {gate} to {other}, feature is locked to {to}")
            }
            Self::PreAlpha { gate } => {
                let value = start.gates.get(gate) == Some(&true);
                let Behaviour {
                    emulated,
                    min_compatibility,
                    ..
                } = start.behaviour;
                format!(
                    "cannot set feature gate {gate} to {value}, feature is PreAlpha at emulated version {emulated}, min compatibility version {min_compatibility}"
                )
            }
            Self::Dependency { gate, disabled } => format!(
                "{gate} is enabled, but depends on features that are disabled: [{}]",
                disabled.join(" ")
            ),
            Self::Version {
                flag: VersionFlag::Emulated,
                value,
                range: (oldest, newest),
            } => format!("emulation version {value} is not between [{oldest}, {newest}.0]"),
            Self::Version {
                value,
                range: (oldest, newest),
                ..
            } => format!(
                "minCompatibilityVersion version {value} is not between [{oldest}, {newest}]"
            ),
            Self::Api { key, why } => why.words(key),
        }
    }
}

/// Why a binary does not know a name: it says the same of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It was removed before; the last minor that has it.
    Removed { last: Minor, locked: Option<bool> },
    /// It comes with this minor.
    TooNew(Minor),
    /// This component does not have it, others of its minor do.
    OfOthers,
    /// No known minor has it; the nearest name, if one is near.
    Never(Option<&'static str>),
}

impl Start {
    fn knows(&self, gate: &str) -> bool {
        let is_lacking = self.kind == ComponentKind::KubeScheduler && gate == NOT_OF_SCHEDULERS;
        !is_lacking
            && Catalogue::known()
                .gate(gate, self.behaviour.binary)
                .is_some()
    }

    fn spec(&self, gate: &str) -> Option<&'static Spec> {
        Catalogue::known().at(gate, self.behaviour)
    }

    /// The effective value of a gate: by name, by a meta-gate, by default. Null where it does not exist (yet).
    pub(crate) fn value(&self, gate: &str) -> Option<bool> {
        let spec = self.spec(gate)?;
        let meta = spec.stage.meta_gate().and_then(|it| self.gates.get(it));
        let set = self.gates.get(gate).or(meta);
        Some(set.copied().unwrap_or(spec.default))
    }

    /// What the component does in the place of a gate that it may not have (any more); null where nobody knows.
    pub(crate) fn does(&self, gate: &str) -> Option<bool> {
        self.value(gate)
            .or_else(|| difference::instead(gate, self.behaviour))
    }

    /// Every gate that is on and needs one that is off, with those that it needs.
    fn broken(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let binary = self.behaviour.binary;
        if binary < DEPENDENCIES {
            return Vec::new();
        }
        let gates = Catalogue::known().gates(binary).into_iter().flatten();
        gates
            .filter(|(name, _)| self.value(name) == Some(true))
            .filter_map(|(name, gate)| {
                let needed = gate.depends_on.iter().copied();
                let off: Vec<&str> = needed.filter(|it| self.value(it) != Some(true)).collect();
                (!off.is_empty()).then_some((*name, off))
            })
            .collect()
    }

    /// The fewest further settings with which no dependency is broken, given that what is fixed stays as it is; null where there are none.
    ///
    /// What needs a gate that was turned off is turned off as well; what a gate needs that was turned on is turned on. What turns out
    /// not to be needed after all is left out.
    pub(super) fn repaired(
        &self,
        fixed: &BTreeMap<String, bool>,
    ) -> Option<BTreeMap<String, bool>> {
        let mut start = self.clone();
        let mut further = BTreeMap::new();
        loop {
            let Some((gate, off)) = start.broken().into_iter().next() else {
                return Some(self.needed(further));
            };
            let gate_is_meant = fixed.get(gate) == Some(&true) || further.get(gate) == Some(&true);
            let change = if gate_is_meant {
                off.iter()
                    .map(|name| ((*name).to_owned(), true))
                    .collect::<Vec<_>>()
            } else {
                vec![(gate.to_owned(), false)]
            };
            for (name, value) in change {
                let is_against = fixed.get(&name).or(further.get(&name)) == Some(&!value);
                let spec = start.spec(&name);
                let is_possible = spec.is_some_and(|spec| !spec.locked || spec.default == value);
                if is_against || !is_possible {
                    return None;
                }
                start.gates.insert(name.clone(), value);
                further.insert(name, value);
            }
        }
    }

    /// Of settings with which no dependency is broken those without which one is.
    fn needed(&self, mut further: BTreeMap<String, bool>) -> BTreeMap<String, bool> {
        for (name, value) in further.clone() {
            further.remove(&name);
            let mut start = self.clone();
            start.gates.extend(further.clone());
            if !start.broken().is_empty() {
                further.insert(name, value);
            }
        }
        further
    }
}

/// Versions that a binary refuses to behave as (component-base 1.34 to 1.37, `compatibility/version.go`, `Validate`). It looks at
/// them after the gates, and `--version` does not.
pub(super) fn versions(behaviour: Behaviour) -> impl Iterator<Item = Fault> {
    let oldest = Behaviour::floor(behaviour.binary);
    let flags = [
        (VersionFlag::Emulated, behaviour.emulated, behaviour.binary),
        (
            VersionFlag::MinCompatibility,
            behaviour.min_compatibility,
            behaviour.emulated,
        ),
    ];
    let refused = flags
        .into_iter()
        .filter(move |(_, value, newest)| *value < oldest || value > newest);
    refused.map(move |(flag, value, newest)| Fault::Version {
        flag,
        value,
        range: (oldest, newest),
    })
}

/// Why it would not start, all of it: a component says a part, in an order that changes.
pub(crate) fn faults(start: &Start, setting: &Setting) -> Vec<Fault> {
    let syntax = setting.refused.iter().map(|(place, words)| Fault::Syntax {
        place: *place,
        words: words.clone(),
    });
    let named = start.gates.iter().filter_map(|(gate, value)| {
        if META_GATES.contains(&gate.as_str()) {
            return None;
        }
        let gate = gate.clone();
        if !start.knows(&gate) {
            let why = unknown(start, &gate);
            return Some(Fault::Unknown { gate, why });
        }
        match start.spec(&gate) {
            None => Some(Fault::PreAlpha { gate }),
            Some(spec) if spec.locked && spec.default != *value => Some(Fault::Locked {
                gate,
                to: spec.default,
            }),
            Some(_) => None,
        }
    });
    let mut faults: Vec<Fault> = syntax.chain(named).collect();
    // What is not set at all is not looked at.
    if faults.is_empty() && !start.gates.is_empty() {
        faults.extend(
            start
                .broken()
                .into_iter()
                .map(|(gate, off)| Fault::Dependency {
                    gate: gate.to_owned(),
                    disabled: off.into_iter().map(str::to_owned).collect(),
                }),
        );
    }
    faults.extend(versions(start.behaviour));
    if let Some(config) = &setting.runtime_config {
        faults.extend(apis::faults(start, config));
    }
    faults
}

fn unknown(start: &Start, gate: &str) -> Unknown {
    let catalogue = Catalogue::known();
    let binary = start.behaviour.binary;
    if catalogue.gate(gate, binary).is_some() {
        return Unknown::OfOthers;
    }
    let minors: BTreeSet<Minor> = catalogue.minors_with(gate).collect();
    let before = minors.iter().rev().find(|minor| **minor < binary);
    if let Some(last) = before {
        let spec = catalogue.at(gate, Behaviour::native(*last));
        return Unknown::Removed {
            last: *last,
            locked: spec.filter(|spec| spec.locked).map(|spec| spec.default),
        };
    }
    match minors.first() {
        Some(first) => Unknown::TooNew(*first),
        None => Unknown::Never(crate::analysis::lookup::nearest(catalogue, gate)),
    }
}
