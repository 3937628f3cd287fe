//! The answer of `features skew`: processes, groups, differences, contradictions and version skew of one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::Timestamp;

use super::effective::{Table, Tables};
use super::fingerprint::{self, Fingerprints};
use super::process::{self, Process};
use super::{contradiction, difference, replicas, version_skew, wants};
use crate::answer::gate_skew::{ComponentRow, GateSkew, Group, Known, Relevance, Severity};
use crate::answer::{API_VERSION, Header};
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::coverage::{Coverage, State};
use crate::model::version::Minor;
use crate::model::want::{Want, Way};
use crate::model::world::World;

/// What to look at and what to show.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// Gates by name; empty is those that differ and matter.
    pub(crate) gates: BTreeSet<String>,
    pub(crate) kinds: BTreeSet<ComponentKind>,
    pub(crate) pools: BTreeSet<String>,
    pub(crate) nodes: BTreeSet<String>,
    pub(crate) pool_label: Option<String>,
    /// Also what differs by version alone, or where nobody uses it.
    pub(crate) all: bool,
    /// Only gates that somebody set.
    pub(crate) only_set: bool,
    /// Components that the user names, and the way to each.
    pub(crate) components: BTreeSet<(ComponentName, Way)>,
    /// Reach kubelets at their own addresses.
    pub(crate) direct_kubelets: bool,
    /// Read every node exactly.
    pub(crate) exact: bool,
    /// The version of components that no document tells one of.
    pub(crate) assumed: Option<Minor>,
    /// Read the configuration of so many nodes of a pool and version only; null is all.
    pub(crate) sample: Option<usize>,
}

impl Request {
    pub(super) fn wants_kind(&self, kind: ComponentKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether a process is looked at.
    pub(super) fn wants(&self, process: &Process<'_>) -> bool {
        let name = &process.name;
        let is_node = matches!(name.kind, ComponentKind::Kubelet | ComponentKind::KubeProxy);
        self.wants_kind(name.kind)
            && (!is_node || self.is_about_node(&name.identity, process.pool.as_deref()))
    }

    /// Whether a node is looked at.
    pub(crate) fn is_about_node(&self, name: &str, pool: Option<&str>) -> bool {
        (self.pools.is_empty() || pool.is_some_and(|pool| self.pools.contains(pool)))
            && (self.nodes.is_empty() || self.nodes.contains(name))
    }
}

/// One moment of one cluster.
#[derive(Debug)]
pub(crate) struct Side<'w> {
    /// The file or context; empty where there is only one.
    pub(crate) label: String,
    pub(crate) world: &'w World,
    pub(crate) now: Timestamp,
    /// A whole cluster was observed, so that what is missing was not seen.
    pub(crate) is_whole: bool,
}

/// What is the matter within one side.
struct Judged<'w> {
    processes: Vec<Process<'w>>,
    tables: Vec<Rc<Table>>,
    coverage: Vec<Coverage>,
    is_incomplete: bool,
}

