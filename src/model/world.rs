//! Facts folded together, with what could not be seen.
//!
//! It answers "what is known" and "was it looked at"; it must not judge.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::claim::Claim;
use super::coverage::{Coverage, Source, State};
use super::event::Event;
use super::fact::{Content, Fact};
use super::node::Node;
use super::pod::{Pod, PodName, Uid};
use super::version::Minor;
use super::want::Want;
use super::workload::{Workload, WorkloadKind};
use super::write::{After, Asked, Write};

/// A thing with the source that told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sourced<T> {
    pub(crate) source: String,
    pub(crate) value: T,
}

/// All that is known of a cluster at some moment, however it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct World {
    pods: BTreeMap<Uid, Sourced<Pod>>,
    nodes: BTreeMap<String, Sourced<Node>>,
    claims: BTreeMap<PodName, Sourced<Claim>>,
    version: Option<Minor>,
    workloads: BTreeMap<(WorkloadKind, PodName), Sourced<Workload>>,
    /// Keyed by the Event's UID, since both APIs show the same object; by name where that is missing.
    events: BTreeMap<String, Sourced<Event>>,
    /// Keys of the events about an object: each of many Pods is asked for its own.
    about: BTreeMap<Uid, BTreeSet<String>>,
    /// Observed gates by component and name.
    gates: BTreeMap<(String, String), bool>,
    /// Audited requests by their ID.
    writes: BTreeMap<String, Sourced<Write>>,
    /// Pods that were there and are no more; what is known of them is their last state.
    gone: BTreeSet<Uid>,
    answered: BTreeMap<Want, State>,
    sources: BTreeSet<Source>,
    coverage: BTreeSet<Coverage>,
    clock: Option<Timestamp>,
    newest: Option<Timestamp>,
}

impl World {
    /// Folds one fact in. The order of facts does not matter: the newer version of an object stays.
    pub(crate) fn fold(&mut self, fact: Fact) {
        self.newest = self.newest.max(fact.content.newest_observation());
        let source = fact.source;
        match fact.content {
            Content::Pod(pod) => {
                let newer = self.pods.get(&pod.uid).is_none_or(|known| {
                    pod_rank(&pod, &source) > pod_rank(&known.value, &known.source)
                });
                if newer {
                    self.pods.insert(
                        pod.uid.clone(),
                        Sourced {
                            source,
                            value: *pod,
                        },
                    );
                }
            }
            Content::Node(node) => {
                let newer = self.nodes.get(&node.name).is_none_or(|known| {
                    (node.newest_observation, &source)
                        > (known.value.newest_observation, &known.source)
                });
                if newer {
                    self.nodes.insert(
                        node.name.clone(),
                        Sourced {
                            source,
                            value: node,
                        },
                    );
                }
            }
            Content::Claim(claim) => {
                let newer = self.claims.get(&claim.name).is_none_or(|known| {
                    (&claim.selected_node, &source) > (&known.value.selected_node, &known.source)
                });
                if newer {
                    self.claims.insert(
                        claim.name.clone(),
                        Sourced {
                            source,
                            value: claim,
                        },
                    );
                }
            }
            Content::Workload(workload) => {
                let key = (workload.kind, workload.name.clone());
                let newer = self.workloads.get(&key).is_none_or(|known| {
                    (&workload.uid, &source) > (&known.value.uid, &known.source)
                });
                if newer {
                    let value = workload;
                    self.workloads.insert(key, Sourced { source, value });
                }
            }
            Content::Gates(table) => {
                for (gate, enabled) in table.enabled {
                    // Two replicas that differ: off in one is not on.
                    let known = self
                        .gates
                        .entry((table.component.clone(), gate))
                        .or_insert(enabled);
                    *known &= enabled;
                }
            }
            Content::Write(write) => {
                // Files overlap, and one log may tell more of a request than another.
                let rank = |write: &Write| {
                    (
                        write.after != After::Unlogged,
                        write.asked != Asked::Unknown,
                    )
                };
                let newer = self.writes.get(&write.id).is_none_or(|known| {
                    (rank(&write), &source) > (rank(&known.value), &known.source)
                });
                if newer {
                    let value = *write;
                    self.writes
                        .insert(value.id.clone(), Sourced { source, value });
                }
            }
            Content::Version(minor) => self.version = self.version.max(Some(minor)),
            Content::Event(event) => {
                let key = event
                    .uid
                    .as_ref()
                    .map_or_else(|| format!("name:{}", event.name), |uid| uid.0.clone());
                let newer = self.events.get(&key).is_none_or(|known| {
                    (event.last, event.count, &source)
                        > (known.value.last, known.value.count, &known.source)
                });
                if newer {
                    let regarding = event.regarding.as_ref();
                    if let Some(uid) = regarding.and_then(|regarding| regarding.uid.as_ref()) {
                        let keys = self.about.entry(uid.clone()).or_default();
                        keys.insert(key.clone());
                    }
                    self.events.insert(
                        key,
                        Sourced {
                            source,
                            value: *event,
                        },
                    );
                }
            }
        }
    }

