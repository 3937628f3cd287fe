//! The fewest changes with which a component would start.
//!
//! What it would refuse is taken out; what then is broken by dependencies is mended by further settings, or by taking out what was
//! set before, whichever is less. What is meant to be set stays, unless it is itself what is refused.

use std::collections::{BTreeMap, BTreeSet};

use super::apis;
use super::intention::Setting;
use super::start::{self, Fault, Source, Start, VersionFlag};
use crate::catalogue::Behaviour;
use crate::model::component::RuntimeConfig;

/// Each of them is necessary: without it a fault stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mending {
    /// What is to be written so that it can be read: where it stands, and what the component says of it.
    pub(crate) corrected: Vec<(Source, String)>,
    /// Flags about versions that are taken out.
    pub(crate) flags: Vec<VersionFlag>,
    /// Gates that are taken out.
    pub(crate) removed: BTreeSet<String>,
    /// Gates that are set as well.
    pub(crate) set: BTreeMap<String, bool>,
    /// Keys of `--runtime-config` that are taken out, and flags beside it.
    pub(crate) apis: BTreeSet<String>,
}

/// The changes; null where none would do.
pub(crate) fn of(
    start: &Start,
    setting: &Setting,
    fixed: &BTreeMap<String, bool>,
) -> Option<Mending> {
    let mut mending = of_gates(start, setting, fixed)?;
    let Some(config) = &setting.runtime_config else {
        return Some(mending);
    };
    let mended = mending.applied(start);
    // Without one key another may come to be the only one.
    loop {
        let left = mending.left_of(config);
        let refused = apis::faults(&mended, &left).into_iter();
        let keys = refused.filter_map(|fault| match fault {
            Fault::Api { key, .. } => Some(key),
            _ => None,
        });
        let known = mending.apis.len();
        mending.apis.extend(keys);
        if mending.apis.len() == known {
            return Some(mending);
        }
    }
}

fn of_gates(start: &Start, setting: &Setting, fixed: &BTreeMap<String, bool>) -> Option<Mending> {
    let mut mending = of_versions(start, setting);
    for fault in faults(&mending.applied(start)) {
        if let Fault::Unknown { gate, .. } | Fault::Locked { gate, .. } | Fault::PreAlpha { gate } =
            fault
        {
            mending.removed.insert(gate);
        }
    }
    let mended = mending.applied(start);
    if faults(&mended).is_empty() {
        return Some(mending);
    }
    let further = mended.repaired(fixed);
    let taken = taken(&mended, fixed);
    match (further, taken) {
        (Some(further), Some(taken)) if taken.len() < further.len() => {
            mending.removed.extend(taken);
        }
        (Some(further), _) => mending.set = further,
        (None, Some(taken)) => mending.removed.extend(taken),
        (None, None) => return None,
    }
    Some(mending)
}

fn faults(start: &Start) -> Vec<Fault> {
    start::faults(start, &Setting::default())
}

/// With flags about versions that are refused taken out: whether the second one is depends on the first.
fn of_versions(start: &Start, setting: &Setting) -> Mending {
    let mut mending = Mending {
        corrected: setting.refused.clone(),
        ..Mending::default()
    };
    for flag in [VersionFlag::Emulated, VersionFlag::MinCompatibility] {
        let behaviour = mending.applied(start).behaviour;
        let is_refused =
            |fault: Fault| matches!(fault, Fault::Version { flag: refused, .. } if refused == flag);
        if start::versions(behaviour).any(is_refused) {
            mending.flags.push(flag);
        }
    }
    mending
}

/// Settings that do not have to stay, and without which no dependency is broken; null where there are none.
fn taken(start: &Start, fixed: &BTreeMap<String, bool>) -> Option<BTreeSet<String>> {
    let free = start.gates.keys().filter(|gate| !fixed.contains_key(*gate));
    let mut taken: BTreeSet<String> = free.cloned().collect();
    let is_mended = |taken: &BTreeSet<String>| {
        let mut start = start.clone();
        start.gates.retain(|gate, _| !taken.contains(gate));
        faults(&start).is_empty()
    };
    if !is_mended(&taken) {
        return None;
    }
    for gate in taken.clone() {
        taken.remove(&gate);
        if !is_mended(&taken) {
            taken.insert(gate);
        }
    }
    Some(taken)
}

impl Mending {
    /// What an API server is still told to serve.
    pub(crate) fn left_of(&self, config: &RuntimeConfig) -> RuntimeConfig {
        let mut left = config.clone();
        left.0.retain(|key, _| !self.apis.contains(key));
        left
    }

