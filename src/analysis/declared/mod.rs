//! What nodes declare (KEP-5328), and what it is worth: node by node, by pool, by feature.
//!
//! A list is a promise that a scheduler and an API server take on trust. Here it is held against what is known of the kubelet that
//! should have made it. It must not look at Pods: what they require is `requirement`'s.

mod advice;
mod freshness;
mod life;
pub(crate) mod policy;
mod pretence;
pub(crate) mod wants;
pub(crate) mod writers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::gates::kubelet::{self, KubeletGates};
use super::gates::skew;
use super::requirement::{self, NEWEST, OLDEST};
use crate::answer::Header;
use crate::answer::declared_features::{
    Counts, DeclaredFeatures, FeatureRow, Freshness, Group, Matter, NodeRow, Pool, Spread,
};
use crate::model::coverage::State;
use crate::model::node::{ListOwner, Node};
use crate::model::version::Minor;
use crate::model::want::Want;
use crate::model::world::World;
pub(crate) use freshness::Judgement;
use life::Life;

/// What to look at and what to show.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// Which nodes, and how their kubelets are reached.
    pub(crate) observation: skew::Request,
    /// Only nodes whose list is Stale.
    pub(crate) stale: bool,
    /// Only nodes that lack this feature, or cannot have declared it.
    pub(crate) missing: Option<String>,
    /// A kubelet that gave no sign of life for longer is not known to live.
    pub(crate) max_age: Option<SignedDuration>,
}

/// A node, and what its list is worth.
#[derive(Debug)]
pub(crate) struct Judged<'w> {
    pub(crate) node: &'w Node,
    pub(crate) pool: Option<String>,
    pub(crate) judgement: Judgement,
    life: Life,
}

impl Judged<'_> {
    pub(crate) fn features(&self) -> &[String] {
        self.node.declared.features.as_deref().unwrap_or_default()
    }

    pub(crate) fn has(&self, feature: &str) -> bool {
        self.judgement.has(self.features(), feature)
    }
}

/// All nodes that the request is about, by name.
pub(crate) fn judge<'w>(world: &'w World, request: &Request, now: Timestamp) -> Vec<Judged<'w>> {
    let gates = kubelet::all(world, request.observation.pool_label.as_deref());
    judge_by(world, &gates, request, now).collect()
}

/// What is the matter with lists that are not fresh.
pub(crate) fn matters(world: &World, request: &Request, now: Timestamp) -> Vec<Matter> {
    advice::findings(&judge(world, request, now))
}

/// The same by what is known of gates, one after the other.
fn judge_by<'w>(
    world: &'w World,
    gates: &BTreeMap<String, KubeletGates>,
    request: &Request,
    now: Timestamp,
) -> impl Iterator<Item = Judged<'w>> {
    let about = &request.observation;
    world
        .nodes()
        .map(|node| &node.value)
        .filter_map(move |node| {
            let pool = pool_of(node, gates, about.pool_label.as_deref());
            let gates = gates.get(&node.name);
            about
                .is_about_node(&node.name, pool.as_deref())
                .then(|| judge_one(world, node, pool, gates, request, now))
        })
}

/// The pool of a node: as its kubelet's statements tell it, or its labels.
pub(crate) fn pool_of(
    node: &Node,
    gates: &BTreeMap<String, KubeletGates>,
    label: Option<&str>,
) -> Option<String> {
    let told = gates.get(&node.name).and_then(|gates| gates.pool.clone());
    told.or_else(|| super::gates::pool::of(&node.labels, label))
}

fn judge_one<'w>(
    world: &'w World,
    node: &'w Node,
    pool: Option<String>,
    gates: Option<&KubeletGates>,
    request: &Request,
    now: Timestamp,
) -> Judged<'w> {
    let life = life::of(node, world.node_lease(&node.name), request.max_age, now);
    Judged {
        node,
        pool,
        judgement: freshness::judge(node, gates, &life, now),
        life,
    }
}

/// The answer for all nodes that the request is about; of those it shows the ones that are asked for.
pub(crate) fn declared(
    world: &World,
    request: &Request,
    now: Timestamp,
    generated_at: Timestamp,
) -> DeclaredFeatures {
    let mut judged = judge(world, request, now);
    let names: BTreeSet<&str> = judged
        .iter()
        .flat_map(|it| it.features().iter().map(String::as_str))
        .chain(request.missing.as_deref())
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let is_shown = |it: &&Judged<'_>| {
        let freshness = it.judgement.freshness;
        let lacks = |feature: &String| !it.has(feature);
        (!request.stale || freshness == Freshness::Stale)
            && request.missing.as_ref().is_none_or(lacks)
    };
    let is_listed = world
        .state_of(&Want::Nodes)
        .is_none_or(|state| state == State::Complete);
    let is_unknown = |it: &Judged<'_>| it.judgement.freshness == Freshness::Unknown;
    let groups = groups(&judged);
    let pools = pools(&judged, &names);
    let features = names.iter().map(|name| feature(&judged, name)).collect();
    let findings = advice::findings(&judged);
    let labels = pretence::all(judged.iter().map(|it| it.node));
    let is_incomplete = !is_listed || judged.is_empty() || judged.iter().any(is_unknown);
    judged.retain(|it| is_shown(&it));
    DeclaredFeatures {
        is_incomplete,
        is_list: request.stale || request.missing.is_some(),
        nodes: judged.into_iter().map(row).collect(),
        groups,
        pools,
        features,
        findings,
        labels,
        header: Header::of("DeclaredFeatures", world, now, generated_at),
    }
}

