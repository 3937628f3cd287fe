//! Who but a kubelet may write what its node declares.
//!
//! The list can be written through `nodes/status` (patch, update) and comes with the creation of a Node; a write of the Node itself
//! leaves its status as it is (observed on 1.35.4, 1.36.3, 1.37.2). It must not say that nobody else may: other authorizers than RBAC,
//! and those who may change RBAC, are not seen.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::answer::Header;
use crate::answer::feature_writers::{FeatureWriters, Harmless, Through, Writer};
use crate::model::coverage::State;
use crate::model::grant::{ClusterRole, Rule, Subject};
use crate::model::want::Want;
use crate::model::world::World;

/// What a list can be written by.
const RIGHTS: [(&str, &str); 3] = [
    ("create", "nodes"),
    ("patch", "nodes/status"),
    ("update", "nodes/status"),
];

/// Writers that no list of rights shows.
const NOTES: [&str; 3] = [
    "each kubelet writes its own Node by the Node authorizer, and the admission plugin NodeRestriction keeps it from others'; neither looks at the list",
    "the group system:masters may do anything without a rule, and other authorizers than RBAC (a webhook) are not seen",
    "who may change ClusterRoles and bindings, or act as other users, can give themselves these rights",
];

/// What is read.
pub(crate) fn wants() -> BTreeSet<Want> {
    BTreeSet::from([Want::ClusterRoles, Want::ClusterRoleBindings])
}

/// Rights of one subject, as they add up.
#[derive(Default)]
struct Sum {
    rights: BTreeSet<String>,
    /// Null where all Nodes are meant.
    nodes: Option<BTreeSet<String>>,
    is_any: bool,
    through: BTreeSet<Through>,
}

pub(crate) fn writers(world: &World, now: Timestamp, generated_at: Timestamp) -> FeatureWriters {
    let mut sums: BTreeMap<&Subject, Sum> = BTreeMap::new();
    for binding in world.cluster_role_bindings() {
        let Some(role) = world.cluster_role(&binding.role) else {
            continue;
        };
        for (rule, from) in rules(world, role) {
            let granted = granted(rule);
            if granted.is_empty() {
                continue;
            }
            for subject in &binding.subjects {
                sums.entry(subject).or_default().add(
                    &granted,
                    &binding.name,
                    &role.name,
                    from.as_deref(),
                );
            }
        }
    }
    let is_seen = |want: &Want| {
        world
            .state_of(want)
            .is_none_or(|state| state == State::Complete)
    };
    let mut writers: Vec<Writer> = sums
        .into_iter()
        .map(|(subject, sum)| writer(subject, sum))
        .collect();
    writers.sort();
    FeatureWriters {
        writers,
        harmless: world.cluster_roles().flat_map(harmless).collect(),
        notes: NOTES.into(),
        is_incomplete: !wants().iter().all(is_seen)
            || world.cluster_roles().next().is_none()
            || world.cluster_role_bindings().next().is_none(),
        header: Header::of("FeatureWriters", world, now, generated_at),
    }
}

/// A right with the names that it is limited to, empty for none.
type Granted<'r> = Vec<(String, &'r [String])>;

fn granted(rule: &Rule) -> Granted<'_> {
    RIGHTS
        .into_iter()
        .filter_map(|(verb, resource)| {
            Some((format!("{verb} {resource}"), rule.grants(verb, resource)?))
        })
        .collect()
}

/// A role's rules, each with the role that it is aggregated from. A controller copies them, so they may stand there twice.
fn rules<'w>(world: &'w World, role: &'w ClusterRole) -> Vec<(&'w Rule, Option<String>)> {
    let is_part = |other: &&ClusterRole| {
        let selects = role.aggregates.iter().any(|it| it.matches(&other.labels));
        selects && other.name != role.name
    };
    let mut all = Vec::new();
    for other in world.cluster_roles().filter(is_part) {
        all.extend(
            other
                .rules
                .iter()
                .map(|rule| (rule, Some(other.name.clone()))),
        );
    }
    let is_copy = |rule: &Rule| all.iter().any(|(known, _)| *known == rule);
    let own: Vec<_> = role
        .rules
        .iter()
        .filter(|rule| !is_copy(rule))
        .map(|rule| (rule, None))
        .collect();
    all.extend(own);
    all
}

