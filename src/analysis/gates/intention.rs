//! What somebody means to do with gates and versions, and what each component would be started with then.
//!
//! It must not judge: whether a component starts is `start`'s to say, what that means for others the checks'.

use std::collections::{BTreeMap, BTreeSet};

use super::difference::{self, Member};
use super::effective::Tables;
use super::process::{self, Process};
use super::skew::Request;
use super::start::{self, Fault, Source, Start};
use crate::answer::gate_skew::Difference;
use crate::catalogue::{Behaviour, Catalogue};
use crate::model::component::{ComponentKind, ComponentName, Document, Places, RuntimeConfig};
use crate::model::version::Minor;
use crate::model::world::World;

/// One intention: nothing else changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Intention {
    /// Other binaries of the components that are meant.
    ToVersion(Minor),
    /// Control plane components behave as an older minor (KEP-4330); kubelets have no such flag.
    ToEmulatedVersion(Minor),
    /// These gates are set in the components that are meant, whatever was set before.
    Set(BTreeMap<String, bool>),
    /// What each component was started with at an earlier moment.
    RollbackTo(Earlier),
}

/// Components of an earlier moment: version and settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Earlier(BTreeMap<ComponentName, (Option<Behaviour>, Setting)>);

impl Earlier {
    pub(crate) fn of(world: &World) -> Self {
        let all = process::all(world, None);
        Self(
            all.iter()
                .map(|it| {
                    // They are no file of today.
                    let setting = Setting {
                        places: Vec::new(),
                        ..setting(it)
                    };
                    (it.name.clone(), (behaviour(it, None), setting))
                })
                .collect(),
        )
    }

    /// The component itself, or another of its kind where all were alike.
    fn get(&self, name: &ComponentName) -> Option<&(Option<Behaviour>, Setting)> {
        let of_kind = self.0.iter().filter(|(known, _)| known.kind == name.kind);
        self.0.get(name).or_else(|| {
            let mut all = of_kind.map(|(_, it)| it);
            let first = all.next()?;
            all.all(|it| it == first).then_some(first)
        })
    }
}

/// What a component is started with, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Each gate with its value and the places that set it.
    pub(crate) gates: BTreeMap<String, (bool, BTreeSet<Source>)>,
    /// What the component itself would refuse, and where it stands.
    pub(crate) refused: Vec<(Source, String)>,
    /// Where in files they stand; of two places of a gate the later one counts.
    pub(crate) places: Vec<(Source, Places)>,
    /// Of an API server, what it is told to serve; null where nobody shows it.
    pub(crate) runtime_config: Option<RuntimeConfig>,
    /// No document tells of it.
    pub(crate) is_unknown: bool,
}

/// A component before and after.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) name: ComponentName,
    pub(crate) pool: Option<String>,
    /// Null where the version is not known, or the catalogue does not have it.
    pub(crate) before: Option<Start>,
    pub(crate) after: Option<Start>,
    /// The versions before and after, those that the catalogue does not have among them; null where they are not known.
    pub(crate) versions: (Option<Behaviour>, Option<Behaviour>),
    pub(crate) setting: Setting,
    /// Of an API server, what it was told to serve before; null where nobody shows it.
    pub(crate) runtime_config: Option<RuntimeConfig>,
    /// The intention is about it.
    pub(crate) is_meant: bool,
    /// Why it would not start.
    pub(crate) faults: Vec<Fault>,
    /// Why that is not known; null where it is.
    pub(crate) unknown: Option<String>,
}

/// Every component with what it would be started with. Who names nodes or their pool, and no component, means their kubelets.
pub(crate) fn targets(world: &World, intention: &Intention, request: &Request) -> Vec<Target> {
    let processes = process::all(world, request.pool_label.as_deref());
    let is_of_nodes = !(request.pools.is_empty() && request.nodes.is_empty());
    let is_kubelets = is_of_nodes && request.kinds.is_empty();
    let is_meant = |process: &Process<'_>| {
        request.wants(process) && (!is_kubelets || process.name.kind == ComponentKind::Kubelet)
    };
    processes
        .iter()
        .map(|process| {
            let before = behaviour(process, request.assumed);
            target(process, before, intention, is_meant(process))
        })
        .collect()
}

