//! What is read to know what nodes declare: one list of Nodes, one of their Leases, and of the kubelets whose lists neither decides,
//! what they run with.
//!
//! A version from 1.37 on, or before 1.35, decides by itself; a kubelet of 1.35 or 1.36 may have the gate off. Of those no more than
//! [`SAMPLE`] of each pool and version are asked, unless more are wanted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::freshness::GATES_NOT_OBSERVED;
use super::{Request, judge_by};
use crate::analysis::gates::{skew, wants};
use crate::model::want::Want;
use crate::model::world::World;

/// Kubelets of one pool and version that are asked where nobody says how many.
pub(crate) const SAMPLE: usize = 50;

/// What is still to be read.
pub(crate) fn wants(world: &World, request: &Request, now: Timestamp) -> BTreeSet<Want> {
    let mut wants = BTreeSet::from([Want::Nodes, Want::NodeLeases]);
    if world.state_of(&Want::Nodes).is_none() {
        return wants;
    }
    // By what Nodes and Leases tell alone: what was read since must not take a want back.
    let undecided: BTreeSet<String> = judge_by(world, &BTreeMap::new(), request, now)
        .filter(|it| it.judgement.cause == GATES_NOT_OBSERVED)
        .map(|it| it.node.name.clone())
        .collect();
    if !undecided.is_empty() {
        let observation = skew::Request {
            nodes: undecided,
            sample: sample(&request.observation),
            ..request.observation.clone()
        };
        wants.extend(wants::of_kubelets(world, &observation));
    }
    wants
}

fn sample(observation: &skew::Request) -> Option<usize> {
    if observation.exact {
        return None;
    }
    observation.sample.or(Some(SAMPLE))
}

/// All reads that may come to be needed, those of any node once.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    let base = [Want::Nodes, Want::NodeLeases];
    let of_kubelets = wants::possible_of_kubelets(&request.observation);
    base.into_iter().chain(of_kubelets).collect()
}
