//! Which Pods are asked about: by name, by workload, by selectors, by UID. What to read to know, and who it is.
//!
//! The words of kubectl; the same selection gives the same Pods of a cluster and of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::coverage::State;
use crate::model::pod::{Pod, PodName, Uid};
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::Want;
use crate::model::workload::{Workload, WorkloadKind};
use crate::model::world::{Sourced, World};

/// What is asked for, and where.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) selection: Selection,
    /// Null is all namespaces; with names, only for files, which may hold them in any namespace.
    pub(crate) namespace: Option<String>,
    /// Kubeconfig context, for the answer.
    pub(crate) context: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// One or more.
    Named(Vec<Target>),
    Matching {
        labels: LabelSelector,
        fields: FieldSelector,
    },
    Uid(Uid),
    /// These incarnations, whatever became of them since they were found.
    Found(BTreeMap<Uid, PodName>),
}

/// A Pod, or what makes Pods, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Null is a Pod.
    pub(crate) workload: Option<WorkloadKind>,
    pub(crate) name: String,
}

/// What was found of a request.
#[derive(Debug, Default)]
pub(crate) struct Chosen<'w> {
    /// Each once, in order of namespace and name.
    pub(crate) pods: Vec<&'w Sourced<Box<Pod>>>,
    pub(crate) missing: Vec<Missing>,
    /// A list broke off or an owner could not be read: there may be others, or some of these may not be meant.
    pub(crate) uncertain: bool,
}

/// A part of a request that cannot be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Null where the whole selection failed.
    pub(crate) target: Option<Target>,
    pub(crate) reason: Reason,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It is not there, or could not be read: the coverage of this read tells, if there was one.
    NotFound(Option<Want>),
    /// Namespaces that each have one of this name.
    Ambiguous(Vec<String>),
    /// The Pod of this UID is gone, and another one has its name.
    Replaced(PodName),
}

impl Request {
    /// Whether one Pod is asked for, so that the answer is one and no list.
    pub(crate) fn is_single(&self) -> bool {
        match &self.selection {
            Selection::Named(targets) => {
                matches!(targets.as_slice(), [target] if target.workload.is_none())
            }
            Selection::Matching { .. } | Selection::Found(_) => false,
            Selection::Uid(_) => true,
        }
    }