/// The answer for one side, or for what changed between several.
pub(crate) fn skew(sides: &[Side<'_>], request: &Request, generated_at: Timestamp) -> GateSkew {
    let judged: Vec<Judged<'_>> = sides.iter().map(|side| judge(side, request)).collect();
    let members: Vec<Vec<difference::Member<'_, '_>>> = judged
        .iter()
        .map(|side| {
            side.processes
                .iter()
                .zip(side.tables.iter().map(|table| &**table))
                .collect()
        })
        .collect();
    let mut fingerprints = BTreeMap::new();
    let mut rows: Vec<ComponentRow> = Vec::new();
    for (side, members) in sides.iter().zip(&members) {
        for (process, table) in members {
            let key = (process.name.kind, std::ptr::from_ref(*table));
            let fingerprints: &Fingerprints = fingerprints
                .entry(key)
                .or_insert_with(|| fingerprint::of(process.name.kind, table));
            rows.push(row(process, table.known, fingerprints, side.now));
        }
    }
    let mut differences = match members.as_slice() {
        [alone] => difference::of(alone, &request.gates),
        several => difference::across(several),
    };
    let found = differences.len();
    if !request.gates.is_empty() {
        differences.retain(|difference| request.gates.contains(&difference.gate));
    } else if !request.all {
        differences.retain(|difference| {
            difference.severity != Severity::Info && difference.relevance != Relevance::Irrelevant
        });
    }
    let left_out = if request.gates.is_empty() {
        found - differences.len()
    } else {
        0
    };
    if request.only_set {
        differences.retain(|difference| {
            let mut values = difference.values.iter();
            values.any(|values| difference::is_of_somebody(values.cause))
        });
    }
    let contradictions = members.iter().flat_map(|side| contradiction::of(side));
    let version_skew = judged.iter().flat_map(|side| {
        let members = side.processes.iter();
        let members = members.filter_map(|it| Some((&it.name, it.behaves_as()?)));
        version_skew::of(&members.collect::<Vec<_>>())
    });
    GateSkew {
        groups: groups(&rows),
        components: rows,
        differences,
        contradictions: contradictions.collect(),
        version_skew: version_skew.collect(),
        left_out,
        is_incomplete: judged.iter().any(|side| side.is_incomplete),
        header: Header {
            api_version: API_VERSION,
            kind: "GateSkew",
            generated_at,
            now: sides
                .iter()
                .map(|side| side.now)
                .max()
                .unwrap_or(generated_at),
            sources: sides
                .iter()
                .flat_map(|side| side.world.sources().cloned())
                .collect(),
            coverage: judged.into_iter().flat_map(|side| side.coverage).collect(),
        },
    }
}

fn judge<'w>(side: &Side<'w>, request: &Request) -> Judged<'w> {
    let world = side.world;
    let mut processes = process::all(world, request.pool_label.as_deref());
    processes.retain(|process| request.wants(process));
    if !side.label.is_empty() {
        for process in &mut processes {
            process.name.identity = format!("{}:{}", side.label, process.name.identity);
        }
    }
    let mut tables = Tables::default();
    let tables: Vec<Rc<Table>> = processes.iter().map(|process| tables.of(process)).collect();
    // A bundle holds what `declared` reads, too.
    let of_others = Want::NodeLeases.subject();
    let lines = world.coverage().filter(|line| line.subject != of_others);
    let mut coverage: Vec<Coverage> = lines.cloned().collect();
    let mut missing = missing(&processes, request, side.is_whole);
    let is_of_servers = request.wants_kind(ComponentKind::KubeApiserver);
    missing.extend(replicas::missing(world, &processes).filter(|_| is_of_servers));
    let is_missing = !missing.is_empty();
    coverage.extend(missing);
    coverage.extend(processes.iter().flat_map(refused));
    let listed = world.state_of(&Want::Nodes);
    let is_listed = listed.is_none_or(|state| state == State::Complete);
    let left_out = left_out(&processes, request);
    coverage.extend((!left_out.is_empty()).then(|| Coverage {
        source: String::new(),
        subject: format!("{} kubelets", left_out.len()),
        state: State::Partial,
        detail: Some("left out by --sample; nothing is said of them".to_owned()),
        location: None,
    }));
    let is_unknown = processes
        .iter()
        .zip(&tables)
        .filter(|(process, _)| !left_out.contains(&process.name.identity))
        .any(|(process, table)| table.known == Known::Unknown || process.version.is_none());
    Judged {
        is_incomplete: is_unknown
            || is_missing
            || !is_listed
            || processes.is_empty()
            || (is_of_servers && replicas::is_unsure(world)),
        processes,
        tables,
        coverage,
    }
}

