//! Rule: the API that a gate is about is served where the gate is on.
//!
//! A gate lets an API server store objects of a group and version, or components read them; whether they are served is said by
//! `--runtime-config`, and alpha and beta versions are not served unless it says so (`analysis::gates::apis`). Which version components
//! read changes with their binary. What is served now is not asked for: after the move the versions are others.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::apis::Served;
use crate::analysis::gates::intention::Target;
use crate::analysis::gates::start::{Fault, Start};
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::catalogue::apis::{NEEDS, Need};
use crate::model::component::{ComponentKind, ComponentName, RuntimeConfig};
use crate::model::version::Minor;

pub(super) const RULE: Rule = Rule {
    id: "served-api",
    title: "the API that a gate is about is served where it is on",
    severity: Severity::Error,
    docs: Docs {
        what: "Looks for gates that would be on and whose group and version components read, and compares it with what the API servers \
               would serve: --runtime-config, as static Pods, kubeadm's configuration and command lines have it, what the binary \
               registers, and what is emulated. What was lacking before the move as well is not told.",
        why: "The feature is on and cannot be used: every object of it is refused as unknown. Some API servers never become ready \
              then, for they wait for objects that they do not serve: with CoordinatedLeaderElection, MutatingAdmissionPolicy or \
              PodCertificateRequest, with StorageVersionAPI, and in 1.36 with GenericWorkload (informer-sync in /readyz).",
        cannot_see: "Versions that a plugin or a vendor's server serves; --runtime-config of an API server whose command line nobody \
                     shows; and before 1.35 which version components read.",
        example: "GenericWorkload would be on, and scheduling.k8s.io/v1beta1 is not served",
    },
    judge,
};

/// What a server lacks for a gate.
struct Lack {
    gate: &'static str,
    /// Of these one has to be served.
    versions: &'static [&'static str],
    /// The one to ask for.
    asked: &'static str,
    /// What is emulated, where that one is newer.
    emulated: Option<Minor>,
    /// Without which the server never becomes ready.
    waits: Option<&'static str>,
}

/// What a server would lack for a gate that is on; null where it is served, or where nobody knows.
fn lack(start: &Start, config: &RuntimeConfig, need: &Need) -> Option<Lack> {
    let versions = need.versions(start.behaviour.binary)?;
    let served = Served::new(start, config)?;
    if versions.iter().any(|it| served.has(it, need.resources)) {
        return None;
    }
    let is_late = |version: &str| served.is_too_new(version, need.resources);
    let known = versions.iter().find(|it| !is_late(it));
    let asked = known.or(versions.first())?;
    Some(Lack {
        gate: need.gate,
        versions,
        asked,
        emulated: is_late(asked).then_some(start.behaviour.emulated),
        waits: need.waited_for(start.behaviour.binary),
    })
}

impl Lack {
    /// What has to be added to the flags of the API servers.
    fn flags(&self) -> String {
        let asked = format!("--runtime-config={}=true", self.asked);
        match self.emulated {
            Some(_) => format!("{asked} --runtime-config-emulation-forward-compatible=true"),
            None => asked,
        }
    }

    fn evidence(&self, servers: &[&ComponentName]) -> impl Iterator<Item = String> {
        let why = match self.emulated {
            Some(minor) => format!("emulates {minor}, and {} is newer", self.asked),
            None => "--runtime-config does not let it be served".to_owned(),
        };
        let waits = self
            .waits
            .map(|lack| format!("such an API server never becomes ready: /readyz lacks {lack}"));
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        [format!("{}: {why}", some(&servers))]
            .into_iter()
            .chain(waits)
    }
}

/// Whether an API server has to serve what a gate needs, before or after: it has the gate on, or a component that is meant has it by
/// name. That newer kubelets have it by default beside a server that has not asks nothing of the server.
fn is_asked<'t>(
    server: &'t Target,
    targets: &'t [Target],
    need: &Need,
    moment: impl Fn(&'t Target) -> &'t Option<Start>,
) -> bool {
    let others = targets
        .iter()
        .filter(|it| it.name.kind != ComponentKind::KubeApiserver);
    is_on([server].into_iter().chain(others), need, moment)
}

/// Whether a component has the gate on so that a server is asked for it.
fn is_on<'t>(
    mut targets: impl Iterator<Item = &'t Target>,
    need: &Need,
    moment: impl Fn(&'t Target) -> &'t Option<Start>,
) -> bool {
    targets.any(|it| {
        let is_server = it.name.kind == ComponentKind::KubeApiserver;
        let start = moment(it).as_ref().filter(|_| is_server || it.is_meant);
        start.is_some_and(|start| {
            let is_named = start.gates.get(need.gate) == Some(&true);
            start.value(need.gate) == Some(true) && (is_server || is_named)
        })
    })
}

