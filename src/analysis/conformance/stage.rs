//! What the trials of one run stand on: names of their own, the nodes that there are, and what may be done.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{Act, FEATURE, NotNow};
use crate::analysis::probe::need::restart_all_containers_on_container_exits;
use crate::analysis::tiny_pod;
use crate::model::change::Change;
use crate::model::node::Ready;
use crate::model::world::World;

/// The lowest priority that a class may have.
const LOWEST: i64 = i32::MIN as i64;

/// Taint of the Nodes that the suite makes, so that no other Pod is placed there.
const TAINT: &str = "kube-placement.dev/conformance";

pub(crate) struct Stage {
    pub(crate) scheduler: String,
    pub(crate) namespace: String,
    image: String,
    /// Nodes of its own may be made and changed.
    own_nodes: bool,
    /// Nodes that could take a Pod, with what they declare.
    nodes: BTreeMap<String, Vec<String>>,
    priorities: Priorities,
}

/// Values of the suite's two classes, below that of every Pod there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Priorities {
    pub(crate) low: i64,
    pub(crate) high: i64,
}

impl Priorities {
    /// Null where some Pod is so low that nothing is below.
    pub(crate) fn below(world: &World) -> Option<Self> {
        let lowest = world.pods().filter_map(|pod| pod.value.priority).min();
        let lowest = lowest.unwrap_or(0).min(0);
        let low = lowest - 2;
        (low >= LOWEST).then_some(Self {
            low,
            high: lowest - 1,
        })
    }
}

impl Stage {
    /// The stage on a cluster whose nodes and Pods were all read.
    pub(crate) fn new(
        world: &World,
        scheduler: &str,
        image: &str,
        priorities: Priorities,
        own_nodes: bool,
    ) -> Self {
        let is_usable = |node: &&crate::model::node::Node| {
            node.ready == Some(Ready::True) && !node.unschedulable && node.taints.is_empty()
        };
        let nodes = world.nodes().map(|node| &node.value).filter(is_usable);
        let nodes = nodes.map(|node| {
            let declared = node.declared.features.clone();
            (node.name.clone(), declared.unwrap_or_default())
        });
        Self {
            scheduler: scheduler.to_owned(),
            namespace: named(scheduler),
            image: image.to_owned(),
            own_nodes,
            nodes: nodes.collect(),
            priorities,
        }
    }

