//! What kubelets would declare after a move, and what becomes of Pods that require what they would not.
//!
//! A kubelet looks at Pods anew at each of its starts, and a move restarts it: with the mechanism on it refuses those that require what it
//! does not declare (`PodFeatureUnsupported`) and ends their containers, so that the phase is theirs, Failed or Succeeded, with it off, or where it does not know the feature, it runs them without (observed on
//! 1.35.4, 1.36.3, 1.37.2; `pkg/kubelet/lifecycle/handlers.go`). It must not guess: what depends on what was not seen is left open.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::for_scheduling;
use crate::analysis::gates::intention::Target;
use crate::analysis::gates::kubelet;
use crate::analysis::gates::start::Start;
use crate::analysis::requirement::{
    Declaration, FEATURES, Feature, KubeletSettings, MECHANISM, Required, Runtime,
};
use crate::catalogue::Catalogue;
use crate::model::component::ComponentKind;
use crate::model::pod::Pod;
use crate::model::version::Release;
use crate::model::workload::Workload;
use crate::model::world::World;

/// A kubelet, and what it would make of each feature.
struct Kubelet<'t> {
    target: &'t Target,
    features: Rc<Features>,
    /// It fails Pods that require what it does not declare; null where that is not known.
    refuses: Option<bool>,
}

/// What is declared before and after, by feature.
type Features = BTreeMap<&'static str, (Declaration, Declaration)>;

/// So many of the last kubelets are looked at for one that is started alike: thousands differ in nothing but their names.
const REMEMBERED: usize = 16;

/// All that decides what a kubelet declares.
#[derive(PartialEq)]
struct Basis<'a> {
    listed: Option<&'a [String]>,
    before: Option<&'a Start>,
    after: Option<&'a Start>,
    is_unknown: bool,
    policy: Option<&'a str>,
}

/// What becomes of one feature.
#[derive(Debug)]
pub(crate) struct Leaving<'w> {
    pub(crate) feature: &'static Feature,
    /// Kubelets that declare it, and would not, each with the reason.
    pub(crate) losing: BTreeMap<String, String>,
    /// Nodes that would go on declaring it, as far as is known.
    pub(crate) keeping: Vec<String>,
    /// Pods that are ended when their kubelet starts again.
    pub(crate) refused: Vec<Affected<'w>>,
    /// Pods that run on without it.
    pub(crate) ignored: Vec<Affected<'w>>,
    /// Pods that are not bound yet.
    pub(crate) pending: Vec<Affected<'w>>,
    /// Pods of kubelets of which the gates that decide were not seen.
    pub(crate) open: Vec<Affected<'w>>,
    /// What will make Pods that require it, and the field that makes it so.
    pub(crate) templates: Vec<(&'w Workload, String)>,
}

/// A Pod that requires the feature.
#[derive(Debug)]
pub(crate) struct Affected<'w> {
    pub(crate) pod: &'w Pod,
    pub(crate) because: String,
}

/// Every feature that some meant kubelet would not declare, or that a Pod requires of one.
pub(crate) fn all<'w>(world: &'w World, targets: &[Target]) -> Vec<Leaving<'w>> {
    let policies = kubelet::all(world, None);
    let mut known = Vec::new();
    let kubelets: Vec<Kubelet<'_>> = targets
        .iter()
        .filter(|target| target.name.kind == ComponentKind::Kubelet)
        .map(|target| {
            let policy = policies.get(&target.name.identity);
            let policy = policy.and_then(|it| it.cpu_manager_policy.as_deref());
            of(world, target, policy, &mut known)
        })
        .collect();
    let by_node: BTreeMap<&str, &Kubelet<'_>> = kubelets
        .iter()
        .map(|it| (it.target.name.identity.as_str(), it))
        .collect();
    let mut leaving: BTreeMap<&str, Leaving<'w>> = FEATURES
        .iter()
        .map(|feature| (feature.name, empty(feature, &kubelets)))
        .collect();
    let pods = world.pods().map(|pod| &pod.value);
    for pod in pods.filter(|pod| !pod.finished() && pod.deletion.is_none()) {
        let required = pod.needs.as_deref().map_or_else(Vec::new, for_scheduling);
        for required in required {
            if let Some(of_feature) = leaving.get_mut(required.feature.name) {
                of_feature.take(pod, &required, &by_node);
            }
        }
    }
    for workload in world.workloads().filter(|it| it.controller.is_none()) {
        let required = workload.template.as_deref().map(for_scheduling);
        for required in required.into_iter().flatten() {
            if let Some(of_feature) = leaving.get_mut(required.feature.name) {
                of_feature.templates.push((workload, because(&required)));
            }
        }
    }
    leaving.into_values().collect()
}