fn servers(targets: &[Target]) -> impl Iterator<Item = &Target> {
    let all = targets.iter();
    all.filter(|it| it.name.kind == ComponentKind::KubeApiserver)
}

/// Gates that are on afterwards, and of which something is not as it was: the gate, a binary, what is emulated or told to be served.
fn touched(targets: &[Target]) -> Vec<&'static Need> {
    let behaves = |it: &Option<Start>| it.as_ref().map(|it| it.behaviour);
    let changes = |it: &Target| {
        behaves(&it.before) != behaves(&it.after) || it.runtime_config != it.setting.runtime_config
    };
    let is_changed = targets.iter().any(changes);
    let is_touched = |need: &&Need| {
        is_on(targets.iter(), need, |it| &it.after)
            && (is_changed || !is_on(targets.iter(), need, |it| &it.before))
    };
    NEEDS.iter().filter(is_touched).collect()
}

/// Whether an API has to be asked for: a stable version is served unless somebody takes it away, and only who sees a server can tell.
fn is_asked_for(facts: &Facts<'_>, need: &Need) -> bool {
    let nothing = RuntimeConfig::default();
    let mut starts = facts.meant().filter_map(|it| it.after.as_ref());
    starts.any(|start| {
        let server = Start {
            kind: ComponentKind::KubeApiserver,
            ..start.clone()
        };
        lack(&server, &nothing, need).is_some()
    })
}

/// What API servers would lack that they did not lack before, those that lack the same together.
fn lacking<'t>(
    targets: &'t [Target],
    touched: &[&'static Need],
) -> Vec<(Lack, Vec<&'t ComponentName>)> {
    type Alike = (&'static str, &'static str, Option<Minor>);
    let mut found: BTreeMap<Alike, (Lack, Vec<&ComponentName>)> = BTreeMap::new();
    for server in servers(targets) {
        let (Some(after), Some(config)) = (&server.after, &server.setting.runtime_config) else {
            continue;
        };
        // It does not come to serve anything.
        let is_version = |fault: &Fault| matches!(fault, Fault::Version { .. });
        if server.faults.iter().any(is_version) {
            continue;
        }
        let asked = touched
            .iter()
            .filter(|need| is_asked(server, targets, need, |it| &it.after));
        for need in asked {
            let Some(lack) = lack(after, config, need) else {
                continue;
            };
            let before = server.before.as_ref().zip(server.runtime_config.as_ref());
            let lacked = before.is_some_and(|(it, config)| self::lack(it, config, need).is_some());
            if lacked && is_asked(server, targets, need, |it| &it.before) {
                continue;
            }
            let key = (lack.gate, lack.asked, lack.emulated);
            let known = found.entry(key).or_insert_with(|| (lack, Vec::new()));
            known.1.push(&server.name);
        }
    }
    found.into_values().collect()
}

/// What has to be set beside for it, in a sentence each, with whose it is.
pub(super) fn changes(targets: &[Target]) -> impl Iterator<Item = (String, Vec<&ComponentName>)> {
    let lacking = lacking(targets, &touched(targets)).into_iter();
    lacking.map(|(lack, servers)| (format!("add {}", lack.flags()), servers))
}

fn judge(facts: &Facts<'_>) -> Ruling {
    let targets = &facts.targets;
    let mut touched = touched(targets);
    let is_seen = servers(targets).next().is_some();
    if !is_seen {
        touched.retain(|need| is_asked_for(facts, need));
    }
    if touched.is_empty() {
        let unknown = start::unknown(facts);
        return Ruling {
            skipped: unknown
                .is_none()
                .then(|| "no gate comes to need another API than before".to_owned()),
            unknown,
            ..Ruling::default()
        };
    }
    let is_known = |it: &&Target| it.after.is_some() && it.setting.runtime_config.is_some();
    let unseen = servers(targets).filter(|it| !is_known(it));
    let unseen: Vec<String> = unseen.map(|it| it.name.to_string()).collect();
    let unknown = if is_seen {
        let unseen = Some(unseen).filter(|it| !it.is_empty());
        unseen.map(|it| format!("what {} is told to serve was not seen", some(&it)))
    } else {
        Some("no API server was seen".to_owned())
    };
    let findings = lacking(targets, &touched)
        .into_iter()
        .map(|(lack, servers)| {
            let gate = lack.gate;
            let versions = lack.versions.join(" or ");
            finding(
                gate,
                format!("{gate} would be on, and {versions} is not served"),
                lack.evidence(&servers),
                [format!("start the API servers with {}, too", lack.flags())],
            )
        });
    Ruling {
        findings: findings.collect(),
        unknown,
        skipped: None,
    }
}
