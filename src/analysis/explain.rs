//! `nominate explain`: what to read for one Pod, and the explanation of what was read.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::story::Story;
use super::{room, verdict};
use crate::answer::nomination_explanation::{NominationExplanation, PodSummary};
use crate::answer::{API_VERSION, Header};
use crate::model::coverage::{Coverage, State};
use crate::model::pod::{OwnedField, Pod, PodName, Uid};
use crate::model::want::Want;
use crate::model::world::{Sourced, World};

/// Default of the API server's `--event-ttl`.
pub(super) const EVENTS_ARE_KEPT: SignedDuration = SignedDuration::from_hours(1);

/// More claims than a Pod has whose placement hangs on them.
const MAX_CLAIMS: usize = 8;

/// Nodes whose reserved room is looked into: one is enough to explain, and each costs two requests.
const MAX_RESERVED_NODES: usize = 3;

/// Which Pod is asked about.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) name: String,
    /// Null only for files, which may hold the Pod in any namespace.
    pub(crate) namespace: Option<String>,
    /// Kubeconfig context, for the answer.
    pub(crate) context: Option<String>,
}

/// Why no Pod could be chosen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPod {
    Missing,
    /// Namespaces that each have a Pod of this name.
    Ambiguous(Vec<String>),
}

/// What is still to be read. Pure: the same World wants the same.
pub(crate) fn wants(world: &World, request: &Request) -> BTreeSet<Want> {
    let mut wants = BTreeSet::new();
    if let Some(namespace) = &request.namespace {
        wants.insert(Want::Pod(PodName {
            namespace: namespace.clone(),
            name: request.name.clone(),
        }));
    }
    let Ok(pod) = choose(world, request) else {
        return wants;
    };
    let pod = &pod.value;
    wants.insert(Want::EventsAbout {
        namespace: pod.name.namespace.clone(),
        uid: pod.uid.clone(),
    });
    let nominated_before = pod
        .managed_fields
        .iter()
        .flatten()
        .any(|owner| owner.owns(OwnedField::NominatedNode));
    let reason = pod
        .scheduled()
        .and_then(|condition| condition.reason.as_deref());
    // A claim tells for which node a scheduler prepares, or prepared, the binding.
    if nominated_before || pod.nominated_node.is_some() {
        let names = pod.claims.iter().take(MAX_CLAIMS);
        wants.extend(names.map(|name| {
            Want::Claim(PodName {
                namespace: pod.name.namespace.clone(),
                name: name.clone(),
            })
        }));
    }
    match (&pod.node, &pod.nominated_node) {
        // Bound: only the victims' events tell where a scheduler's nomination pointed.
        (Some(_), _) => {
            if nominated_before {
                wants.insert(Want::PreemptedEvents);
            }
        }
        (None, Some(node)) => {
            wants.insert(Want::Node(node.clone()));
            if pod.gates.is_empty() {
                wants.insert(Want::PodsOnNode(node.clone()));
                wants.insert(Want::PreemptedEvents);
            }
            if reason == Some("SchedulerError") {
                wants.insert(Want::ServerVersion);
            }
        }
        // Pending without a nomination: a note would tell of one that was taken back, others' nominations of reserved room.
        (None, None) if reason == Some("Unschedulable") => {
            wants.insert(Want::PreemptedEvents);
            wants.insert(Want::NominatedPods);
            for node in reserved_nodes(world, pod)
                .into_iter()
                .take(MAX_RESERVED_NODES)
            {
                wants.insert(Want::PodsOnNode(node.clone()));
                wants.insert(Want::Node(node));
            }
        }
        (None, None) => {}
    }
    wants
}

/// Every read that [`wants`] may come to, the most needed first; an empty name stands for any.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    let namespace = request.namespace.clone().unwrap_or_default();
    let any = String::new;
    vec![
        Want::Pod(PodName {
            namespace: namespace.clone(),
            name: request.name.clone(),
        }),
        Want::EventsAbout {
            namespace: namespace.clone(),
            uid: Uid(any()),
        },
        Want::Node(any()),
        Want::PodsOnNode(any()),
        Want::NominatedPods,
        Want::PreemptedEvents,
        Want::Claim(PodName {
            namespace,
            name: any(),
        }),
        Want::ServerVersion,
    ]
}