/// Nodes whose kubelets were not to be read.
fn left_out(processes: &[Process<'_>], request: &Request) -> BTreeSet<String> {
    if request.sample.is_none() {
        return BTreeSet::new();
    }
    let kubelets: Vec<&Process<'_>> = processes
        .iter()
        .filter(|process| process.name.kind == ComponentKind::Kubelet)
        .collect();
    let sampled = wants::sampled(&kubelets, request.sample);
    let sampled: BTreeSet<&ComponentName> = sampled.into_iter().map(|it| &it.name).collect();
    let left_out = kubelets.iter().filter(|it| !sampled.contains(&it.name));
    left_out.map(|it| it.name.identity.clone()).collect()
}

/// Settings that a process would not start with.
fn refused(process: &Process<'_>) -> Vec<Coverage> {
    let stored = process
        .stored
        .iter()
        .map(|(document, settings)| (document.word(), *settings));
    let running = [
        ("flags", process.flags),
        ("configuration", process.configuration),
    ];
    let running = running
        .into_iter()
        .filter_map(|(word, settings)| Some((word, settings?)));
    let refused = stored
        .chain(running)
        .flat_map(|(word, settings)| settings.refused.iter().map(move |fault| (word, fault)));
    refused
        .map(|(word, fault)| Coverage {
            source: String::new(),
            subject: format!("gates of {} by its {word}", process.name),
            state: State::Unreadable,
            detail: Some(format!("it does not start with them: {fault}")),
            location: None,
        })
        .collect()
}

/// Kinds that every cluster has and nobody saw.
fn missing(processes: &[Process<'_>], request: &Request, is_whole: bool) -> Vec<Coverage> {
    let due = [
        ComponentKind::KubeApiserver,
        ComponentKind::KubeControllerManager,
        ComponentKind::KubeScheduler,
        ComponentKind::Kubelet,
    ];
    due.into_iter()
        .filter(|kind| is_whole && request.wants_kind(*kind))
        .filter(|kind| !processes.iter().any(|process| process.name.kind == *kind))
        .map(|kind| {
            let word = kind.word();
            Coverage {
                source: String::new(),
                subject: word.to_owned(),
                state: State::Absent,
                detail: Some(format!(
                    "no {word} was seen; if there is one, name its address: --component {word}=https://HOST:PORT, or its Pod: --component {word}=pod:NAMESPACE/POD"
                )),
                location: None,
            }
        })
        .collect()
}

fn row(
    process: &Process<'_>,
    known: Known,
    fingerprints: &Fingerprints,
    now: Timestamp,
) -> ComponentRow {
    ComponentRow {
        name: process.name.to_string(),
        kind: process.name.kind.word(),
        pool: process.pool.clone(),
        version: process.version.clone(),
        emulation_version: process.emulation.map(|minor| minor.to_string()),
        started_at: process.started,
        fingerprint_all: fingerprints.all.clone(),
        fingerprint_relevant: fingerprints.relevant.clone(),
        fingerprint_vendor: fingerprints.vendor.clone(),
        known,
        observed_at: (known == Known::Observed).then_some(now),
    }
}

/// Processes that are alike in kind, version, pool and relevant gates; the smallest last, where the odd one out is.
fn groups(rows: &[ComponentRow]) -> Vec<Group> {
    let mut groups: BTreeMap<_, Vec<&ComponentRow>> = BTreeMap::new();
    for row in rows {
        let key = (row.kind, &row.version, &row.pool, &row.fingerprint_relevant);
        groups.entry(key).or_default().push(row);
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|((kind, version, pool, fingerprint), members)| Group {
            kind,
            version: version.clone(),
            pool: pool.clone(),
            fingerprint_relevant: fingerprint.clone(),
            count: members.len(),
            // One that was read exactly speaks for those that the same value was derived for.
            known: members
                .iter()
                .map(|row| row.known)
                .min()
                .unwrap_or(Known::Unknown),
            members: members.iter().map(|row| row.name.clone()).collect(),
        })
        .collect();
    groups.sort_by(|one, other| {
        (one.kind, std::cmp::Reverse(one.count), &one.members).cmp(&(
            other.kind,
            std::cmp::Reverse(other.count),
            &other.members,
        ))
    });
    groups
}