    /// The selection in the words of the command line; the same words select the same.
    pub(crate) fn words(&self) -> String {
        match &self.selection {
            Selection::Named(targets) => {
                let words = targets.iter().map(|target| {
                    let kind = target.workload.map_or("pods", WorkloadKind::resource);
                    format!("{kind}/{}", target.name)
                });
                words.collect::<Vec<_>>().join(" ")
            }
            Selection::Matching { labels, fields } => {
                let flags = [
                    ("-l", labels.to_string()),
                    ("--field-selector", fields.to_string()),
                ];
                let flags = flags.iter().filter(|(_, selector)| !selector.is_empty());
                let flags = flags.map(|(flag, selector)| format!(" {flag} {selector}"));
                format!("pods{}", flags.collect::<String>())
            }
            Selection::Uid(uid) => format!("--uid {}", uid.0),
            Selection::Found(pods) => {
                let words = pods.keys().map(|uid| format!("--uid {}", uid.0));
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The names that are asked for, where each is a Pod's.
    pub(crate) fn pod_names(&self) -> Option<Vec<String>> {
        match &self.selection {
            Selection::Named(targets) if targets.iter().all(|target| target.workload.is_none()) => {
                Some(targets.iter().map(|target| target.name.clone()).collect())
            }
            _ => None,
        }
    }

    /// Whether Pods that come later may be meant as well.
    pub(crate) fn is_open(&self) -> bool {
        match &self.selection {
            Selection::Named(targets) => targets.iter().any(|target| target.workload.is_some()),
            Selection::Matching { .. } => true,
            Selection::Uid(_) | Selection::Found(_) => false,
        }
    }

    /// The same for Pods that it has found.
    pub(crate) fn of_found(&self, pods: BTreeMap<Uid, PodName>) -> Self {
        Self {
            selection: Selection::Found(pods),
            ..self.clone()
        }
    }

    fn named(&self, name: &str) -> Option<PodName> {
        self.namespace.as_ref().map(|namespace| PodName {
            namespace: namespace.clone(),
            name: name.to_owned(),
        })
    }

    fn covers(&self, namespace: &str) -> bool {
        self.namespace
            .as_deref()
            .is_none_or(|only| only == namespace)
    }
}

/// What is to be read to know which Pods are meant.
pub(super) fn wants(world: &World, request: &Request) -> BTreeSet<Want> {
    match &request.selection {
        Selection::Named(targets) => targets
            .iter()
            .flat_map(|target| wants_of(world, request, target))
            .collect(),
        Selection::Matching { labels, fields } => BTreeSet::from([Want::Pods {
            namespace: request.namespace.clone(),
            labels: labels.clone(),
            fields: fields.clone(),
        }]),
        Selection::Uid(uid) => wants_of_uid(world, request, uid),
        // What was read of one already, be it by a list, is not read once more by its name.
        Selection::Found(pods) => pods
            .iter()
            .filter(|(uid, _)| world.pod(uid).is_none())
            .map(|(_, name)| Want::Pod(name.clone()))
            .collect(),
    }
}

fn wants_of(world: &World, request: &Request, target: &Target) -> Vec<Want> {
    let name = request.named(&target.name);
    let Some(kind) = target.workload else {
        return name.map(Want::Pod).into_iter().collect();
    };
    let mut wants: Vec<Want> = name
        .map(|name| Want::Workload(kind, name))
        .into_iter()
        .collect();
    if let Ok(workload) = workload(world, request, kind, &target.name) {
        wants.extend(list_of(workload));
        // The Deployment of a Pod is told by its ReplicaSet.
        let sets = candidates(world, workload)
            .filter(|_| kind == WorkloadKind::Deployment)
            .filter_map(|pod| pod.value.controller.as_deref()?.strip_prefix("ReplicaSet/"))
            .map(|set| {
                Want::Workload(
                    WorkloadKind::ReplicaSet,
                    PodName {
                        namespace: workload.name.namespace.clone(),
                        name: set.to_owned(),
                    },
                )
            });
        wants.extend(sets);
    }
    wants
}

/// An event about the UID tells the name with a right that is needed anyway; without one all Pods are looked through.
fn wants_of_uid(world: &World, request: &Request, uid: &Uid) -> BTreeSet<Want> {
    let events = Want::EventsAbout {
        namespace: request.namespace.clone(),
        uid: uid.clone(),
    };
    let mut wants = BTreeSet::from([events.clone()]);
    match name_of(world, uid) {
        _ if world.pod(uid).is_some() => {}
        Some(name) => {
            wants.insert(Want::Pod(name));
        }
        None if world.is_answered(&events) => {
            wants.insert(Want::PodOfUid {
                namespace: request.namespace.clone(),
                uid: uid.clone(),
            });
        }
        None => {}
    }
    wants
}

/// Every read that [`wants`] may come to, the most needed first; an empty name stands for any.
pub(super) fn possible(request: &Request) -> Vec<Want> {
    let namespace = request.namespace.clone();
    let any = |name: &str| PodName {
        namespace: namespace.clone().unwrap_or_default(),
        name: name.to_owned(),
    };
    let list = || Want::Pods {
        namespace: namespace.clone(),
        labels: LabelSelector::default(),
        fields: FieldSelector::default(),
    };
    match &request.selection {
        Selection::Named(targets) => targets
            .iter()
            .flat_map(|target| match target.workload {
                None => vec![Want::Pod(any(&target.name))],
                Some(kind) => {
                    let mut wants = vec![Want::Workload(kind, any(&target.name)), list()];
                    if kind == WorkloadKind::Deployment {
                        wants.push(Want::Workload(WorkloadKind::ReplicaSet, any("")));
                    }
                    wants
                }
            })
            .collect(),
        Selection::Matching { .. } => vec![list()],
        Selection::Found(pods) => pods.values().cloned().map(Want::Pod).collect(),
        Selection::Uid(uid) => vec![
            Want::Pod(any("")),
            Want::PodOfUid {
                namespace: namespace.clone(),
                uid: uid.clone(),
            },
        ],
    }
}

/// The Pods that the request means, as far as they are known.
pub(crate) fn choose<'w>(world: &'w World, request: &Request) -> Chosen<'w> {
    let mut found: BTreeMap<&PodName, &Sourced<Box<Pod>>> = BTreeMap::new();
    let mut missing = Vec::new();
    match &request.selection {
        Selection::Named(targets) => {
            for target in targets {
                match pods_of(world, request, target) {
                    Ok(pods) => found.extend(pods.into_iter().map(|pod| (&pod.value.name, pod))),
                    Err(reason) => missing.push(Missing {
                        target: Some(target.clone()),
                        reason,
                    }),
                }
            }
        }
        Selection::Matching { labels, fields } => {
            let selected = world.pods().filter(|pod| {
                let pod = &pod.value;
                request.covers(&pod.name.namespace)
                    && labels.matches(&pod.labels)
                    && fields.matches(pod)
            });
            newest(selected, &mut found);
            let wants = wants(world, request).into_iter();
            missing.extend(
                wants
                    .filter_map(|want| unread(world, want))
                    .map(|reason| Missing {
                        target: None,
                        reason,
                    }),
            );
        }
        Selection::Uid(uid) => match world.pod(uid) {
            Some(pod) if request.covers(&pod.value.name.namespace) => {
                found.insert(&pod.value.name, pod);
            }
            _ => missing.push(Missing {
                target: None,
                reason: uid_not_found(world, request, uid),
            }),
        },
        Selection::Found(pods) => {
            let known = pods.keys().filter_map(|uid| world.pod(uid));
            let mut pods: Vec<&Sourced<Box<Pod>>> = known.collect();
            pods.sort_by_key(|pod| (&pod.value.name, pod.value.created, &pod.value.uid));
            return Chosen {
                pods,
                ..Chosen::default()
            };
        }
    }
    let unsure = |want: &Want| {
        let state = world.state_of(want);
        !matches!(state, None | Some(State::Complete | State::Absent))
    };
    let lists = !matches!(request.selection, Selection::Uid(_));
    Chosen {
        pods: found.into_values().collect(),
        missing,
        uncertain: lists && wants(world, request).iter().any(unsure),
    }
}

/// What became of a Pod that a read did not show any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// The server says so, or another Pod has its name.
    Gone,
    /// It could not be looked for: the coverage of this read tells why.
    Unread(Want),
}