    pub(crate) fn add_source(&mut self, source: Source) {
        self.sources.insert(source);
    }

    pub(crate) fn add_coverage(&mut self, line: Coverage) {
        self.coverage.insert(line);
    }

    /// Notes what came of a want. What one source answered completely, another cannot take back.
    pub(crate) fn answer(&mut self, want: Want, state: State) {
        let best = self
            .answered
            .get(&want)
            .map_or(state, |known| state.min(*known));
        self.answered.insert(want, best);
    }

    /// Whether it need not be asked: it was, or something that holds it was answered in full.
    pub(crate) fn is_answered(&self, want: &Want) -> bool {
        self.answered.contains_key(want)
            || want
                .broader()
                .iter()
                .any(|broader| self.answered.get(broader) == Some(&State::Complete))
    }

    /// What came of a want, or of one that holds it; null where nobody asked.
    pub(crate) fn state_of(&self, want: &Want) -> Option<State> {
        let broader = want.broader();
        std::iter::once(want)
            .chain(&broader)
            .filter_map(|want| self.answered.get(want))
            .min()
            .copied()
    }

    /// All wants that were asked.
    pub(crate) fn answered(&self) -> impl Iterator<Item = &Want> {
        self.answered.keys()
    }

    /// Whether a want was answered in full, so that "none" means none.
    pub(crate) fn is_complete(&self, want: &Want) -> bool {
        self.state_of(want) == Some(State::Complete)
    }

    /// Sets the clock as the API server told it.
    pub(crate) fn set_clock(&mut self, clock: Timestamp) {
        self.clock = self.clock.max(Some(clock));
    }

    /// The time to judge by: the server's clock, else the newest observation.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        self.clock.or(self.newest)
    }

    /// Pods of this name, newest incarnation last.
    pub(crate) fn pods_named(&self, name: &PodName) -> Vec<&Sourced<Pod>> {
        let mut found: Vec<_> = self
            .pods
            .values()
            .filter(|pod| pod.value.name == *name)
            .collect();
        found.sort_by_key(|pod| (pod.value.created, &pod.value.uid));
        found
    }

    pub(crate) fn pod(&self, uid: &Uid) -> Option<&Sourced<Pod>> {
        self.pods.get(uid)
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &Sourced<Pod>> {
        self.pods.values()
    }

    /// Notes that a Pod is no more.
    pub(crate) fn mark_gone(&mut self, uid: Uid) {
        self.gone.insert(uid);
    }

    /// Whether it was seen that the Pod is no more.
    pub(crate) fn is_gone(&self, uid: &Uid) -> bool {
        self.gone.contains(uid)
    }

    pub(crate) fn node(&self, name: &str) -> Option<&Sourced<Node>> {
        self.nodes.get(name)
    }

    pub(crate) fn workload(&self, kind: WorkloadKind, name: &PodName) -> Option<&Workload> {
        let found = self.workloads.get(&(kind, name.clone()));
        found.map(|workload| &workload.value)
    }

    pub(crate) fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.values().map(|workload| &workload.value)
    }

    pub(crate) fn claim(&self, name: &PodName) -> Option<&Claim> {
        self.claims.get(name).map(|claim| &claim.value)
    }

    /// Null where it was not observed; then nothing may follow from it.
    pub(crate) fn version(&self) -> Option<Minor> {
        self.version
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &Sourced<Event>> {
        self.events.values()
    }

    /// Events about one incarnation.
    pub(crate) fn events_about(&self, uid: &Uid) -> impl Iterator<Item = &Sourced<Event>> {
        self.about
            .get(uid)
            .into_iter()
            .flatten()
            .filter_map(|key| self.events.get(key))
            .filter(|event| event.value.is_about(uid))
    }

    /// Whether a component was seen to run with a gate on; null if that was not observed.
    pub(crate) fn gate(&self, component: &str, gate: &str) -> Option<bool> {
        let key = (component.to_owned(), gate.to_owned());
        self.gates.get(&key).copied()
    }

    /// Writes to Pods that an audit log tells of.
    pub(crate) fn writes(&self) -> impl Iterator<Item = &Sourced<Write>> {
        self.writes.values()
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter()
    }

    pub(crate) fn coverage(&self) -> impl Iterator<Item = &Coverage> {
        self.coverage.iter()
    }
}

/// Newer versions win; where versions are missing, newer observations; then the source's name, so that order never matters.
fn pod_rank<'a>(
    pod: &Pod,
    source: &'a str,
) -> (
    Option<super::pod::ResourceVersion>,
    Option<Timestamp>,
    bool,
    &'a str,
) {
    (
        pod.resource_version,
        pod.newest_observation(),
        pod.managed_fields.is_some(),
        source,
    )
}
