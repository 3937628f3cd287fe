//! What rules read of a Pod that runs, and nothing else: of a hundred thousand of them the rest is most of the memory.
//!
//! A rule that comes to read another field of such a Pod adds it here; a test compares answers of whole Pods and of reduced ones.
//! It must not touch a Pod without a node: these are few, and rules name who nominated them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::workloads;
use crate::model::needs::PodNeeds;
use crate::model::pod::Pod;
use crate::model::quantity::Resources;

/// So many different ones are remembered: more than a cluster has templates that are listed one after the other.
const REMEMBERED: usize = 512;

/// Reduces Pods, and lets those that are alike share what they need.
#[derive(Debug, Default)]
pub(crate) struct Reducer {
    needs: Mutex<Vec<Arc<PodNeeds>>>,
    requests: Mutex<Vec<Arc<Resources>>>,
}

impl Reducer {
    pub(crate) fn reduce(&self, pod: &mut Pod) {
        if pod.node.is_none() {
            return;
        }
        pod.labels = BTreeMap::new();
        pod.finalizers = Vec::new();
        pod.decision = None;
        pod.managed_fields = None;
        pod.controller_uid = None;
        pod.scheduler_name = String::new();
        pod.preemption_policy = None;
        pod.tolerations = Vec::new();
        pod.gates = Vec::new();
        pod.reason = None;
        pod.message = None;
        pod.nominated_node = None;
        pod.conditions
            .retain(|it| workloads::CONDITIONS.contains(&it.kind.as_str()));
        pod.conditions.shrink_to_fit();
        if let Some(needs) = &mut pod.needs {
            share(&self.needs, needs);
        }
        share(&self.requests, &mut pod.requests);
    }
}

/// Takes one that is known and equal in place of it.
fn share<T: PartialEq>(known: &Mutex<Vec<Arc<T>>>, own: &mut Arc<T>) {
    // Whoever panicked with it did not leave half a Pod in it.
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().rev().find(|it| ***it == **own) {
        *own = Arc::clone(same);
        return;
    }
    if known.len() == REMEMBERED {
        known.remove(0);
    }
    known.push(Arc::clone(own));
}
