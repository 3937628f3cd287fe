//! The effective value of each gate in one process, what makes it so, and how it is known.
//!
//! Processes that are told alike share one table, so that thousands of nodes take little more room than one. Where only a
//! version is known nothing follows: vendors change defaults, and people set flags.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::process::Process;
use super::start::Start;
use crate::answer::gate_skew::{Cause, GateValue, Known};
use crate::catalogue::{Behaviour, Catalogue, META_GATES, Spec, Stage};
use crate::model::component::{Document, GateTable, Settings};
use crate::model::version::Minor;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Effective {
    pub(super) value: GateValue,
    pub(super) cause: Cause,
    pub(super) known: Known,
}

/// The gates of a process by name, without the two that stand for many.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) gates: BTreeMap<String, Effective>,
    /// How its values are known, the surest way first.
    pub(super) known: Known,
    /// Null where the catalogue does not know the version.
    pub(super) behaviour: Option<Behaviour>,
}

/// Where what was set comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    gates: BTreeMap<String, (bool, Setter)>,
    /// Nothing else sets a gate, so that the others have their defaults.
    is_whole: bool,
    /// The component would not start with it.
    is_refused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Setter {
    Flag,
    ConfigFile,
}

/// What a table depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'w> {
    binary: Option<Minor>,
    emulated: Option<Minor>,
    min_compatibility: Option<Minor>,
    runs: Option<&'w GateTable>,
    asked: Option<Asked>,
}

/// Makes tables, each once.
#[derive(Debug, Default)]
pub(super) struct Tables<'w>(BTreeMap<Key<'w>, Rc<Table>>);

impl<'w> Tables<'w> {
    pub(super) fn of(&mut self, process: &Process<'w>) -> Rc<Table> {
        let key = Key {
            binary: process.release().map(|release| release.minor),
            emulated: process.emulation,
            min_compatibility: process.min_compatibility,
            runs: process.runs,
            asked: asked(process),
        };
        self.made(key)
    }

    /// Of a component that is started so.
    pub(super) fn of_start(&mut self, start: &Start) -> Rc<Table> {
        let setter = if start.kind.has_prefixed_gates() {
            Setter::Flag
        } else {
            Setter::ConfigFile
        };
        let gates = start.gates.iter();
        self.made(Key {
            binary: Some(start.behaviour.binary),
            emulated: Some(start.behaviour.emulated),
            min_compatibility: Some(start.behaviour.min_compatibility),
            runs: None,
            asked: Some(Asked {
                gates: gates
                    .map(|(name, on)| (name.clone(), (*on, setter)))
                    .collect(),
                is_whole: true,
                is_refused: false,
            }),
        })
    }

    fn made(&mut self, key: Key<'w>) -> Rc<Table> {
        let made = self.0.entry(key);
        Rc::clone(made.or_insert_with_key(|key| Rc::new(table(key))))
    }
}

/// What a process was told, as far as any document says: what runs first, then what it is started with.
fn asked(process: &Process<'_>) -> Option<Asked> {
    let is_prefixed = process.name.kind.has_prefixed_gates();
    let mut asked = Asked::default();
    // A kubelet's own configuration is what its flags were merged into; without it the flags tell a part only.
    let mut running = Vec::new();
    running.extend(
        process
            .configuration
            .map(|settings| (settings, Setter::ConfigFile)),
    );
    running.extend(process.flags.map(|settings| (settings, Setter::Flag)));
    let is_whole = if is_prefixed {
        process.flags.is_some()
    } else {
        process.configuration.is_some()
    };
    let stored = process.stored.iter().map(|(document, settings)| {
        let is_file = *document == Document::Configuration && !is_prefixed;
        (
            *settings,
            if is_file {
                Setter::ConfigFile
            } else {
                Setter::Flag
            },
        )
    });
    let mut all: Vec<(&Settings, Setter)> = if is_whole {
        running
    } else {
        stored.chain(running).collect()
    };
    if all.is_empty() {
        return None;
    }
    let is_file = |(_, setter): &(&Settings, Setter)| *setter == Setter::ConfigFile;
    asked.is_whole = is_whole || is_prefixed || all.iter().any(is_file);
    // A flag wins over a file.
    all.sort_by_key(|one| !is_file(one));
    for (settings, setter) in all {
        asked.is_refused |= !settings.refused.is_empty();
        for (name, value) in &settings.gates {
            asked.gates.insert(name.clone(), (*value, setter));
        }
    }
    Some(asked)
}

