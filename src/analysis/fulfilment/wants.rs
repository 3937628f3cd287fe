//! What is read to know whether nodes give what Pods require: for an unbound Pod one list of Nodes, for a bound one its Node alone,
//! the Pods there, and its kubelet where the version leaves open whether it looks at requirements.

use std::collections::BTreeSet;

use super::{Request, required_by, subjects};
use crate::analysis::gates::{skew, wants};
use crate::analysis::requirement::{NEWEST, OLDEST};
use crate::analysis::select;
use crate::model::version::Release;
use crate::model::want::Want;
use crate::model::world::World;

/// What is still to be read.
pub(crate) fn wants(world: &World, request: &Request) -> BTreeSet<Want> {
    let mut wants = BTreeSet::from([Want::ServerVersion]);
    wants.extend(wants::of_control_plane(&request.observation));
    if let Some(selection) = &request.selection {
        wants.extend(select::wants(world, selection));
    }
    let mut undecided = BTreeSet::new();
    for subject in subjects(world, request) {
        if required_by(world, &subject, request).next().is_none() {
            continue;
        }
        let Some(node) = &subject.pod.node else {
            wants.insert(Want::Nodes);
            continue;
        };
        wants.insert(Want::Node(node.clone()));
        wants.insert(Want::PodsOnNode(node.clone()));
        let version = world
            .node(node)
            .and_then(|node| node.value.kubelet_version.as_deref());
        let release = version.and_then(Release::parse);
        if release.is_some_and(|it| it.minor >= OLDEST && it.minor < NEWEST) {
            undecided.insert(node.clone());
        }
    }
    if !undecided.is_empty() {
        let observation = skew::Request {
            nodes: undecided,
            ..request.observation.clone()
        };
        wants.extend(wants::of_kubelets(world, &observation));
    }
    wants
}

/// All reads that may come to be needed, those of any node once.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    let selection = request.selection.iter().flat_map(select::possible);
    let base = [
        Want::Nodes,
        Want::Node(String::new()),
        Want::PodsOnNode(String::new()),
    ];
    selection
        .chain([Want::ServerVersion])
        .chain(wants::of_control_plane(&request.observation))
        .chain(base)
        .chain(wants::possible_of_kubelets(&request.observation))
        .collect()
}