/// Nodes on which other Pods' nominations reserve room against this one.
pub(super) fn reserved_nodes(world: &World, pod: &Pod) -> BTreeSet<String> {
    let others = world.pods().map(|other| &other.value);
    others
        .filter_map(|other| {
            other
                .nominated_node
                .clone()
                .filter(|node| room::reserves(other, pod, node))
        })
        .collect()
}

/// The Pod that the request names; of several incarnations the newest.
pub(crate) fn choose<'w>(world: &'w World, request: &Request) -> Result<&'w Sourced<Pod>, NoPod> {
    if let Some(namespace) = &request.namespace {
        let name = PodName {
            namespace: namespace.clone(),
            name: request.name.clone(),
        };
        return world.pods_named(&name).pop().ok_or(NoPod::Missing);
    }
    let namespaces: BTreeSet<&str> = world
        .pods()
        .filter(|pod| pod.value.name.name == request.name)
        .map(|pod| pod.value.name.namespace.as_str())
        .collect();
    match (namespaces.first(), namespaces.len()) {
        (Some(namespace), 1) => {
            let name = PodName {
                namespace: (*namespace).to_owned(),
                name: request.name.clone(),
            };
            world.pods_named(&name).pop().ok_or(NoPod::Missing)
        }
        (None, _) => Err(NoPod::Missing),
        (Some(_), _) => Err(NoPod::Ambiguous(
            namespaces.into_iter().map(str::to_owned).collect(),
        )),
    }
}

/// How far back events go: a Pod that is older than they are kept may have a history that nobody can read any more.
fn expired_history(story: &Story<'_>) -> Option<Coverage> {
    let about = Want::EventsAbout {
        namespace: story.pod.name.namespace.clone(),
        uid: story.pod.uid.clone(),
    };
    let oldest = story
        .events()
        .iter()
        .filter_map(|event| event.value.first)
        .min();
    let kept = story.age(story.pod.created)? < EVENTS_ARE_KEPT
        || oldest <= story.pod.created && oldest.is_some();
    if kept || !story.world.is_complete(&about) {
        return None;
    }
    let since = oldest.map_or_else(
        || "none is left".to_owned(),
        |oldest| format!("the oldest that is left is of {oldest}"),
    );
    Some(Coverage {
        source: story.source.to_owned(),
        subject: "earlier events".to_owned(),
        state: State::Expired,
        detail: Some(format!(
            "the Pod is older than events are kept (an hour by default); {since}"
        )),
    })
}

/// Explains a Pod that is in the World, judged at `now`.
pub(crate) fn explain(
    world: &World,
    request: &Request,
    pod: &Sourced<Pod>,
    now: Timestamp,
    generated_at: Timestamp,
) -> NominationExplanation {
    let story = Story::of(world, pod, now);
    let mut coverage: Vec<Coverage> = world.coverage().cloned().collect();
    coverage.extend(expired_history(&story));
    let verdict = verdict::judge(&story);
    let pod = &pod.value;
    NominationExplanation {
        header: Header {
            api_version: API_VERSION,
            kind: "NominationExplanation",
            generated_at,
            now,
            sources: world.sources().cloned().collect(),
            coverage,
        },
        pod: PodSummary {
            context: request.context.clone(),
            namespace: pod.name.namespace.clone(),
            name: pod.name.name.clone(),
            uid: pod.uid.0.clone(),
            phase: pod.phase.clone(),
            scheduler_name: pod.scheduler_name.clone(),
            priority: pod.priority,
            node_name: pod.node.clone(),
            nominated_node_name: pod.nominated_node.clone(),
        },
        verdict,
        nominations: story.nominations,
        binding: story.binding,
        victims: story.victims,
        preempted_by: story.preempted_by,
        scheduler: story.report,
        timeline: story.timeline,
    }
}