/// Those of the found Pods that were read for and are not in the World.
pub(crate) fn vanished(world: &World, found: &BTreeMap<Uid, PodName>) -> Vec<(Uid, Whereabouts)> {
    let lost = found.iter().filter(|(uid, _)| world.pod(uid).is_none());
    lost.map(|(uid, name)| {
        let want = Want::Pod(name.clone());
        let whereabouts = match world.state_of(&want) {
            Some(State::Absent) => Whereabouts::Gone,
            Some(State::Complete) if !world.pods_named(name).is_empty() => Whereabouts::Gone,
            _ => Whereabouts::Unread(want),
        };
        (uid.clone(), whereabouts)
    })
    .collect()
}

/// Of several incarnations of a name the newest.
fn newest<'w>(
    pods: impl Iterator<Item = &'w Sourced<Box<Pod>>>,
    found: &mut BTreeMap<&'w PodName, &'w Sourced<Box<Pod>>>,
) {
    for pod in pods {
        let known = found.entry(&pod.value.name).or_insert(pod);
        if (pod.value.created, &pod.value.uid) > (known.value.created, &known.value.uid) {
            *known = pod;
        }
    }
}

fn pods_of<'w>(
    world: &'w World,
    request: &Request,
    target: &Target,
) -> Result<Vec<&'w Sourced<Box<Pod>>>, Reason> {
    let Some(kind) = target.workload else {
        let names = world
            .pods()
            .map(|pod| &pod.value.name)
            .filter(|name| name.name == target.name && request.covers(&name.namespace));
        let name = only(names, || request.named(&target.name).map(Want::Pod))?;
        return Ok(world.pods_named(name).pop().into_iter().collect());
    };
    let workload = workload(world, request, kind, &target.name)?;
    if let Some(reason) = list_of(workload).and_then(|want| unread(world, want)) {
        return Err(reason);
    }
    let mut found = BTreeMap::new();
    newest(
        candidates(world, workload).filter(|pod| is_its_own(world, workload, &pod.value)),
        &mut found,
    );
    Ok(found.into_values().collect())
}