    /// What is made before the trials, and removed after them.
    pub(crate) fn foundation(&self) -> Vec<Change> {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace},
        });
        // A namespace has its own account only after a while, and no Pod is taken before.
        let account = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ACCOUNT, "namespace": self.namespace},
            "automountServiceAccountToken": false,
        });
        let class = |rank: Rank| {
            let class = json!({
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": self.class(rank)},
                "value": match rank {
                    Rank::Low => self.priorities.low,
                    Rank::High => self.priorities.high,
                },
                "description": "Pods of kubectl features conformance, which displace no other",
            });
            Change::create("scheduling.k8s.io", "priorityclasses", None, class)
        };
        vec![
            Change::create("", "namespaces", None, namespace),
            Change::create("", "serviceaccounts", Some(&self.namespace), account),
            class(Rank::Low),
            class(Rank::High),
        ]
    }

    fn class(&self, rank: Rank) -> String {
        match rank {
            Rank::Low => format!("{}-low", self.namespace),
            Rank::High => format!("{}-high", self.namespace),
        }
    }

    /// A node that declares the feature, made for the trial where that is allowed.
    pub(super) fn declaring(&self, acts: &mut Vec<Act>, trial: &str) -> Result<String, NotNow> {
        self.place(acts, trial, Some(&[FEATURE]), "declares", |declared| {
            declared.iter().any(|feature| feature == FEATURE)
        })
    }

    /// A node that declares others, and not this feature.
    pub(super) fn lacking(&self, acts: &mut Vec<Act>, trial: &str) -> Result<String, NotNow> {
        let others: &[&str] = &["ExtendWebSocketsToKubelet"];
        let what = "declares others and not";
        self.place(acts, trial, Some(others), what, |declared| {
            !declared.is_empty() && declared.iter().all(|feature| feature != FEATURE)
        })
    }

    /// A node that declares nothing.
    pub(super) fn bare(&self, acts: &mut Vec<Act>, trial: &str) -> Result<String, NotNow> {
        let what = "declares nothing, and so not";
        self.place(acts, trial, None, what, <[String]>::is_empty)
    }

    /// A node that does not declare the feature, whatever else.
    pub(super) fn without(&self, acts: &mut Vec<Act>, trial: &str) -> Result<String, NotNow> {
        self.lacking(acts, trial)
            .or_else(|_| self.bare(acts, trial))
    }

    /// Any nodes, so many.
    pub(super) fn any(
        &self,
        acts: &mut Vec<Act>,
        trial: &str,
        count: usize,
    ) -> Result<Vec<String>, NotNow> {
        if self.own_nodes {
            let names = (0..count).map(|index| self.own(acts, &format!("{trial}-{index}"), None));
            return Ok(names.collect());
        }
        let names: Vec<String> = self.nodes.keys().take(count).cloned().collect();
        if names.len() < count {
            return Err(NotNow::Unknown(format!(
                "it takes {count} nodes that are ready and without taints, and there are {}",
                names.len()
            )));
        }
        Ok(names)
    }

    /// A Node of the suite's own that declares nothing yet.
    pub(super) fn changeable(&self, acts: &mut Vec<Act>, trial: &str) -> Result<String, NotNow> {
        if self.own_nodes {
            return Ok(self.own(acts, trial, None));
        }
        Err(NotNow::Skipped(
            "it changes what a node declares; allow it with --allow-node-changes".to_owned(),
        ))
    }

    fn place(
        &self,
        acts: &mut Vec<Act>,
        trial: &str,
        features: Option<&[&str]>,
        what: &str,
        fits: impl Fn(&[String]) -> bool,
    ) -> Result<String, NotNow> {
        if self.own_nodes {
            return Ok(self.own(acts, trial, features));
        }
        let found = self.nodes.iter().find(|(_, declared)| fits(declared));
        found.map(|(name, _)| name.clone()).ok_or_else(|| {
            NotNow::Unknown(format!(
                "no node that is ready and without taints {what} {FEATURE}; --allow-node-changes makes one"
            ))
        })
    }

    /// A Node that no kubelet serves. Its own taint keeps others away; load balancers are told to leave it out.
    fn own(&self, acts: &mut Vec<Act>, trial: &str, features: Option<&[&str]>) -> String {
        let name = format!("{}-{trial}", self.namespace);
        let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "20"});
        let mut node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    "kubernetes.io/hostname": name,
                    "node.kubernetes.io/exclude-from-external-load-balancers": "",
                },
            },
            "spec": {"taints": [{"key": TAINT, "effect": "NoSchedule"}]},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{
                    "type": "Ready",
                    "status": "True",
                    "reason": "Conformance",
                    "message": "made by kubectl features conformance; no kubelet serves it",
                }],
            },
        });
        if let Some(features) = features {
            node["status"]["declaredFeatures"] = json!(features);
        }
        acts.push(Act::Do(Change::create("", "nodes", None, node)));
        name
    }

    /// Lets a Node of the suite's own declare the feature.
    pub(super) fn declare(node: &str) -> Act {
        let patch = json!({"status": {"declaredFeatures": [FEATURE]}});
        Act::Do(Change::patch("", "nodes/status", None, node, patch))
    }

    /// A Pod of the suite. It passes the restricted Pod Security Standard.
    pub(super) fn pod(&self, name: &str) -> PodPlan<'_> {
        PodPlan {
            stage: self,
            name: name.to_owned(),
            rank: Rank::Low,
            nodes: BTreeSet::new(),
            needs_feature: false,
            is_gated: false,
            is_foreign: false,
            avoids: None,
        }
    }

    /// Writes a hint as an outsider does.
    pub(super) fn hint(&self, pod: &str, node: &str) -> Act {
        let patch = json!({"status": {"nominatedNodeName": node}});
        Act::Do(Change::patch(
            "",
            "pods/status",
            Some(&self.namespace),
            pod,
            patch,
        ))
    }

    /// Opens a gated Pod.
    pub(super) fn open(&self, pod: &str) -> Act {
        let patch = json!({"spec": {"schedulingGates": null}});
        Act::Do(Change::patch("", "pods", Some(&self.namespace), pod, patch))
    }
}

