//! Gates of which a difference is known to do harm, and to whom.
//!
//! Each entry has its public report as its source. What is not here is not known to be harmless.

use std::cell::LazyCell;

use super::effective::Tables;
use super::intention::{self, Target};
use super::process::{self, Process};
use crate::catalogue::Behaviour;
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::version::Minor;
use crate::model::world::World;

/// A gate that harms some kubelets while it differs from the API server's, or is switched there.
#[derive(Debug)]
pub(crate) struct Hazard {
    pub(crate) gate: &'static str,
    /// Kubelets of older minors are harmed.
    pub(crate) before: Minor,
    /// By API servers of older minors, which have it off by default.
    pub(super) by_servers_before: Minor,
    pub(crate) harm: &'static str,
}

/// All of them, sorted by gate.
const HAZARDS: &[Hazard] = &[
    // kubernetes/kubernetes#126328, #122028, #119187; the kubelet of 1.31 has the fix (PR #124220), the API server of 1.33 does not
    // write the field any more (PR #128920).
    Hazard {
        gate: "InPlacePodVerticalScaling",
        before: Minor(31),
        by_servers_before: Minor(33),
        harm: "the API server writes resizePolicy into every container that requests something while the gate is on, and a kubelet before 1.31 takes that for a changed container: it restarts all of them at once, when the gate is turned on and when it is turned off again",
    },
];

pub(super) fn of(gate: &str) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| hazard.gate == gate)
}

/// API servers that a move makes do otherwise what harms kubelets.
#[derive(Debug)]
pub(crate) struct Switch<'t> {
    pub(crate) hazard: &'static Hazard,
    /// Servers, and whether they do it then; null where it is not known what they do now, or would do.
    pub(crate) servers: Vec<(&'t ComponentName, Option<bool>)>,
}

/// Every hazard that is switched, or may be.
pub(crate) fn switched<'t>(world: &World, targets: &'t [Target]) -> Vec<Switch<'t>> {
    // They are all looked through only for a server that is old enough.
    let processes = LazyCell::new(|| process::all(world, None));
    let mut tables = Tables::default();
    let mut switches = Vec::new();
    for hazard in HAZARDS {
        let mut servers = Vec::new();
        let is_past = |version: Option<Behaviour>| {
            version.is_some_and(|it| it.emulated >= hazard.by_servers_before)
        };
        let is_open = |it: &&Target| !(is_past(it.versions.0) && is_past(it.versions.1));
        let meant = targets.iter().filter(|it| it.is_meant && is_server(it));
        for target in meant.filter(is_open) {
            let Some(process) = processes.iter().find(|it| it.name == target.name) else {
                continue;
            };
            let before = intention::setting(process);
            let is_left = set(hazard, &before) == set(hazard, &target.setting);
            if is_left && target.versions.0 == target.versions.1 {
                continue;
            }
            let now = hazard.does(target.versions.0.map(|it| it.emulated), || {
                let runs = tables.of(process).gates.get(hazard.gate)?.value.is_on();
                runs.or_else(|| set(hazard, &before))
            });
            let then = hazard.does(target.versions.1.map(|it| it.emulated), || {
                set(hazard, &target.setting)
            });
            match (now, then) {
                (Some(now), Some(then)) if now == then => {}
                (Some(_), Some(then)) => servers.push((&target.name, Some(then))),
                _ => servers.push((&target.name, None)),
            }
        }
        if !servers.is_empty() {
            switches.push(Switch { hazard, servers });
        }
    }
    switches
}

fn is_server(target: &Target) -> bool {
    target.name.kind == ComponentKind::KubeApiserver
}

/// What is set by name, or follows from all that is set; null where that was not seen.
fn set(hazard: &Hazard, setting: &intention::Setting) -> Option<bool> {
    let of = |gate: &str| setting.gates.get(gate).map(|(on, _)| *on);
    of(hazard.gate).or_else(|| {
        let rest = of("AllAlpha").unwrap_or_default();
        (!setting.is_unknown).then_some(rest)
    })
}

impl Hazard {
    /// Whether an API server does what harms, by its version and its gate.
    fn does(&self, minor: Option<Minor>, gate: impl FnOnce() -> Option<bool>) -> Option<bool> {
        if minor? >= self.by_servers_before {
            return Some(false);
        }
        gate()
    }

    /// Whether it harms a process; null where the version is not known.
    pub(super) fn harms(&self, process: &Process<'_>) -> Option<bool> {
        Some(process.behaves_as()? < self.before)
    }
}