/// The fields that make it so.
fn because(required: &Required) -> String {
    let because: BTreeSet<String> = required
        .because
        .iter()
        .map(|it| format!("{} is {}", it.field, it.value))
        .collect();
    let because: Vec<String> = because.into_iter().collect();
    because.join(", ")
}

fn of<'t>(
    world: &'t World,
    target: &'t Target,
    policy: Option<&'t str>,
    known: &mut Vec<(Basis<'t>, Rc<Features>)>,
) -> Kubelet<'t> {
    let listed = world.node(&target.name.identity);
    let listed = listed.and_then(|node| node.value.declared.features.as_deref());
    let basis = Basis {
        listed,
        before: target.before.as_ref(),
        after: target.after.as_ref(),
        is_unknown: target.unknown.is_some(),
        policy,
    };
    let mut last = known.iter().rev().take(REMEMBERED);
    let same = last.find(|(it, _)| *it == basis);
    let same = same.map(|(_, features)| Rc::clone(features));
    let features = same.unwrap_or_else(|| {
        let features = Rc::new(features(target, listed, policy));
        known.push((basis, Rc::clone(&features)));
        features
    });
    Kubelet {
        target,
        features,
        refuses: target
            .after
            .as_ref()
            .and_then(|after| value(target, after, MECHANISM)),
    }
}

fn features(target: &Target, listed: Option<&[String]>, policy: Option<&str>) -> Features {
    let features = FEATURES.iter().map(|feature| {
        let before = match listed {
            Some(listed) if listed.iter().any(|name| name == feature.name) => Declaration::Yes,
            _ => declaration(target, target.before.as_ref(), feature, policy),
        };
        let after = declaration(target, target.after.as_ref(), feature, policy);
        (feature.name, (before, after))
    });
    features.collect()
}

/// The value of a gate. Where not all that sets gates was seen, only what is named or locked is known.
fn value(target: &Target, start: &Start, gate: &str) -> Option<bool> {
    let is_locked = Catalogue::known()
        .at(gate, start.behaviour)
        .is_none_or(|spec| spec.locked);
    let is_known = target.unknown.is_none() || start.gates.contains_key(gate) || is_locked;
    start.does(gate).filter(|_| is_known)
}

fn declaration(
    target: &Target,
    start: Option<&Start>,
    feature: &Feature,
    policy: Option<&str>,
) -> Declaration {
    let Some(start) = start else {
        return Declaration::Unknown("its version is not known".to_owned());
    };
    feature.declared_by(&KubeletSettings {
        release: Release {
            minor: start.behaviour.binary,
            patch: 0,
        },
        gates: &|gate| value(target, start, gate),
        cpu_manager_policy: policy,
        runtime: Runtime::default(),
    })
}

fn empty<'w>(feature: &'static Feature, kubelets: &[Kubelet<'_>]) -> Leaving<'w> {
    let mut leaving = Leaving {
        feature,
        losing: BTreeMap::new(),
        keeping: Vec::new(),
        refused: Vec::new(),
        ignored: Vec::new(),
        pending: Vec::new(),
        open: Vec::new(),
        templates: Vec::new(),
    };
    for kubelet in kubelets {
        let name = kubelet.target.name.to_string();
        match kubelet.features.get(feature.name) {
            Some((Declaration::Yes, Declaration::No(why))) => {
                leaving.losing.insert(name, why.clone());
            }
            // What a runtime supports does not change with gates.
            Some((Declaration::Yes, _)) => leaving.keeping.push(name),
            _ => {}
        }
    }
    leaving
}

impl<'w> Leaving<'w> {
    fn take(&mut self, pod: &'w Pod, required: &Required, kubelets: &BTreeMap<&str, &Kubelet<'_>>) {
        let affected = Affected {
            pod,
            because: because(required),
        };
        let Some(node) = &pod.node else {
            self.pending.push(affected);
            return;
        };
        let Some(kubelet) = kubelets.get(node.as_str()).filter(|it| it.target.is_meant) else {
            return;
        };
        let Some((before, after)) = kubelet.features.get(self.feature.name) else {
            return;
        };
        let knows = kubelet
            .target
            .after
            .as_ref()
            .map(|after| self.feature.is_registered(after.behaviour.binary));
        match (before, after, knows, kubelet.refuses) {
            (_, Declaration::No(_), Some(true), Some(true)) => self.refused.push(affected),
            (Declaration::Yes, Declaration::No(_), ..) => self.ignored.push(affected),
            // With it then, or without it before as well.
            (_, Declaration::Yes | Declaration::No(_), ..) => {}
            // What a runtime supports does not change with gates.
            (Declaration::Yes, Declaration::Unknown(_), ..) if kubelet.target.unknown.is_none() => {
            }
            (_, Declaration::Unknown(_), ..) => self.open.push(affected),
        }
    }
}
