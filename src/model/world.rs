//! Facts folded together, with what could not be seen.
//!
//! It answers "what is known" and "was it looked at"; it must not judge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::claim::Claim;
use super::component::{ComponentKind, ComponentName, Document, Told};
use super::coverage::{Coverage, Source, State};
use super::event::Event;
use super::fact::{Content, Fact};
use super::grant::{ClusterRole, ClusterRoleBinding, Grant};
use super::node::{Node, NodeLease};
use super::pod::{Pod, PodName, Traits, Uid};
use super::replica::Replica;
use super::scheduler_line::SchedulerLine;
use super::version::Minor;
use super::want::Want;
use super::workload::{Workload, WorkloadKind};
use super::write::{After, Asked, Write};

/// A thing with the source that told it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sourced<T> {
    pub(crate) source: Arc<str>,
    pub(crate) value: T,
}

/// All that is known of a cluster at some moment, however it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct World {
    /// Boxed: a map of big values holds a third of them empty.
    pods: BTreeMap<Uid, Sourced<Box<Pod>>>,
    nodes: BTreeMap<String, Sourced<Node>>,
    node_leases: BTreeMap<String, Sourced<NodeLease>>,
    claims: BTreeMap<PodName, Sourced<Claim>>,
    version: Option<Minor>,
    workloads: BTreeMap<(WorkloadKind, PodName), Sourced<Workload>>,
    /// Keyed by the Event's UID, since both APIs show the same object; by name where that is missing.
    events: BTreeMap<String, Sourced<Event>>,
    /// Keys of the events about an object: each of many Pods is asked for its own.
    about: BTreeMap<Uid, BTreeSet<String>>,
    /// Pods as they were asked for, where a log holds no objects.
    drafts: Vec<Sourced<Box<Pod>>>,
    /// Which of `pods` are drafts.
    drafted: BTreeSet<Uid>,
    /// What documents say of components, each statement once.
    statements: BTreeMap<ComponentName, BTreeSet<Sourced<(Document, Told)>>>,
    replicas: BTreeSet<Replica>,
    cluster_roles: BTreeMap<String, ClusterRole>,
    cluster_role_bindings: BTreeMap<String, ClusterRoleBinding>,
    /// Audited requests by their ID.
    writes: BTreeMap<String, Sourced<Write>>,
    /// What schedulers' logs say, by Pod, with the source; files overlap.
    lines: BTreeMap<PodName, BTreeMap<SchedulerLine, Arc<str>>>,
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
                    let (uid, value) = (pod.uid.clone(), pod);
                    self.pods.insert(uid, Sourced { source, value });
                }
            }
            Content::Draft(value) => self.drafts.push(Sourced { source, value }),
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
                            value: *node,
                        },
                    );
                }
            }
            Content::NodeLease(lease) => {
                let newer = self.node_leases.get(&lease.node).is_none_or(|known| {
                    (lease.renewed, &source) > (known.value.renewed, &known.source)
                });
                if newer {
                    let key = lease.node.clone();
                    let value = *lease;
                    self.node_leases.insert(key, Sourced { source, value });
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
                            value: *claim,
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
                    let value = *workload;
                    self.workloads.insert(key, Sourced { source, value });
                }
            }
            Content::Statements(statements) => {
                // They are of one document: where one of them names its file, all stand there.
                let file = statements.iter().find_map(|it| match &it.told {
                    Told::Set(settings) => settings.places.file.clone(),
                    _ => None,
                });
                let source = file.unwrap_or(source);
                for statement in statements {
                    let value = (statement.document, statement.told);
                    let source = source.clone();
                    let of_component = self.statements.entry(statement.component).or_default();
                    of_component.insert(Sourced { source, value });
                }
            }
            Content::Replicas(replicas) => self.replicas.extend(replicas),
            // Of two of a name the greater one stays, so that their order does not matter.
            Content::Grant(grant) => match *grant {
                Grant::Role(role) => {
                    let known = self.cluster_roles.get(&role.name);
                    if known.is_none_or(|known| role > *known) {
                        self.cluster_roles.insert(role.name.clone(), role);
                    }
                }
                Grant::Binding(binding) => {
                    let known = self.cluster_role_bindings.get(&binding.name);
                    if known.is_none_or(|known| binding > *known) {
                        let name = binding.name.clone();
                        self.cluster_role_bindings.insert(name, binding);
                    }
                }
            },
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
            Content::Line(line) => {
                let of_pod = self.lines.entry(line.pod.clone()).or_default();
                let known = of_pod.entry(*line).or_insert_with(|| source.clone());
                if source < *known {
                    *known = source;
                }
            }
            Content::Version(minor) => self.version = self.version.max(Some(minor)),
            Content::Event(event) => {
                let key = event
                    .uid
                    .as_ref()
                    .map_or_else(|| format!("name:{}", event.name), |uid| uid.0.to_string());
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

    /// Puts drafts in the place of Pods whose objects nobody showed. To be called when all facts are in; once more does no harm.
    pub(crate) fn settle(&mut self) {
        self.tell_of_mixed_logs();
        for uid in std::mem::take(&mut self.drafted) {
            self.pods.remove(&uid);
        }
        let mut drafts: BTreeMap<PodName, Vec<Sourced<Box<Pod>>>> = BTreeMap::new();
        for draft in &self.drafts {
            let of_name = drafts.entry(draft.value.name.clone()).or_default();
            of_name.push(draft.clone());
        }
        let mut known: BTreeMap<PodName, Vec<Option<Timestamp>>> = BTreeMap::new();
        for pod in self.pods.values() {
            if drafts.contains_key(&pod.value.name) {
                let of_name = known.entry(pod.value.name.clone()).or_default();
                of_name.push(pod.value.created);
            }
        }
        for (name, mut of_name) in drafts {
            // The fullest first: whose creation was seen, then who is identified.
            of_name.sort_by(|a, b| {
                let key = |draft: &Sourced<Box<Pod>>| {
                    let value = &draft.value;
                    (
                        value.created.is_none(),
                        value.is_unidentified(),
                        value.created,
                    )
                };
                (key(a), &a.value.uid, &a.source).cmp(&(key(b), &b.value.uid, &b.source))
            });
            let objects = known.remove(&name).unwrap_or_default();
            // Times of objects are one second fine.
            let is_object = |created: Option<Timestamp>| {
                objects.iter().any(|object| match (object, created) {
                    (Some(object), Some(created)) => {
                        object.as_second().abs_diff(created.as_second()) <= 1
                    }
                    _ => true,
                })
            };
            let (nameless, identified): (Vec<_>, Vec<_>) = of_name
                .into_iter()
                .partition(|draft| draft.value.is_unidentified());
            let mut nameless = nameless.into_iter();
            for mut draft in identified {
                let uid = draft.value.uid.clone();
                if self.pods.contains_key(&uid) {
                    continue;
                }
                // One file saw the creation, another who it was.
                if draft.value.created.is_none()
                    && let Some(body) = nameless.next()
                {
                    let Traits {
                        phase,
                        reason,
                        message,
                        start,
                        ..
                    } = (*draft.value.traits).clone();
                    draft.value = body.value;
                    draft.value.uid = uid.clone();
                    let known = Arc::make_mut(&mut draft.value.traits);
                    known.phase = phase.or(known.phase.take());
                    known.reason = reason.or(known.reason.take());
                    known.message = message.or(known.message.take());
                    known.start = start.or(known.start);
                }
                self.drafted.insert(uid.clone());
                self.pods.insert(uid, draft);
            }
            // The one that is identified may be an earlier incarnation.
            let is_identified = |created: Option<Timestamp>| {
                let drafted = self.drafted.iter().filter_map(|uid| self.pods.get(uid));
                drafted
                    .filter(|pod| pod.value.name == name)
                    .any(|pod| pod.value.created.is_none() || pod.value.created >= created)
            };
            if let Some(draft) = nameless.next_back()
                && !is_identified(draft.value.created)
                && !is_object(draft.value.created)
            {
                self.drafted.insert(draft.value.uid.clone());
                self.pods.insert(draft.value.uid.clone(), draft);
            }
        }
    }

    /// Says where one name belongs to several Pods at a time, which no cluster allows: then logs of several were given.
    fn tell_of_mixed_logs(&mut self) {
        let mut of_names: BTreeMap<&PodName, Vec<&Sourced<Write>>> = BTreeMap::new();
        for write in self.writes.values() {
            if write.value.is_accepted() && write.value.uid.is_some() {
                of_names.entry(&write.value.pod).or_default().push(write);
            }
        }
        let mut mixed = BTreeSet::new();
        for (name, mut writes) in of_names {
            writes.sort_by_key(|write| (write.value.at, &write.value.id));
            let mut left = BTreeSet::new();
            let mut last: Option<&Uid> = None;
            for write in writes {
                let uid = write.value.uid.as_ref();
                if uid != last {
                    left.extend(last);
                    last = uid;
                }
                if last.is_some_and(|uid| left.contains(uid)) {
                    mixed.insert(Coverage {
                        source: write.source.to_string(),
                        subject: "audit log".to_owned(),
                        state: State::Partial,
                        detail: Some(format!(
                            "Pods {}/{} of several UIDs were written to by turns: these are logs of several clusters; each UID is told of by itself",
                            name.namespace, name.name
                        )),
                        location: None,
                    });
                    break;
                }
            }
        }
        self.coverage.extend(mixed);
    }

    /// Whether the Pod is known by what was asked for alone.
    pub(crate) fn is_draft(&self, uid: &Uid) -> bool {
        self.drafted.contains(uid)
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
    pub(crate) fn pods_named(&self, name: &PodName) -> Vec<&Sourced<Box<Pod>>> {
        let mut found: Vec<_> = self.pods().filter(|pod| pod.value.name == *name).collect();
        found.sort_by_key(|pod| (pod.value.created, &pod.value.uid));
        found
    }

    pub(crate) fn pod(&self, uid: &Uid) -> Option<&Sourced<Box<Pod>>> {
        self.pods.get(uid)
    }

    /// What schedulers' logs say of Pods of this name, and where.
    pub(crate) fn lines_about(
        &self,
        name: &PodName,
    ) -> impl Iterator<Item = (&SchedulerLine, &str)> {
        let lines = self.lines.get(name).into_iter().flatten();
        lines.map(|(line, source)| (line, &**source))
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &Sourced<Box<Pod>>> {
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

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Sourced<Node>> {
        self.nodes.values()
    }

    /// The Lease that the kubelet of a node renews.
    pub(crate) fn node_lease(&self, node: &str) -> Option<&NodeLease> {
        self.node_leases.get(node).map(|lease| &lease.value)
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

    /// Whether a kind of component was seen to run with a gate on; null if that was not observed. Off in one replica is not on.
    pub(crate) fn gate(&self, kind: ComponentKind, gate: &str) -> Option<bool> {
        let of_kind = self.statements.iter().filter(|(name, _)| name.kind == kind);
        of_kind
            .flat_map(|(_, told)| told)
            .filter_map(|told| match &told.value.1 {
                Told::Runs(gates) => gates.get(gate).copied(),
                _ => None,
            })
            .reduce(|known, enabled| known && enabled)
    }

    /// What was said of components.
    pub(crate) fn statements(
        &self,
    ) -> impl Iterator<Item = (&ComponentName, &BTreeSet<Sourced<(Document, Told)>>)> {
        self.statements.iter()
    }

    pub(crate) fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.iter()
    }

    pub(crate) fn cluster_role(&self, name: &str) -> Option<&ClusterRole> {
        self.cluster_roles.get(name)
    }

    pub(crate) fn cluster_roles(&self) -> impl Iterator<Item = &ClusterRole> {
        self.cluster_roles.values()
    }

    pub(crate) fn cluster_role_bindings(&self) -> impl Iterator<Item = &ClusterRoleBinding> {
        self.cluster_role_bindings.values()
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