fn row(judged: Judged<'_>) -> NodeRow {
    let Judged {
        node,
        pool,
        judgement,
        life,
    } = judged;
    let managers = |owners: &Vec<ListOwner>| {
        let managers = owners.iter().map(|owner| owner.manager.clone());
        managers.collect()
    };
    NodeRow {
        name: node.name.clone(),
        pool,
        version: node.kubelet_version.clone(),
        container_runtime: node.container_runtime.clone(),
        features: node.declared.features.clone().unwrap_or_default(),
        digest: digest(node),
        freshness: judgement.freshness,
        cause: judgement.cause,
        certainty: judgement.certainty,
        evidence: judgement.evidence,
        completeness: judgement.completeness,
        missing: judgement.missing,
        unexpected: judgement.unexpected,
        written_by: node.declared.owners.as_ref().map(managers),
        last_seen: life.seen,
        unschedulable: node.unschedulable,
    }
}

/// SHA-256 over the lines of a list; null where there is none.
fn digest(node: &Node) -> Option<String> {
    let features = node.declared.features.as_ref()?;
    let mut digest = Sha256::new();
    for name in features {
        digest.update(format!("{name}\n"));
    }
    let mut text = String::with_capacity(64);
    for byte in digest.finalize() {
        // Writing to a String cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    Some(text)
}

fn counts<'j>(judged: impl IntoIterator<Item = &'j Judged<'j>>) -> Counts {
    let mut counts = Counts::default();
    for it in judged {
        counts.add(it.judgement.freshness);
    }
    counts
}

/// Nodes of one pool and version whose lists are the same.
fn groups(judged: &[Judged<'_>]) -> Vec<Group> {
    let mut groups: BTreeMap<_, Vec<&Judged<'_>>> = BTreeMap::new();
    for it in judged {
        let key = (
            &it.pool,
            &it.node.kubelet_version,
            &it.node.declared.features,
        );
        groups.entry(key).or_default().push(it);
    }
    groups
        .into_iter()
        .map(|((pool, version, features), members)| Group {
            pool: pool.clone(),
            version: version.clone(),
            digest: members.first().and_then(|it| digest(it.node)),
            features: features.clone().unwrap_or_default(),
            nodes: members.iter().map(|it| it.node.name.clone()).collect(),
            counts: counts(members),
        })
        .collect()
}

fn pools(judged: &[Judged<'_>], names: &[&str]) -> Vec<Pool> {
    let mut pools: BTreeMap<&Option<String>, Vec<&Judged<'_>>> = BTreeMap::new();
    for it in judged {
        pools.entry(&it.pool).or_default().push(it);
    }
    pools
        .into_iter()
        .map(|(name, members)| {
            let versions = members
                .iter()
                .filter_map(|it| it.node.kubelet_version.as_ref());
            let versions: BTreeSet<&String> = versions.collect();
            let worst = members.iter().map(|it| it.judgement.freshness).min();
            Pool {
                name: name.clone(),
                versions: versions.into_iter().cloned().collect(),
                freshness: worst.unwrap_or(Freshness::Unknown),
                features: names.iter().map(|name| share(&members, name)).collect(),
                counts: counts(members.iter().copied()),
            }
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "no cluster has so many nodes")]
fn share(nodes: &[&Judged<'_>], name: &str) -> Spread {
    let lists = |it: &&&Judged<'_>| it.features().iter().any(|known| known == name);
    let with: Vec<&&Judged<'_>> = nodes.iter().filter(lists).collect();
    let is = |freshness: Freshness| {
        let of = with.iter().filter(|it| it.judgement.freshness == freshness);
        of.count()
    };
    Spread {
        name: name.to_owned(),
        nodes: with.len(),
        fresh: is(Freshness::Fresh),
        stale: is(Freshness::Stale),
        share: with.len() as f64 / nodes.len().max(1) as f64,
    }
}

fn feature(judged: &[Judged<'_>], name: &str) -> FeatureRow {
    let all: Vec<&Judged<'_>> = judged.iter().collect();
    let known = requirement::find(name);
    let minors = (OLDEST.0..=NEWEST.0).map(Minor);
    let minors = minors.filter(|minor| known.is_some_and(|it| it.is_registered(*minor)));
    FeatureRow {
        share: share(&all, name),
        versions: minors.map(|minor| minor.to_string()).collect(),
    }
}