/// The workload of this name.
fn workload<'w>(
    world: &'w World,
    request: &Request,
    kind: WorkloadKind,
    name: &str,
) -> Result<&'w Workload, Reason> {
    let names = world
        .workloads()
        .filter(|workload| workload.kind == kind)
        .map(|workload| &workload.name)
        .filter(|known| known.name == name && request.covers(&known.namespace));
    let want = || request.named(name).map(|name| Want::Workload(kind, name));
    let name = only(names, want)?;
    world
        .workload(kind, name)
        .ok_or_else(|| Reason::NotFound(want()))
}

/// The only one of these names.
fn only<'w>(
    names: impl Iterator<Item = &'w PodName>,
    want: impl Fn() -> Option<Want>,
) -> Result<&'w PodName, Reason> {
    let names: BTreeSet<&PodName> = names.collect();
    match (names.first(), names.len()) {
        (Some(name), 1) => Ok(name),
        (None, _) => Err(Reason::NotFound(want())),
        (Some(_), _) => Err(Reason::Ambiguous(
            names
                .into_iter()
                .map(|name| name.namespace.clone())
                .collect(),
        )),
    }
}

/// The list of the Pods that a workload selects; a selector that is missing or empty selects none.
fn list_of(workload: &Workload) -> Option<Want> {
    let labels = workload
        .selector
        .clone()
        .filter(|labels| !labels.is_empty())?;
    Some(Want::Pods {
        namespace: Some(workload.name.namespace.clone()),
        labels,
        fields: FieldSelector::default(),
    })
}

/// Pods that a workload selects.
fn candidates<'w>(
    world: &'w World,
    workload: &Workload,
) -> impl Iterator<Item = &'w Sourced<Box<Pod>>> {
    let labels = workload
        .selector
        .clone()
        .filter(|labels| !labels.is_empty());
    let namespace = workload.name.namespace.clone();
    world.pods().filter(move |pod| {
        let labels = labels.as_ref();
        pod.value.name.namespace == namespace
            && labels.is_some_and(|labels| labels.matches(&pod.value.labels))
    })
}

/// Whether a workload controls the Pod, itself or through a ReplicaSet. One that was not read speaks for the Pod.
fn is_its_own(world: &World, workload: &Workload, pod: &Pod) -> bool {
    if pod.controller_uid.as_ref() == Some(&workload.uid) {
        return true;
    }
    let set = pod
        .controller
        .as_deref()
        .and_then(|controller| controller.strip_prefix("ReplicaSet/"))
        .filter(|_| workload.kind == WorkloadKind::Deployment);
    let Some(set) = set else {
        return false;
    };
    let set = PodName {
        namespace: pod.name.namespace.clone(),
        name: set.to_owned(),
    };
    match world.workload(WorkloadKind::ReplicaSet, &set) {
        Some(set) => {
            pod.controller_uid.as_ref() == Some(&set.uid)
                && set.controller.as_ref() == Some(&workload.uid)
        }
        None => true,
    }
}

/// Why a list says nothing: it was asked for and refused. A part of it is shown, and the coverage says so.
fn unread(world: &World, want: Want) -> Option<Reason> {
    let useful = matches!(
        world.state_of(&want),
        None | Some(State::Complete | State::Partial)
    );
    // Files were read at once, whatever they are said to hold.
    let known = world.pods().next().is_some();
    (!useful && !known).then_some(Reason::NotFound(Some(want)))
}

/// Namespace and name that events give to a UID.
fn name_of(world: &World, uid: &Uid) -> Option<PodName> {
    let regarding = world
        .events_about(uid)
        .filter_map(|event| event.value.regarding.as_ref())
        .find(|regarding| regarding.kind == "Pod")?;
    Some(regarding.name.clone())
}

fn uid_not_found(world: &World, request: &Request, uid: &Uid) -> Reason {
    let name = name_of(world, uid);
    if let Some(name) = &name
        && !world.pods_named(name).is_empty()
    {
        return Reason::Replaced(name.clone());
    }
    let want = name.map_or_else(
        || Want::PodOfUid {
            namespace: request.namespace.clone(),
            uid: uid.clone(),
        },
        Want::Pod,
    );
    Reason::NotFound(Some(want))
}
