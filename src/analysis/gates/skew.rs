//! The answer of `features skew`: processes, groups, differences, contradictions and version skew of one moment.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::effective::Tables;
use super::fingerprint::{self, Fingerprints};
use super::process::{self, Process};
use super::{contradiction, difference, replicas, version_skew};
use crate::answer::gate_skew::{ComponentRow, GateSkew, Group, Known, Relevance, Severity};
use crate::answer::{API_VERSION, Header};
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::coverage::{Coverage, State};
use crate::model::want::Want;
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
    /// Addresses of components, `https://HOST:PORT`.
    pub(crate) components: BTreeSet<(ComponentName, String)>,
    /// Reach kubelets at their own addresses.
    pub(crate) direct_kubelets: bool,
    /// A whole cluster was observed, so that what is missing was not seen.
    pub(crate) is_whole: bool,
    /// Read every node exactly.
    pub(crate) exact: bool,
    /// Read the configuration of so many nodes of a pool and version only; null is all.
    pub(crate) sample: Option<usize>,
}

impl Request {
    fn wants_kind(&self, kind: ComponentKind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether a process is looked at.
    pub(super) fn wants(&self, process: &Process<'_>) -> bool {
        let any = |set: bool, has: bool| !set || has;
        let name = &process.name;
        let is_node = matches!(name.kind, ComponentKind::Kubelet | ComponentKind::KubeProxy);
        let of_pool = process
            .pool
            .as_ref()
            .is_some_and(|pool| self.pools.contains(pool));
        any(!self.kinds.is_empty(), self.kinds.contains(&name.kind))
            && any(!self.pools.is_empty(), !is_node || of_pool)
            && any(
                !self.nodes.is_empty(),
                !is_node || self.nodes.contains(&name.identity),
            )
    }
}

pub(crate) fn skew(
    world: &World,
    request: &Request,
    now: Timestamp,
    generated_at: Timestamp,
) -> GateSkew {
    let mut processes = process::all(world, request.pool_label.as_deref());
    processes.retain(|process| request.wants(process));
    let mut tables = Tables::default();
    let tables: Vec<_> = processes.iter().map(|process| tables.of(process)).collect();
    let members: Vec<difference::Member<'_, '_>> = processes
        .iter()
        .zip(&tables)
        .map(|(process, table)| (process, &**table))
        .collect();
    let mut fingerprints = BTreeMap::new();
    let rows: Vec<(ComponentRow, Known)> = members
        .iter()
        .map(|(process, table)| {
            let key = (process.name.kind, std::ptr::from_ref(*table));
            let fingerprints: &Fingerprints = fingerprints
                .entry(key)
                .or_insert_with(|| fingerprint::of(process.name.kind, table));
            (row(process, table.known, fingerprints, now), table.known)
        })
        .collect();
    let mut differences = difference::of(&members, &request.gates);
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
    let mut coverage: Vec<_> = world.coverage().cloned().collect();
    let mut missing = missing(&processes, request);
    let is_of_servers = request.wants_kind(ComponentKind::KubeApiserver);
    missing.extend(replicas::missing(world, &processes).filter(|_| is_of_servers));
    let is_missing = !missing.is_empty();
    coverage.extend(missing);
    let is_listed = world
        .state_of(&Want::Nodes)
        .is_none_or(|state| state == State::Complete);
    let is_unknown = rows
        .iter()
        .any(|(row, known)| *known == Known::Unknown || row.version.is_none());
    GateSkew {
        groups: groups(&rows),
        components: rows.into_iter().map(|(row, _)| row).collect(),
        differences,
        contradictions: contradiction::of(&processes),
        version_skew: version_skew::of(&processes),
        left_out,
        is_incomplete: is_unknown
            || is_missing
            || !is_listed
            || processes.is_empty()
            || (is_of_servers && replicas::is_unsure(world)),
        header: Header {
            api_version: API_VERSION,
            kind: "GateSkew",
            generated_at,
            now,
            sources: world.sources().cloned().collect(),
            coverage,
        },
    }
}

/// Kinds that every cluster has and nobody saw.
fn missing(processes: &[Process<'_>], request: &Request) -> Vec<Coverage> {
    let due = [
        ComponentKind::KubeApiserver,
        ComponentKind::KubeControllerManager,
        ComponentKind::KubeScheduler,
        ComponentKind::Kubelet,
    ];
    due.into_iter()
        .filter(|kind| request.is_whole && request.wants_kind(*kind))
        .filter(|kind| !processes.iter().any(|process| process.name.kind == *kind))
        .map(|kind| {
            let word = kind.word();
            Coverage {
                source: String::new(),
                subject: word.to_owned(),
                state: State::Absent,
                detail: Some(format!(
                    "no {word} was seen; if there is one, name its address: --component {word}=https://HOST:PORT"
                )),
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
fn groups(rows: &[(ComponentRow, Known)]) -> Vec<Group> {
    let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (row, _) in rows {
        let key = (
            row.kind,
            row.version.clone(),
            row.pool.clone(),
            row.fingerprint_relevant.clone(),
        );
        groups.entry(key).or_default().push(row.name.clone());
    }
    let known: BTreeMap<&str, Known> = rows
        .iter()
        .map(|(row, known)| (row.name.as_str(), *known))
        .collect();
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(
            |((kind, version, pool, fingerprint_relevant), members)| Group {
                kind,
                version,
                pool,
                fingerprint_relevant,
                count: members.len(),
                // One that was read exactly speaks for those that the same value was derived for.
                known: members
                    .iter()
                    .filter_map(|name| known.get(name.as_str()).copied())
                    .min()
                    .unwrap_or(Known::Unknown),
                members,
            },
        )
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
