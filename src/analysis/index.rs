//! What the explanation of each of many Pods looks up in the World, put in order once.
//!
//! Without it every Pod would look through all others, and all Pods through each other. It must not judge.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::preempted_note::{self, PreemptedNote, Preemptor};
use crate::model::event::Event;
use crate::model::pod::{Pod, PodName, Uid};
use crate::model::world::{Sourced, World};
use crate::model::write::{Action, Write};

/// A `Preempted` event and what its note says.
pub(super) type Preemption<'w> = (&'w Sourced<Event>, PreemptedNote);

/// An audited write, and the incarnation that it was to where that is known.
type Attributed<'w> = (Option<&'w Uid>, &'w Sourced<Write>);

pub(crate) struct Index<'w> {
    pub(super) world: &'w World,
    on_node: BTreeMap<&'w str, Vec<&'w Pod>>,
    /// Pending Pods by the node that they are nominated to.
    nominated: BTreeMap<&'w str, Vec<&'w Pod>>,
    /// When Pods of a name were created.
    names: BTreeMap<&'w PodName, BTreeSet<Timestamp>>,
    /// When the youngest Pod of a namespace and name was created that is on a node.
    youngest_named: BTreeMap<&'w PodName, Timestamp>,
    /// The same for Pods of a controller, whose names have the same stem.
    youngest_alike: BTreeMap<(&'w str, &'w str), Timestamp>,
    /// By the preemptor's UID, oldest first.
    preemptions: BTreeMap<Uid, Vec<Preemption<'w>>>,
    /// By the preempting group's name, oldest first: the note has its UID alone, which no Pod knows (observed, 1.37.2).
    group_preemptions: BTreeMap<&'w PodName, Vec<Preemption<'w>>>,
    /// Reporters of events that only a scheduler writes, with the manager that wrote them where that is known.
    schedulers: BTreeSet<(&'w str, Option<&'w str>)>,
    /// Audited writes by the Pod's name, in the order in which the server carried them out.
    writes: BTreeMap<&'w PodName, Vec<Attributed<'w>>>,
    /// Users and managers that wrote the condition `PodScheduled`, as schedulers do.
    placers: BTreeSet<(&'w str, &'w str)>,
    /// The last event of each reporter.
    latest: BTreeMap<&'w str, &'w Sourced<Event>>,
}

impl<'w> Index<'w> {
    pub(crate) fn of(world: &'w World) -> Self {
        let mut index = Self {
            world,
            on_node: BTreeMap::new(),
            nominated: BTreeMap::new(),
            names: BTreeMap::new(),
            youngest_named: BTreeMap::new(),
            youngest_alike: BTreeMap::new(),
            preemptions: BTreeMap::new(),
            group_preemptions: BTreeMap::new(),
            schedulers: BTreeSet::new(),
            latest: BTreeMap::new(),
            writes: BTreeMap::new(),
            placers: BTreeSet::new(),
        };
        for pod in world.pods() {
            index.add_pod(&pod.value);
        }
        for event in world.events() {
            index.add_event(event);
        }
        let mut of_names: BTreeMap<&PodName, Vec<&Sourced<Write>>> = BTreeMap::new();
        for write in world.writes() {
            of_names.entry(&write.value.pod).or_default().push(write);
            if write.value.reports {
                index
                    .placers
                    .insert((&write.value.user, write.value.manager()));
            }
        }
        for (name, mut writes) in of_names {
            in_order(&mut writes);
            index.writes.insert(name, attributed(&writes));
        }
        let found = index.preemptions.values_mut();
        for found in found.chain(index.group_preemptions.values_mut()) {
            found.sort_by_key(|(event, _)| (event.value.first, event.value.uid.as_ref()));
        }
        index
    }

    fn add_pod(&mut self, pod: &'w Pod) {
        let of_name = self.names.entry(&pod.name).or_default();
        of_name.extend(pod.created);
        let Some(node) = &pod.node else {
            if let Some(node) = &pod.nominated_node {
                self.nominated.entry(node).or_default().push(pod);
            }
            return;
        };
        self.on_node.entry(node).or_default().push(pod);
        if let Some(created) = pod.created {
            let named = self.youngest_named.entry(&pod.name).or_insert(created);
            *named = created.max(*named);
            if let (Some(_), Some(stem)) = (&pod.controller, stem(&pod.name.name)) {
                let alike = (pod.name.namespace.as_str(), stem);
                let alike = self.youngest_alike.entry(alike).or_insert(created);
                *alike = created.max(*alike);
            }
        }
    }

    fn add_event(&mut self, event: &'w Sourced<Event>) {
        let Event {
            reason,
            reporter,
            manager,
            note,
            related,
            ..
        } = &event.value;
        let latest = self.latest.entry(reporter).or_insert(event);
        if (event.value.last, &event.value.uid) > (latest.value.last, &latest.value.uid) {
            *latest = event;
        }
        if matches!(
            reason.as_str(),
            "Scheduled" | "FailedScheduling" | "Preempted"
        ) {
            self.schedulers.insert((reporter, manager.as_deref()));
        }
        if reason == "Preempted"
            && let Some(note) = preempted_note::parse(note)
        {
            match (&note.preemptor, related) {
                (Preemptor::Pod(uid), _) => {
                    let of_pod = self.preemptions.entry(uid.clone()).or_default();
                    of_pod.push((event, note));
                }
                (Preemptor::PodGroup(_), Some(group)) if group.kind == "PodGroup" => {
                    let of_group = self.group_preemptions.entry(&group.name).or_default();
                    of_group.push((event, note));
                }
                _ => {}
            }
        }
    }

