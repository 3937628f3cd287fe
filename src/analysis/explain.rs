//! `nominate explain`: what to read for each Pod, and the explanation of what was read.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::index::Index;
use super::room::reserved_nodes;
use super::select::{self, Request};
use super::story::{self, LOOP_ROUNDS, Story};
use super::{deadline, verdict, victims};
use crate::answer::nomination_explanation::{NominationExplanation, PodSummary, Severity};
use crate::answer::nomination_explanation_list::NominationExplanationList;
use crate::answer::{API_VERSION, Header};
use crate::model::coverage::{Coverage, State};
use crate::model::pod::{OwnedField, Pod, PodName};
use crate::model::want::Want;
use crate::model::world::{Sourced, World};

/// Default of the API server's `--event-ttl`.
pub(super) const EVENTS_ARE_KEPT: SignedDuration = SignedDuration::from_hours(1);

/// More claims than a Pod has whose placement hangs on them.
const MAX_CLAIMS: usize = 8;

/// Nodes whose reserved room is looked into: one is enough to explain, and each costs two requests.
const MAX_RESERVED_NODES: usize = 3;

/// Victims that are looked up one by one.
const MAX_VICTIMS: usize = 8;

/// More Pods than this share one list of events.
const FEW: usize = 3;

/// What is still to be read. Pure: the same World wants the same.
pub(crate) fn wants(world: &World, request: &Request) -> BTreeSet<Want> {
    let mut wants = select::wants(world, request);
    let pods = select::choose(world, request).pods;
    let index = Index::of(world);
    for pod in &pods {
        wants.extend(wants_of(&index, &pod.value));
    }
    if let ([pod], false) = (pods.as_slice(), request.is_open()) {
        look_up_victims(&mut wants, &index, &pod.value);
    }
    if pods.len() <= FEW {
        wants.extend(pods.iter().map(|pod| Want::events_about(&pod.value)));
    } else {
        wants.retain(|want| !matches!(want, Want::EventsAbout { .. }));
        wants.insert(Want::EventsAboutPods {
            namespace: request.namespace.clone(),
        });
    }
    wants
}

/// Of a Pod that waits for victims, asks for the victims' own events instead of every namespace's.
///
/// The API server has no index of events: a list of them costs it as much as it holds. Who terminates is known first.
fn look_up_victims(wants: &mut BTreeSet<Want>, index: &Index<'_>, pod: &Pod) {
    let (None, Some(node), None) = (&pod.node, &pod.nominated_node, &pod.group) else {
        return;
    };
    if !index.world.is_answered(&Want::PodsOnNode(node.clone())) {
        wants.remove(&Want::PreemptedEvents);
        return;
    }
    // Who was tried that often may preempt in a loop; then earlier victims count, wherever they were.
    let attempts: i64 = index
        .world
        .events_about(&pod.uid)
        .filter(|event| event.value.reason == "FailedScheduling")
        .map(|event| event.value.count)
        .sum();
    if attempts >= i64::from(LOOP_ROUNDS) {
        return;
    }
    let victims: Vec<Want> = index
        .on_node(node)
        .iter()
        .filter(|pod| pod.deletion.is_some() && victims::is_preempted(pod))
        .map(|victim| Want::events_about(victim))
        .collect();
    if (1..=MAX_VICTIMS).contains(&victims.len()) && wants.remove(&Want::PreemptedEvents) {
        wants.extend(victims);
    }
}

/// What one Pod's explanation rests on, beside the Pod itself and its events.
fn wants_of(index: &Index<'_>, pod: &Pod) -> BTreeSet<Want> {
    let world = index.world;
    let mut wants = BTreeSet::new();
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
            let traceless = story::traceless(world).is_some();
            let failed_before = world
                .events_about(&pod.uid)
                .any(|event| event.value.reason == "FailedScheduling");
            // A nomination that was cleared before the binding has no owner; only a Pod that failed before can have had one.
            if nominated_before || traceless || failed_before {
                wants.insert(Want::PreemptedEvents);
            }
            if !nominated_before && pod.managed_fields.is_some() {
                // No owner means that none stood, unless the version leaves no trace.
                wants.insert(Want::ServerVersion);
            }
        }
        (None, Some(node)) => {
            wants.insert(Want::Node(node.clone()));
            if pod.gates.is_empty() {
                wants.insert(Want::PodsOnNode(node.clone()));
                wants.insert(Want::PreemptedEvents);
                wants.extend(victims_elsewhere(index, pod));
            }
            if reason == Some("SchedulerError") {
                wants.insert(Want::ServerVersion);
            }
        }
        // Pending without a nomination: a note would tell of one that was taken back, others' nominations of reserved room.
        (None, None) if reason == Some("Unschedulable") => {
            wants.insert(Want::PreemptedEvents);
            wants.insert(Want::NominatedPods);
            // Where it preempted before: whether those victims are gone, and what became of the node.
            let noted = index
                .preemptions(pod)
                .pop()
                .and_then(|(_, note)| note.node.clone());
            wants.extend(
                noted
                    .into_iter()
                    .flat_map(|node| [Want::PodsOnNode(node.clone()), Want::Node(node)]),
            );
            for node in reserved_nodes(index, pod).take(MAX_RESERVED_NODES) {
                wants.insert(Want::PodsOnNode(node.to_owned()));
                wants.insert(Want::Node(node.to_owned()));
            }
        }
        (None, None) => {
            // Nobody has reported on it: does its scheduler report on anybody?
            if pod.scheduled().is_none() && !pod.finished() {
                wants.insert(Want::AnyEventBy(pod.scheduler_name.clone()));
            }
        }
    }
    wants
}

