//! Who looks at requirements: which of them a scheduler or an API server checks, by its version and its gate.
//!
//! An older one drops what it does not know and says nothing (observed: a 1.36 scheduler bound a Pod with bindMountOptions to a 1.36
//! node). The gate is off by default in 1.35, on in 1.36 where five gates together turn it off, and locked on from 1.37
//! (kubernetes 1.35.4, 1.36.3, 1.37.2 `pkg/features/kube_features.go`). What was not observed is unknown.

use std::collections::BTreeSet;

use crate::analysis::gates::minors;
use crate::analysis::requirement::{Feature, MECHANISM, NEWEST, OLDEST};
use crate::answer::feature_explanation::Enforcer;
use crate::answer::gate_skew::Known;
use crate::catalogue::{Behaviour, Catalogue};
use crate::model::component::ComponentKind;
use crate::model::version::Minor;
use crate::model::world::World;

/// The scheduler whose version the control plane's tells.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// What is known of who enforces.
#[derive(Debug)]
pub(super) struct Enforcement {
    name: String,
    minors: BTreeSet<Minor>,
    known: Known,
    /// The gate of the mechanism, as it was observed.
    mechanism: Option<bool>,
    /// It said of a Pod that nodes lack declared features.
    has_said_so: bool,
}

/// The API server that admits an update.
pub(super) fn api_server(world: &World) -> Enforcement {
    let kind = ComponentKind::KubeApiserver;
    let mut seen = minors::of(world, kind);
    if seen.is_empty() {
        seen.extend(world.version());
    }
    Enforcement {
        name: kind.word().to_owned(),
        known: if seen.is_empty() {
            Known::Unknown
        } else {
            Known::Observed
        },
        minors: seen,
        mechanism: world.gate(kind, MECHANISM),
        has_said_so: false,
    }
}

/// The scheduler of a Pod. Where none was seen it is of the API server's minor or the one before (upstream's version skew policy).
///
/// `named` is whether its message names the lacking features, as 1.35 does; null where it said nothing of them.
pub(super) fn scheduler(world: &World, name: &str, named: Option<bool>) -> Enforcement {
    let kind = ComponentKind::KubeScheduler;
    let enforcement = |minors, known| Enforcement {
        name: name.to_owned(),
        minors,
        known,
        mechanism: world.gate(kind, MECHANISM),
        has_said_so: named.is_some(),
    };
    if name != DEFAULT_SCHEDULER {
        return Enforcement {
            mechanism: None,
            ..enforcement(BTreeSet::new(), Known::Unknown)
        };
    }
    let seen = minors::of(world, kind);
    if !seen.is_empty() {
        return enforcement(seen, Known::Observed);
    }
    let servers = api_server(world).minors;
    let mut allowed: BTreeSet<Minor> = servers
        .iter()
        .flat_map(|server| [*server, Minor(server.0.saturating_sub(1))])
        .collect();
    if let Some(named) = named {
        allowed.retain(|minor| {
            if named {
                *minor == OLDEST
            } else {
                *minor > OLDEST
            }
        });
    }
    let known = if allowed.is_empty() {
        Known::Unknown
    } else {
        Known::Derived
    };
    enforcement(allowed, known)
}

/// Whether a component looks at declared features at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mechanism {
    On,
    Off,
    /// Nothing was seen of the gate, which is on unless somebody turned it off.
    OnByDefault,
    /// Nothing was seen of the gate, which is off unless somebody turned it on: who uses it has.
    Unknown,
}

/// Whether a component of a minor does, by what was seen of its gate.
pub(super) fn mechanism(minor: Minor, seen: Option<bool>) -> Mechanism {
    if minor < OLDEST {
        return Mechanism::Off;
    }
    let spec = Catalogue::known().at(MECHANISM, Behaviour::native(minor));
    match (seen, spec) {
        _ if minor > NEWEST || spec.is_some_and(|spec| spec.locked) => Mechanism::On,
        (Some(true), _) => Mechanism::On,
        (Some(false), _) => Mechanism::Off,
        (None, Some(spec)) if spec.default => Mechanism::OnByDefault,
        (None, _) => Mechanism::Unknown,
    }
}