const ACCOUNT: &str = "conformance";

/// Which of the suite's two classes a Pod has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Low,
    High,
}

/// The namespace of a scheduler's trials, and the beginning of all other names.
fn named(scheduler: &str) -> String {
    let word = scheduler.to_ascii_lowercase();
    let word = word.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let word: String = word.trim_matches('-').chars().take(24).collect();
    format!("conformance-{}", word.trim_matches('-'))
}

/// A Pod to be made.
pub(super) struct PodPlan<'s> {
    stage: &'s Stage,
    name: String,
    rank: Rank,
    nodes: BTreeSet<String>,
    needs_feature: bool,
    is_gated: bool,
    is_foreign: bool,
    avoids: Option<&'static str>,
}

impl PodPlan<'_> {
    /// Only these nodes, by affinity and never by nodeName.
    pub(super) fn on<'n>(mut self, nodes: impl IntoIterator<Item = &'n String>) -> Self {
        self.nodes.extend(nodes.into_iter().cloned());
        self
    }

    pub(super) fn needing_the_feature(mut self) -> Self {
        self.needs_feature = true;
        self
    }

    pub(super) fn gated(mut self) -> Self {
        self.is_gated = true;
        self
    }

    /// Of a scheduler that does not exist.
    pub(super) fn foreign(mut self) -> Self {
        self.is_foreign = true;
        self
    }

    pub(super) fn high(mut self) -> Self {
        self.rank = Rank::High;
        self
    }

    /// Not beside this Pod of the suite. An anti-affinity takes no room from anybody else.
    pub(super) fn not_beside(mut self, pod: &'static str) -> Self {
        self.avoids = Some(pod);
        self
    }

    pub(super) fn made(self) -> Act {
        let stage = self.stage;
        let mut spec = tiny_pod::spec(&stage.image, &self.nodes);
        if let Some(other) = self.avoids {
            spec["affinity"]["podAntiAffinity"] = json!({
                "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {NAME: other}},
                }],
            });
        }
        if self.needs_feature {
            restart_all_containers_on_container_exits::NEED.add_to(&mut spec);
        }
        spec["schedulerName"] = json!(stage.scheduler);
        spec["priorityClassName"] = json!(stage.class(self.rank));
        spec["serviceAccountName"] = json!(ACCOUNT);
        if self.is_foreign {
            spec["schedulerName"] = json!(format!("{}-nobody", stage.namespace));
        }
        if self.is_gated {
            spec["schedulingGates"] = json!([{"name": TAINT}]);
        }
        if stage.own_nodes {
            spec["tolerations"] = json!([{"operator": "Exists"}]);
        }
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name,
                "namespace": stage.namespace,
                "labels": {NAME: self.name},
            },
            "spec": spec,
        });
        Act::Do(Change::create("", "pods", Some(&stage.namespace), pod))
    }
}

/// Label with a Pod's name.
const NAME: &str = "kube-placement.dev/name";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_schedulers_become_names_of_objects() {
        assert_eq!(named("default-scheduler"), "conformance-default-scheduler");
        assert_eq!(named("My.Scheduler/2"), "conformance-my-scheduler-2");
        assert_eq!(named(&"x".repeat(80)).len(), 36);
    }
}