    /// Every Pod bound to a node, in order of their UIDs.
    pub(super) fn on_node(&self, node: &str) -> &[&'w Pod] {
        self.on_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// Pending Pods that are nominated to a node, in order of their UIDs.
    pub(super) fn nominated_to(&self, node: &str) -> &[&'w Pod] {
        self.nominated.get(node).map_or(&[], Vec::as_slice)
    }

    /// Nodes that pending Pods are nominated to, with those Pods.
    pub(super) fn nominated(&self) -> impl Iterator<Item = (&'w str, &[&'w Pod])> {
        self.nominated
            .iter()
            .map(|(node, pods)| (*node, pods.as_slice()))
    }

    /// Whether a Pod of this name was seen.
    pub(super) fn is_named(&self, name: &PodName) -> bool {
        self.names.contains_key(name)
    }

    /// When the next Pod of this one's name was created, if one was.
    pub(super) fn successor(&self, pod: &Pod) -> Option<Timestamp> {
        let of_name = self.names.get(&pod.name)?;
        of_name
            .iter()
            .find(|created| pod.created.is_some_and(|own| **created > own))
            .copied()
    }

    /// Whether a Pod with this name, or one of a controller with the same generated name, came to a node after that time.
    pub(super) fn came_after(&self, name: &PodName, since: Timestamp) -> bool {
        let alike = stem(&name.name)
            .and_then(|stem| self.youngest_alike.get(&(name.namespace.as_str(), stem)));
        let named = self.youngest_named.get(name);
        named.max(alike).is_some_and(|youngest| *youngest > since)
    }

    /// `Preempted` events whose note says that this Pod took the room, or that its group did while it was there, oldest
    /// first.
    pub(super) fn preemptions(&self, pod: &Pod) -> Vec<&Preemption<'w>> {
        let own = self.preemptions.get(&pod.uid).into_iter().flatten();
        let group = pod.group.as_ref().and_then(|group| {
            self.group_preemptions.get(&PodName {
                namespace: pod.name.namespace.clone(),
                name: group.clone(),
            })
        });
        let group = group
            .into_iter()
            .flatten()
            .filter(|(event, _)| event.value.first >= pod.created);
        own.chain(group).collect()
    }

    /// What an audit log tells of writes to this incarnation, in order.
    pub(super) fn writes(&self, pod: &Pod) -> Vec<&'w Sourced<Write>> {
        let of_name = self.writes.get(&pod.name).into_iter().flatten().copied();
        of_name
            .filter(|(uid, write)| match uid {
                Some(uid) => **uid == pod.uid,
                // Of those to an incarnation that nobody names, the ones since its creation are its own.
                None => write.value.at.map(whole_second) >= pod.created.map(whole_second),
            })
            .map(|(_, write)| write)
            .collect()
    }

    /// Whether who wrote this is a scheduler, by what else it wrote.
    pub(super) fn is_placer(&self, write: &Write) -> bool {
        self.placers
            .contains(&(write.user.as_str(), write.manager()))
    }

    /// The last event that a reporter of this name wrote.
    pub(super) fn latest_by(&self, reporter: &str) -> Option<&'w Sourced<Event>> {
        self.latest.get(reporter).copied()
    }

    /// Whether a scheduler of this name reported as this manager.
    pub(super) fn reports_as(&self, scheduler: &str, manager: &str) -> bool {
        self.schedulers.contains(&(scheduler, Some(manager)))
    }
}

/// Puts writes in order: by time, and those whose version is known by that, which is exact.
fn in_order(writes: &mut [&Sourced<Write>]) {
    writes.sort_by_key(|write| (write.value.at, write.value.version, &write.value.id));
    let places: Vec<usize> = (0..writes.len())
        .filter(|place| {
            writes
                .get(*place)
                .is_some_and(|write| write.value.version.is_some())
        })
        .collect();
    let mut known: Vec<&Sourced<Write>> = places
        .iter()
        .filter_map(|place| writes.get(*place).copied())
        .collect();
    known.sort_by_key(|write| write.value.version);
    for (place, write) in places.into_iter().zip(known) {
        if let Some(slot) = writes.get_mut(place) {
            *slot = write;
        }
    }
}

/// Says to which incarnation each write was. One that names none is to that of the last write which does since the name was
/// created, else of the next before it is created again.
fn attributed<'w>(writes: &[&'w Sourced<Write>]) -> Vec<Attributed<'w>> {
    let creates = |write: &Sourced<Write>| {
        write.value.is_accepted() && matches!(write.value.action, Action::Create { .. })
    };
    let named = |write: &&'w Sourced<Write>| write.value.uid.as_ref();
    let mut last = None;
    let mut found = Vec::with_capacity(writes.len());
    for (place, write) in writes.iter().enumerate() {
        if creates(write) {
            last = None;
        }
        let (_, rest) = writes.split_at(place);
        last = named(write).or(last).or_else(|| {
            let later = rest.iter().skip(1).take_while(|write| !creates(write));
            later
                .filter(|write| write.value.is_accepted())
                .find_map(named)
        });
        found.push((last, *write));
    }
    found
}

/// Times of objects are one second fine, those of an audit log a microsecond.
fn whole_second(at: Timestamp) -> i64 {
    at.as_second()
}

/// A generated name without its random end.
fn stem(name: &str) -> Option<&str> {
    name.rsplit_once('-').map(|(stem, _)| stem)
}