fn target(
    process: &Process<'_>,
    before: Option<Behaviour>,
    intention: &Intention,
    is_meant: bool,
) -> Target {
    let kind = process.name.kind;
    let setting = setting(process);
    let mut after = before;
    let mut next = setting.clone();
    let mut unknown = None;
    if is_meant {
        match intention {
            // Flags about versions stay.
            Intention::ToVersion(minor) => {
                let emulated = before.and_then(emulated).unwrap_or(*minor);
                after = Some(compatible(Behaviour::emulating(*minor, emulated), before));
            }
            Intention::ToEmulatedVersion(minor) if kind.has_prefixed_gates() => {
                after =
                    before.map(|old| compatible(Behaviour::emulating(old.binary, *minor), before));
            }
            Intention::ToEmulatedVersion(_) => {}
            Intention::Set(gates) => {
                for (name, value) in gates {
                    let places = BTreeSet::from([Source::Intention]);
                    next.gates.insert(name.clone(), (*value, places));
                }
            }
            Intention::RollbackTo(earlier) => match earlier.get(&process.name) {
                Some((version, settings)) => {
                    after = version.or(before);
                    next = settings.clone();
                }
                None => unknown = Some("the earlier moment does not tell of it".to_owned()),
            },
        }
    }
    let is_known = |behaviour: &Behaviour| Catalogue::known().gates(behaviour.binary).is_some();
    let gates = |setting: &Setting| {
        let gates = setting.gates.iter();
        gates
            .map(|(name, (value, _))| (name.clone(), *value))
            .collect()
    };
    let start = |behaviour: Option<Behaviour>, setting: &Setting| {
        behaviour.filter(is_known).map(|behaviour| Start {
            kind,
            behaviour,
            gates: gates(setting),
        })
    };
    let versions = (before, after);
    let after = start(after, &next);
    let unknown = unknown.or_else(|| match &after {
        None if versions.1.is_none() => {
            Some("nothing tells its version (--assume-version MINOR would)".to_owned())
        }
        None => Some("the catalogue does not have its version".to_owned()),
        Some(_) if next.is_unknown => Some("what sets its gates was not seen".to_owned()),
        Some(_) => None,
    });
    let faults = after.as_ref().map(|after| start::faults(after, &next));
    Target {
        name: process.name.clone(),
        pool: process.pool.clone(),
        before: start(before, &setting),
        faults: faults.unwrap_or_default(),
        after,
        versions,
        setting: next,
        runtime_config: setting.runtime_config,
        is_meant,
        unknown,
    }
}

/// Gates that differ among components which are started so.
pub(crate) fn differences<'t>(
    starts: impl Iterator<Item = (&'t ComponentName, &'t Start)>,
) -> Vec<Difference> {
    let mut tables = Tables::default();
    let members: Vec<_> = starts
        .map(|(name, start)| (Process::new(name.clone()), tables.of_start(start)))
        .collect();
    let members: Vec<Member<'_, '_>> = members.iter().map(|(it, table)| (it, &**table)).collect();
    difference::of(&members, &BTreeSet::new())
}

/// What it was told to emulate; null where it behaves as what it is.
fn emulated(behaviour: Behaviour) -> Option<Minor> {
    Some(behaviour.emulated).filter(|emulated| *emulated != behaviour.binary)
}

/// With the minimum compatibility version that it was told before, if it was told one.
fn compatible(behaviour: Behaviour, before: Option<Behaviour>) -> Behaviour {
    // One that its binary would have refused is of a binary that did not have the flag.
    let told = before
        .filter(|old| old.min_compatibility >= Behaviour::floor(old.binary))
        .filter(|old| *old != Behaviour::emulating(old.binary, old.emulated));
    Behaviour {
        min_compatibility: told.map_or(behaviour.min_compatibility, |old| old.min_compatibility),
        ..behaviour
    }
}

fn behaviour(process: &Process<'_>, assumed: Option<Minor>) -> Option<Behaviour> {
    let told = process.release().map(|release| release.minor);
    let binary = told.or(assumed)?;
    let usual = Behaviour::emulating(binary, process.emulation.unwrap_or(binary));
    Some(Behaviour {
        min_compatibility: process.min_compatibility.unwrap_or(usual.min_compatibility),
        ..usual
    })
}

/// What it is started with next: what is stored, beside what runs. A flag wins over a file.
pub(super) fn setting(process: &Process<'_>) -> Setting {
    let is_prefixed = process.name.kind.has_prefixed_gates();
    let stored = process.stored.iter().map(|(document, settings)| {
        let source = match document {
            Document::Pod => Source::Pod,
            Document::Configuration if !is_prefixed => Source::ConfigFile,
            _ => Source::Flag,
        };
        (source, *settings)
    });
    let configuration = process.configuration.map(|it| (Source::ConfigFile, it));
    let flags = process.flags.map(|it| (Source::Flag, it));
    let mut all: Vec<_> = stored.chain(configuration).chain(flags).collect();
    // A kubelet reads its file, then drop-ins by their names.
    all.sort_by_key(|(source, settings)| {
        let file = settings.places.file.clone();
        let drop_in = file.filter(|file| process::is_drop_in(file));
        (*source != Source::ConfigFile, drop_in)
    });
    let mut setting = Setting {
        runtime_config: process.runtime_config.cloned(),
        is_unknown: all.is_empty(),
        ..Setting::default()
    };
    for (source, settings) in all {
        for (name, value) in &settings.gates {
            let known = setting.gates.entry(name.clone());
            let known = known.or_insert_with(|| (*value, BTreeSet::new()));
            known.0 = *value;
            known.1.insert(source);
        }
        if settings.places.file.is_some() {
            setting.places.push((source, settings.places.clone()));
        }
        let refused = settings.refused.iter();
        setting
            .refused
            .extend(refused.map(|fault| (source, fault.clone())));
    }
    setting
}