impl Enforcement {
    /// Whether it checks a requirement; null where it is not known, or where several differ.
    pub(super) fn checks(&self, feature: &Feature) -> Option<bool> {
        self.checks_where(|minor| feature.is_registered(minor))
    }

    /// The same of what only some minors require.
    pub(super) fn checks_where(&self, requires: impl Fn(Minor) -> bool) -> Option<bool> {
        if self.has_said_so && self.minors.is_empty() {
            return Some(true);
        }
        let one = |minor: &Minor| {
            if !requires((*minor).min(NEWEST)) {
                return Some(false);
            }
            match self.mechanism_of(*minor) {
                Mechanism::On | Mechanism::OnByDefault => Some(true),
                Mechanism::Off => Some(false),
                Mechanism::Unknown => None,
            }
        };
        let answers: BTreeSet<Option<bool>> = self.minors.iter().map(one).collect();
        match answers.into_iter().collect::<Vec<_>>().as_slice() {
            [alone] => *alone,
            _ => None,
        }
    }

    /// The minors that it may be of: all that are known where none was seen.
    pub(super) fn possible(&self) -> BTreeSet<Minor> {
        if self.minors.is_empty() {
            return (OLDEST.0..=NEWEST.0).map(Minor).collect();
        }
        self.minors
            .iter()
            .map(|minor| (*minor).min(NEWEST))
            .collect()
    }

    fn mechanism_of(&self, minor: Minor) -> Mechanism {
        mechanism(minor, self.mechanism.or(self.has_said_so.then_some(true)))
    }

    /// What an answer of `checks` rests on.
    pub(super) fn why(&self, feature: &Feature, checks: Option<bool>) -> String {
        let who = self.who();
        match checks {
            Some(true) if self.has_said_so => format!("{who} said so"),
            Some(true) => {
                let is_default = |it: &Minor| self.mechanism_of(*it) == Mechanism::OnByDefault;
                let by_default = if self.minors.iter().any(is_default) {
                    ", by default"
                } else {
                    ""
                };
                format!("{who} knows it and looks at declared features{by_default}")
            }
            Some(false) if self.minors.iter().any(|it| feature.is_registered(*it)) => {
                format!("{who} has the gate {MECHANISM} off")
            }
            Some(false) => format!("{who} does not know it"),
            None if self.minors.is_empty() => format!("the version of {who} was not seen"),
            None => format!("it depends on the version, or on the gate {MECHANISM}, of {who}"),
        }
    }

    fn who(&self) -> String {
        let versions: Vec<String> = self.minors.iter().map(Minor::to_string).collect();
        match (versions.as_slice(), self.known) {
            ([], _) => self.name.clone(),
            (versions, Known::Observed) => format!("{} {}", self.name, versions.join(" and ")),
            (versions, _) => format!(
                "{} ({}, by the API server's version)",
                self.name,
                versions.join(" or ")
            ),
        }
    }

    pub(super) fn report(&self) -> Enforcer {
        Enforcer {
            versions: self.minors.iter().map(Minor::to_string).collect(),
            known: self.known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::requirement;

    fn of(minors: &[u32], mechanism: Option<bool>) -> Enforcement {
        Enforcement {
            name: "kube-scheduler".to_owned(),
            minors: minors.iter().copied().map(Minor).collect(),
            known: Known::Observed,
            mechanism,
            has_said_so: false,
        }
    }

    #[test]
    fn a_version_bounds_what_is_checked() {
        let restart = requirement::find("RestartAllContainersOnContainerExits").expect("known");
        let mounts = requirement::find("VolumeBindMountOptions").expect("known");
        for (minors, gate, due) in [
            (&[37][..], None, (Some(true), Some(true))),
            (&[36], None, (Some(true), Some(false))),
            (&[36], Some(false), (Some(false), Some(false))),
            (&[35], None, (None, Some(false))),
            (&[35], Some(true), (Some(true), Some(false))),
            (&[34], None, (Some(false), Some(false))),
            (&[36, 37], None, (Some(true), None)),
            (&[38], None, (Some(true), Some(true))),
            (&[], None, (None, None)),
        ] {
            let one = of(minors, gate);
            assert_eq!(
                (one.checks(restart), one.checks(mounts)),
                due,
                "{minors:?} {gate:?}"
            );
        }
    }
}
