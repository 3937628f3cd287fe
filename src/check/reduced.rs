//! What rules read of a Pod that runs, and nothing else: of a hundred thousand of them the rest is most of the memory.
//!
//! A rule that comes to read another field of such a Pod adds it here; a test compares answers of whole Pods and of reduced ones.
//! It must not touch a Pod without a node: these are few, and rules name who nominated them.

use std::sync::{Arc, Mutex, PoisonError};

use super::workloads;
use crate::model::pod::{Pod, Traits};

/// So many different ones are remembered: more than a cluster has templates that are listed one after the other.
const REMEMBERED: usize = 512;

/// Reduces Pods, and lets those that are alike share what is left.
#[derive(Debug, Default)]
pub(crate) struct Reducer {
    traits: Mutex<Vec<Arc<Traits>>>,
    controllers: Mutex<Vec<Arc<str>>>,
}

impl Reducer {
    pub(crate) fn reduce(&self, pod: &mut Pod) {
        if pod.node.is_none() {
            return;
        }
        let whole = std::mem::take(&mut **pod);
        let mut conditions = whole.conditions;
        conditions.retain(|it| workloads::CONDITIONS.contains(&it.kind.as_str()));
        // Their names are each Pod's own, and would keep it from being like others: rules ask whether there are any.
        let claims = whole.claims.first().map(|_| String::new());
        let claims = claims.into_iter().collect();
        **pod = Traits {
            deletion: whole.deletion,
            from_kubelet: whole.from_kubelet,
            priority: whole.priority,
            requests: whole.requests,
            claims,
            group: whole.group,
            needs: whole.needs,
            component: whole.component,
            phase: whole.phase,
            conditions,
            ..Traits::default()
        };
        share(&self.traits, &mut pod.traits);
        if let Some(controller) = &mut pod.controller {
            share(&self.controllers, controller);
        }
    }
}

/// Takes one that is known and equal in place of it.
fn share<T: ?Sized + PartialEq>(known: &Mutex<Vec<Arc<T>>>, own: &mut Arc<T>) {
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
