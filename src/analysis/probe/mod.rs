//! Whether a declared feature can be used in each pool: a tiny Pod that needs it, beside one that does not, and what became of both.
//!
//! It only plans and judges; `apply` sends, and the command looks. What nodes declare is `declared`'s to judge. All that a probe
//! makes has a label with the time at which it counts as left behind, for the next run to remove.

mod judge;
pub(crate) mod need;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub(crate) use self::judge::{CHECKS, Fate, Limits, checks, nobody};
use self::need::Need;
use super::declared::{self, Judged};
use super::gates::skew;
use super::tiny_pod;
use crate::model::change::Change;
use crate::model::node::Ready;
use crate::model::pod::{Pod, PodName};
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::Want;
use crate::model::world::World;

/// Label of what a probe makes; its value is the second from which on it counts as left behind.
pub(crate) const LABEL: &str = "kube-placement.dev/probe-until";

/// How all names begin.
const NAMES: &str = "features-probe-";

/// Nodes that a Pod may name.
const NAMED: usize = 100;

/// What to try, and where.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) need: &'static Need,
    /// Which nodes, and how their kubelets are reached.
    pub(crate) observation: skew::Request,
    pub(crate) namespace: String,
    pub(crate) image: String,
    /// Part of the names of this run alone.
    pub(crate) id: String,
    /// How long what it makes may be there.
    pub(crate) ttl: Duration,
}

/// A pool, and the Pods that are to be tried on it.
#[derive(Debug)]
pub(crate) struct Part<'w> {
    pub(crate) pool: Option<String>,
    nodes: Vec<Judged<'w>>,
    /// Null where no node can take a Pod.
    pub(crate) pair: Option<Pair>,
}

/// A Pod without the need, and one with it.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) control: Change,
    pub(crate) needy: Change,
}

impl Request {
    fn about(&self) -> declared::Request {
        declared::Request {
            observation: self.observation.clone(),
            ..declared::Request::default()
        }
    }

    /// Pods that probes of this namespace made.
    fn made(&self) -> Want {
        Want::Pods {
            namespace: Some(self.namespace.clone()),
            labels: LABEL.parse::<LabelSelector>().unwrap_or_default(),
            fields: FieldSelector::default(),
        }
    }
}

/// What is read before anything is made.
pub(crate) fn wants(world: &World, request: &Request, now: Timestamp) -> BTreeSet<Want> {
    let mut wants = declared::wants::wants(world, &request.about(), now);
    wants.insert(request.made());
    wants
}

/// All reads that may come to be needed.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    let mut wants = declared::wants::possible(&request.about());
    wants.push(request.made());
    wants.push(Want::Pod(PodName {
        namespace: request.namespace.clone(),
        name: String::new(),
    }));
    wants
}

/// Removes what earlier runs left behind.
pub(crate) fn sweep(world: &World, request: &Request, now: Timestamp) -> Vec<Change> {
    // Whoever may write labels must not make us remove another Pod.
    let is_left = |pod: &Pod| {
        let until = pod.labels.get(LABEL).and_then(|second| second.parse().ok());
        pod.name.namespace == request.namespace
            && pod.name.name.starts_with(NAMES)
            && until.is_some_and(|second: i64| second <= now.as_second())
    };
    let left = world
        .pods()
        .map(|pod| &*pod.value)
        .filter(|pod| is_left(pod));
    let removal = |pod: &Pod| {
        let namespace = Some(pod.name.namespace.as_str());
        let mut removal = Change::delete("", "pods", namespace, &pod.name.name);
        if let Some(body) = &mut removal.body {
            body["preconditions"] = json!({"uid": &*pod.uid.0});
        }
        removal
    };
    left.map(removal).collect()
}

/// A part for each pool, by name; those of no pool first.
pub(crate) fn plan<'w>(world: &'w World, request: &Request, now: Timestamp) -> Vec<Part<'w>> {
    let mut pools: BTreeMap<Option<String>, Vec<Judged<'w>>> = BTreeMap::new();
    for judged in declared::judge(world, &request.about(), now) {
        pools.entry(judged.pool.clone()).or_default().push(judged);
    }
    let parts = pools
        .into_iter()
        .enumerate()
        .map(|(number, (pool, nodes))| {
            let pair = pair(&nodes, number, request, now);
            Part { pool, nodes, pair }
        });
    parts.collect()
}