/// Victims of the Pod's group: they may be on any node, and their events name none.
fn victims_elsewhere(index: &Index<'_>, pod: &Pod) -> Vec<Want> {
    let preemptions = index.preemptions(pod);
    preemptions
        .into_iter()
        .filter(|(_, note)| note.node.is_none())
        .filter_map(|(event, _)| event.value.regarding.as_ref())
        .map(|regarding| Want::Victim(regarding.name.clone()))
        .take(MAX_VICTIMS)
        .collect()
}

/// Every read that [`wants`] may come to, the most needed first; an empty name stands for any.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    let namespace = request.namespace.clone();
    let any = String::new;
    let mut wants = select::possible(request);
    wants.extend([
        Want::EventsAboutPods {
            namespace: namespace.clone(),
        },
        Want::Node(any()),
        Want::PodsOnNode(any()),
        Want::NominatedPods,
        Want::PreemptedEvents,
        Want::Claim(PodName {
            namespace: namespace.unwrap_or_default(),
            name: any(),
        }),
        Want::ServerVersion,
        Want::AnyEventBy(any()),
        Want::Victim(PodName {
            namespace: any(),
            name: any(),
        }),
    ]);
    wants
}

/// How far back events go: a Pod that is older than they are kept may have a history that nobody can read any more.
fn expired_history(story: &Story<'_>) -> Option<Coverage> {
    let about = Want::events_about(story.pod);
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
        location: None,
    })
}

/// Explains a Pod that is in the World, judged at `now`.
pub(crate) fn explain(
    world: &World,
    request: &Request,
    pod: &Sourced<Box<Pod>>,
    now: Timestamp,
    generated_at: Timestamp,
) -> NominationExplanation {
    let coverage = world.coverage().cloned().collect();
    let header = header(world, "NominationExplanation", coverage, now, generated_at);
    of_one(&Index::of(world), request, pod, header)
}

/// Explains all of these Pods: first those that are stuck, then those with a finding, each in order of their names.
pub(crate) fn explain_all(
    world: &World,
    request: &Request,
    pods: &[&Sourced<Box<Pod>>],
    now: Timestamp,
    generated_at: Timestamp,
) -> NominationExplanationList {
    let asked: BTreeSet<String> = world.answered().map(Want::subject).collect();
    let shared: BTreeSet<String> = select::wants(world, request)
        .iter()
        .chain(&BTreeSet::from([Want::EventsAboutPods {
            namespace: request.namespace.clone(),
        }]))
        .map(Want::subject)
        .collect();
    // What was read for other Pods alone says nothing of one.
    let (of_all, of_some): (Vec<&Coverage>, Vec<&Coverage>) = world.coverage().partition(|line| {
        let subject = &line.subject;
        shared.contains(subject) || !asked.contains(subject)
    });
    let mut by_subject: BTreeMap<&str, Vec<&Coverage>> = BTreeMap::new();
    for line in of_some {
        by_subject.entry(&line.subject).or_default().push(line);
    }
    let index = Index::of(world);
    let mut items: Vec<NominationExplanation> = pods
        .iter()
        .map(|pod| {
            let mut own = wants_of(&index, &pod.value);
            own.insert(Want::events_about(&pod.value));
            let lines: BTreeSet<&Coverage> = own
                .iter()
                .flat_map(|want| std::iter::once(want.clone()).chain(want.broader()))
                .filter_map(|want| by_subject.get(want.subject().as_str()))
                .flatten()
                .chain(&of_all)
                .copied()
                .collect();
            let coverage = lines.into_iter().cloned().collect();
            let header = header(world, "NominationExplanation", coverage, now, generated_at);
            of_one(&index, request, pod, header)
        })
        .collect();
    items.sort_by_cached_key(|item| {
        let bound = item.binding.is_some();
        let silent = item.verdict.severity() == Severity::None && !item.verdict.is_unanswered();
        let name = (item.pod.namespace.clone(), item.pod.name.clone());
        (bound, bound && silent, name)
    });
    let coverage = world.coverage().cloned().collect();
    NominationExplanationList {
        header: header(
            world,
            "NominationExplanationList",
            coverage,
            now,
            generated_at,
        ),
        items,
        many_namespaces: request.namespace.is_none(),
    }
}

fn header(
    world: &World,
    kind: &'static str,
    coverage: Vec<Coverage>,
    now: Timestamp,
    generated_at: Timestamp,
) -> Header {
    Header {
        api_version: API_VERSION,
        kind,
        generated_at,
        now,
        sources: world.sources().cloned().collect(),
        coverage,
    }
}

fn of_one(
    index: &Index<'_>,
    request: &Request,
    pod: &Sourced<Box<Pod>>,
    mut header: Header,
) -> NominationExplanation {
    let story = Story::of(index, pod, header.now);
    header.coverage.extend(expired_history(&story));
    header.coverage.extend(story.attempts.coverage());
    let verdict = verdict::judge(&story);
    let settled = deadline::is_settled(&story, &verdict);
    let holds_until = deadline::next(&story);
    let pod = &pod.value;
    NominationExplanation {
        settled,
        holds_until,
        pod: PodSummary {
            context: request.context.clone(),
            namespace: pod.name.namespace.clone(),
            name: pod.name.name.clone(),
            uid: pod.uid.0.to_string(),
            phase: pod.phase.clone(),
            scheduler_name: pod.scheduler_name.clone(),
            priority: pod.priority,
            node_name: pod.node.clone(),
            nominated_node_name: pod.nominated_node.clone(),
            age: story.age(pod.created).map(story::span),
        },
        header,
        verdict,
        nominations: story.nominations,
        binding: story.binding,
        victims: story.victims,
        preempted_by: story.preempted_by,
        scheduler: story.report,
        timeline: story.timeline,
    }
}