fn table(key: &Key<'_>) -> Table {
    let catalogue = Catalogue::known();
    let behaviour = key
        .binary
        .filter(|binary| catalogue.gates(*binary).is_some())
        .map(|binary| {
            let usual = Behaviour::emulating(binary, key.emulated.unwrap_or(binary));
            Behaviour {
                min_compatibility: key.min_compatibility.unwrap_or(usual.min_compatibility),
                ..usual
            }
        });
    let mut names: Vec<&str> = Vec::new();
    if let Some(behaviour) = behaviour {
        let registered = catalogue.gates(behaviour.binary).into_iter().flatten();
        names.extend(registered.map(|(name, _)| *name));
    }
    names.extend(
        key.runs
            .into_iter()
            .flat_map(|runs| runs.keys().map(String::as_str)),
    );
    let asked = key.asked.iter().flat_map(|asked| asked.gates.keys());
    names.extend(asked.map(String::as_str));
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !META_GATES.contains(name));
    let gates: BTreeMap<String, Effective> = names
        .into_iter()
        .map(|name| (name.to_owned(), effective(key, behaviour, name)))
        .collect();
    let known = if key.runs.is_some() {
        Known::Observed
    } else if behaviour.is_some()
        && (key.asked.as_ref()).is_some_and(|asked| asked.is_whole && !asked.is_refused)
    {
        Known::Derived
    } else {
        Known::Unknown
    };
    Table {
        gates,
        known,
        behaviour,
    }
}

fn effective(key: &Key<'_>, behaviour: Option<Behaviour>, name: &str) -> Effective {
    let spec = behaviour.and_then(|behaviour| Catalogue::known().at(name, behaviour));
    let asked = key.asked.as_ref();
    let set = asked.and_then(|asked| asked.gates.get(name)).copied();
    let meta = spec.and_then(|spec| meta(asked?, spec));
    if let Some(runs) = key.runs {
        let Some(value) = runs.get(name).copied() else {
            return Effective {
                value: GateValue::NotInVersion,
                cause: Cause::NotInVersion,
                known: Known::Observed,
            };
        };
        let cause = match (set, meta) {
            (Some((asked, setter)), _) if asked == value => setter.cause(),
            (_, Some((asked, cause))) if asked == value => cause,
            _ => by_version(behaviour, name, spec, value),
        };
        return Effective {
            value: value.into(),
            cause,
            known: Known::Observed,
        };
    }
    let unknown = Effective {
        value: GateValue::Unknown,
        cause: Cause::Unknown,
        known: Known::Unknown,
    };
    match (asked, set, spec) {
        (None, ..) => unknown,
        (Some(asked), ..) if asked.is_refused => unknown,
        (_, Some((value, setter)), _) => Effective {
            value: value.into(),
            cause: setter.cause(),
            known: Known::Configured,
        },
        (Some(asked), None, _) if !asked.is_whole => unknown,
        (_, None, Some(spec)) => match meta {
            Some((value, cause)) => Effective {
                value: value.into(),
                cause,
                known: Known::Configured,
            },
            None => Effective {
                value: spec.default.into(),
                cause: by_version(behaviour, name, Some(spec), spec.default),
                known: Known::Derived,
            },
        },
        (_, None, None) if behaviour.is_some() => Effective {
            value: GateValue::NotInVersion,
            cause: Cause::NotInVersion,
            known: Known::Derived,
        },
        _ => unknown,
    }
}

/// A value that nothing set: by the version, or by the version that is emulated.
fn by_version(behaviour: Option<Behaviour>, name: &str, spec: Option<&Spec>, value: bool) -> Cause {
    let Some((behaviour, spec)) = behaviour.zip(spec) else {
        return Cause::Unknown;
    };
    if spec.default != value {
        return Cause::Unknown;
    }
    let native = Catalogue::known().at(name, Behaviour::native(behaviour.binary));
    if native.is_none_or(|native| native.default != value) {
        Cause::Emulation
    } else {
        Cause::VersionDefault
    }
}

/// What `AllAlpha` or `AllBeta` makes of a gate that is not set by name.
fn meta(asked: &Asked, spec: &Spec) -> Option<(bool, Cause)> {
    let (value, _) = asked.gates.get(spec.stage.meta_gate()?)?;
    let cause = if spec.stage == Stage::Alpha {
        Cause::AllAlpha
    } else {
        Cause::AllBeta
    };
    Some((*value, cause))
}

impl Setter {
    fn cause(self) -> Cause {
        match self {
            Self::Flag => Cause::Flag,
            Self::ConfigFile => Cause::ConfigFile,
        }
    }
}