fn pair(nodes: &[Judged<'_>], number: usize, request: &Request, now: Timestamp) -> Option<Pair> {
    let takes_pods =
        |it: &&Judged<'_>| it.node.ready == Some(Ready::True) && !it.node.unschedulable;
    let usable: Vec<&Judged<'_>> = nodes.iter().filter(takes_pods).take(NAMED).collect();
    if usable.is_empty() {
        return None;
    }
    let pod = |role: &str, need: Option<&Need>| {
        let mut spec = tiny_pod::spec(&request.image, usable.iter().map(|it| &it.node.name));
        // Where nobody removes it, its kubelet ends it.
        spec["activeDeadlineSeconds"] = json!(request.ttl.as_secs().max(1));
        // A pool that keeps others away is a pool, too.
        let taints = usable.iter().flat_map(|it| &it.node.taints);
        let tolerated: BTreeSet<(&str, &str)> = taints
            .map(|taint| (taint.key.as_str(), taint.effect.as_str()))
            .collect();
        let tolerations = tolerated
            .into_iter()
            .map(|(key, effect)| json!({"key": key, "operator": "Exists", "effect": effect}));
        spec["tolerations"] = tolerations.collect::<Vec<Value>>().into();
        if let Some(need) = need {
            need.add_to(&mut spec);
        }
        let until = SignedDuration::try_from(request.ttl).unwrap_or(SignedDuration::MAX);
        let until = now.checked_add(until).unwrap_or(Timestamp::MAX);
        let object = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": format!("{NAMES}{}-{number}-{role}", request.id),
                "namespace": request.namespace,
                "labels": {LABEL: until.as_second().to_string()},
            },
            "spec": spec,
        });
        Change::create("", "pods", Some(&request.namespace), object)
    };
    Some(Pair {
        control: pod("control", None),
        needy: pod("needs", Some(request.need)),
    })
}

/// The update that is in need of the feature, of the Pod as the server has it; null where the Pod itself is.
pub(crate) fn update(request: &Request, pod: &Value) -> Option<Change> {
    let patch = request.need.update.filter(|_| request.need.is_in(pod))?(pod);
    let name = pod.pointer("/metadata/name")?.as_str()?;
    Some(resize(request, name, patch))
}

fn resize(request: &Request, name: &str, patch: Value) -> Change {
    let namespace = Some(request.namespace.as_str());
    Change::patch("", "pods/resize", namespace, name, patch)
}

/// All changes that a probe may make, for the rights that they need.
pub(crate) fn possible_changes(request: &Request) -> Vec<Change> {
    let named = json!({"metadata": {"name": NAMES}});
    let namespace = Some(request.namespace.as_str());
    let made = Change::create("", "pods", namespace, named);
    let update = request
        .need
        .update
        .map(|_| resize(request, NAMES, Value::Null));
    [made].into_iter().chain(update).collect()
}

/// Whether the scheduler has said what becomes of a Pod.
pub(crate) fn is_decided(pod: Option<&Pod>) -> bool {
    pod.is_none_or(|pod| pod.node.is_some() || super::conformance::unschedulable(pod).is_some())
}

/// Whether a kubelet has said what becomes of a Pod.
pub(crate) fn is_started(request: &Request, with_need: bool, pod: Option<&Pod>) -> bool {
    let is_enough = |pod: &Pod| {
        with_need && request.need.is_for_ever_starting && pod.start.is_some()
            || pod.phase.as_deref() == Some("Running")
    };
    pod.is_none_or(|pod| pod.finished() || is_enough(pod))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_pinned_by_affinity_and_pass_the_restricted_standard() {
        for feature in need::features() {
            let need = need::find(feature).expect("it has a need");
            let mut spec = tiny_pod::spec("image", [&"n1".to_owned()]);
            need.add_to(&mut spec);
            let pod = json!({"metadata": {"name": "p"}, "spec": spec});
            assert!(need.is_in(&pod), "{feature}");
            assert!(pod.pointer("/spec/nodeName").is_none());
            let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
            for container in lists.into_iter().flatten().flatten() {
                let security = &container["securityContext"];
                assert_eq!(security["allowPrivilegeEscalation"], false, "{feature}");
                assert_eq!(
                    security["capabilities"]["drop"],
                    json!(["ALL"]),
                    "{feature}"
                );
            }
            assert_eq!(pod["spec"]["securityContext"]["runAsNonRoot"], true);
            let is_privileged = pod["spec"]["hostNetwork"] == true;
            assert_eq!(is_privileged, need.is_privileged, "{feature}");
        }
    }
}