impl Sum {
    fn add(&mut self, granted: &Granted<'_>, binding: &str, role: &str, from: Option<&str>) {
        for (right, names) in granted {
            self.rights.insert(right.clone());
            if names.is_empty() {
                self.is_any = true;
            } else {
                self.nodes
                    .get_or_insert_default()
                    .extend(names.iter().cloned());
            }
        }
        let known = self
            .through
            .iter()
            .find(|it| it.cluster_role_binding == binding && it.cluster_role == role);
        let mut through = known.cloned().unwrap_or_else(|| Through {
            cluster_role_binding: binding.to_owned(),
            cluster_role: role.to_owned(),
            aggregated_from: Vec::new(),
        });
        self.through.remove(&through);
        if let Some(from) = from.filter(|from| !through.aggregated_from.iter().any(|it| it == from))
        {
            through.aggregated_from.push(from.to_owned());
        }
        self.through.insert(through);
    }
}

fn writer(subject: &Subject, sum: Sum) -> Writer {
    let explanation = explanation(subject, &sum.through);
    let is_any = sum.is_any;
    Writer {
        expected: explanation.is_some(),
        kind: subject.kind.clone(),
        namespace: subject.namespace.clone(),
        name: subject.name.clone(),
        rights: sum.rights.into_iter().collect(),
        nodes: sum
            .nodes
            .filter(|_| !is_any)
            .into_iter()
            .flatten()
            .collect(),
        through: sum.through.into_iter().collect(),
        explanation,
    }
}

/// Why Kubernetes itself gives these rights (kubernetes 1.37 `plugin/pkg/auth/authorizer/rbac/bootstrappolicy`). Null for anybody
/// else, also where a known subject has them through a role that is not the one that Kubernetes gives it.
fn explanation(subject: &Subject, through: &BTreeSet<Through>) -> Option<&'static str> {
    let only = |role: &str| through.iter().all(|it| it.cluster_role == role);
    let of_kube_system = subject.namespace.as_deref() == Some("kube-system");
    match (subject.kind.as_str(), subject.name.as_str()) {
        ("Group", "system:masters") => Some("administrators, who may do anything"),
        ("Group", "system:nodes") if only("system:node") => Some(
            "kubelets: NodeRestriction keeps each to its own Node; the Node authorizer needs no such binding",
        ),
        ("ServiceAccount", "node-controller")
            if of_kube_system && only("system:controller:node-controller") =>
        {
            Some("the node lifecycle controller, which writes conditions of silent nodes")
        }
        _ if only("system:node-problem-detector") => Some(
            "the node problem detector, which adds conditions: it may patch the whole status of any Node",
        ),
        ("ServiceAccount", name) if of_kube_system => {
            let is_own = |it: &Through| {
                it.cluster_role
                    .strip_prefix("system:controller:")
                    .is_some_and(|controller| controller == name)
            };
            through
                .iter()
                .all(is_own)
                .then_some("a controller of the controller manager")
        }
        _ => None,
    }
}

/// What looks like the right and is none.
fn harmless(role: &ClusterRole) -> Vec<Harmless> {
    let detail = |resource: &str| match resource {
        "nodes/*" | "*/*" => {
            Some("the server knows *, nodes/status and */status; this is none of them")
        }
        _ => None,
    };
    let writes = |rule: &&Rule| {
        let verbs = rule.verbs.iter().map(String::as_str);
        let is_write = |verb| matches!(verb, "*" | "patch" | "update");
        verbs.into_iter().any(is_write) && granted(rule).is_empty()
    };
    let found: BTreeSet<Harmless> = role
        .rules
        .iter()
        .filter(writes)
        .flat_map(|rule| &rule.resources)
        .filter_map(|resource| {
            Some(Harmless {
                cluster_role: role.name.clone(),
                resource: resource.clone(),
                detail: detail(resource)?,
            })
        })
        .collect();
    found.into_iter().collect()
}