    /// Whether the component starts with them, and with these gates set as well.
    pub(crate) fn mends(&self, start: &Start, further: &BTreeMap<String, bool>) -> bool {
        let mut start = self.applied(start);
        start.gates.extend(further.clone());
        faults(&start).is_empty()
    }

    /// The component as it is started with them.
    pub(crate) fn applied(&self, start: &Start) -> Start {
        let mut gates = start.gates.clone();
        gates.retain(|gate, _| !self.removed.contains(gate));
        gates.extend(self.set.clone());
        let Behaviour {
            binary,
            emulated,
            min_compatibility,
        } = start.behaviour;
        let is_given = start.behaviour != Behaviour::emulating(binary, emulated);
        let without = |flag| self.flags.contains(&flag);
        let emulated = if without(VersionFlag::Emulated) {
            binary
        } else {
            emulated
        };
        let usual = Behaviour::emulating(binary, emulated);
        let behaviour = Behaviour {
            min_compatibility: if is_given && !without(VersionFlag::MinCompatibility) {
                min_compatibility
            } else {
                usual.min_compatibility
            },
            ..usual
        };
        Start {
            kind: start.kind,
            behaviour,
            gates,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::catalogue::{Catalogue, META_GATES};
    use crate::model::component::ComponentKind;
    use crate::model::version::Minor;

    /// Names that matter: gates with dependencies more often than others, and one that is none.
    fn names() -> Vec<&'static str> {
        let catalogue = Catalogue::known();
        let minors: Vec<Minor> = catalogue.minors().collect();
        let gates = minors.iter().filter_map(|minor| catalogue.gates(*minor));
        let dependent = gates.flat_map(|gates| gates.values());
        let dependent =
            dependent.flat_map(|gate| gate.depends_on.iter().map(move |it| [gate.name, *it]));
        let dependent: Vec<&str> = dependent.flatten().collect();
        let all = catalogue.names().chain(META_GATES).chain(["NoSuchGate"]);
        all.chain(dependent).collect()
    }

    fn starts() -> impl Strategy<Value = (Start, BTreeMap<String, bool>)> {
        let minors: Vec<Minor> = Catalogue::known().minors().collect();
        let gates = proptest::collection::btree_map(select(names()), any::<bool>(), 0..6);
        let versions = (select(minors), 0..6_u32, 0..6_u32, any::<bool>());
        let kind = select(vec![
            ComponentKind::KubeApiserver,
            ComponentKind::KubeScheduler,
        ]);
        (kind, versions, gates, any::<u8>()).prop_map(|(kind, versions, gates, fixed)| {
            let (binary, back, lower, is_given) = versions;
            let usual = Behaviour::emulating(binary, Minor(binary.0 + 1 - back));
            let min_compatibility = Minor(usual.emulated.0 + 1 - lower);
            let behaviour = Behaviour {
                min_compatibility: if is_given {
                    min_compatibility
                } else {
                    usual.min_compatibility
                },
                ..usual
            };
            let gates: BTreeMap<String, bool> = gates
                .into_iter()
                .map(|(name, on)| (name.to_owned(), on))
                .collect();
            let fixed = gates
                .iter()
                .enumerate()
                .filter(|(at, _)| fixed >> at & 1 == 1)
                .map(|(_, (name, on))| (name.clone(), *on))
                .collect();
            let start = Start {
                kind,
                behaviour,
                gates,
            };
            (start, fixed)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// With all of it the component starts, and with any of it left out it does not.
        #[test]
        fn all_of_it_mends_and_nothing_less((start, fixed) in starts()) {
            let Some(mending) = of(&start, &Setting::default(), &fixed) else {
                return Ok(());
            };
            prop_assert!(faults(&mending.applied(&start)).is_empty(), "{mending:?}");
            for gate in &mending.removed {
                let mut less = mending.clone();
                less.removed.remove(gate);
                prop_assert!(!faults(&less.applied(&start)).is_empty(), "{mending:?} without {gate}");
            }
            for gate in mending.set.keys() {
                prop_assert!(!fixed.contains_key(gate), "{gate} is meant");
                let mut less = mending.clone();
                less.set.remove(gate);
                prop_assert!(!faults(&less.applied(&start)).is_empty(), "{mending:?} without {gate}");
            }
            for flag in &mending.flags {
                let mut less = mending.clone();
                less.flags.retain(|it| it != flag);
                prop_assert!(!faults(&less.applied(&start)).is_empty(), "{mending:?} without {flag:?}");
            }
        }
    }
}
