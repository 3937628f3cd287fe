//! The processes of a cluster that have gates, each with all that was said of it.
//!
//! It joins what different documents say of one process and resolves what is said of all of a kind. It must not decide which of
//! two statements is right.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::pool;
use crate::model::component::{
    ComponentKind, ComponentName, ComponentVersion, Document, GateTable, RuntimeConfig, Settings,
    Told,
};
use crate::model::pod::{ComponentPod, Pod};
use crate::model::version::{Minor, Release};
use crate::model::world::{Sourced, World};

/// One process, and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Process<'w> {
    pub(super) name: ComponentName,
    pub(super) pool: Option<String>,
    /// As it was told, e.g. `v1.33.5-eks-1a2b3c`.
    pub(super) version: Option<String>,
    pub(super) emulation: Option<Minor>,
    pub(super) min_compatibility: Option<Minor>,
    pub(super) started: Option<Timestamp>,
    /// Effective values, as it tells them itself.
    pub(super) runs: Option<&'w GateTable>,
    /// What it was told by its flags, as far as it runs.
    pub(super) flags: Option<&'w Settings>,
    /// What its configuration holds, flags and files together, as far as it runs.
    pub(super) configuration: Option<&'w Settings>,
    /// Of a kubelet, as it runs.
    pub(super) cpu_manager_policy: Option<&'w str>,
    /// Of an API server, what it is told to serve.
    pub(super) runtime_config: Option<&'w RuntimeConfig>,
    /// What it is started with next: a Pod's command line, a file.
    pub(super) stored: Vec<(Document, &'w Settings)>,
}

impl<'w> Process<'w> {
    pub(super) fn new(name: ComponentName) -> Self {
        Self {
            name,
            pool: None,
            version: None,
            emulation: None,
            min_compatibility: None,
            started: None,
            runs: None,
            flags: None,
            configuration: None,
            cpu_manager_policy: None,
            runtime_config: None,
            stored: Vec::new(),
        }
    }

    pub(super) fn release(&self) -> Option<Release> {
        Release::parse(self.version.as_deref()?)
    }

    /// The minor that it behaves as.
    pub(super) fn behaves_as(&self) -> Option<Minor> {
        self.emulation
            .or(self.release().map(|release| release.minor))
    }

    fn take(&mut self, document: Document, told: &'w Told) {
        match told {
            Told::Runs(gates) => self.runs = Some(gates),
            Told::Set(settings) if !document.is_running() => {
                self.stored.push((document, settings));
            }
            Told::Set(settings) if document == Document::Configz => {
                self.configuration = Some(settings);
            }
            Told::Set(settings) => self.flags = Some(settings),
            Told::Version(version) => self.is_of(version, document.is_running()),
            Told::Started(at) => self.started = self.started.max(Some(*at)),
            Told::Pool(pool) => self.pool = Some(pool.clone()),
            Told::Counts(_) | Told::OfKubeadm(_) => {}
            // What is stored is what it is started with next.
            Told::RuntimeConfig(config) => {
                if !document.is_running() || self.runtime_config.is_none() {
                    self.runtime_config = Some(config);
                }
            }
            Told::CpuManagerPolicy(policy) => self.cpu_manager_policy = Some(policy),
        }
    }

    fn take_pod(&mut self, pod: &'w ComponentPod) {
        for told in &pod.told {
            self.take(Document::Pod, told);
        }
    }

    /// What runs is believed before what is stored.
    fn is_of(&mut self, version: &ComponentVersion, is_running: bool) {
        let take = |known: &mut Option<Minor>, told: Option<Minor>| {
            if told.is_some() && (is_running || known.is_none()) {
                *known = told;
            }
        };
        take(&mut self.emulation, version.emulation);
        take(&mut self.min_compatibility, version.min_compatibility);
        if version.git.is_some() && (is_running || self.version.is_none()) {
            self.version.clone_from(&version.git);
        }
    }
}

/// All processes, by their names. A kind of which only a configuration is known is one process without an identity.
pub(super) fn all<'w>(world: &'w World, pool_label: Option<&str>) -> Vec<Process<'w>> {
    let mut processes: BTreeMap<ComponentName, Process<'w>> = BTreeMap::new();
    let mut process = |name: ComponentName, take: &mut dyn FnMut(&mut Process<'w>)| {
        take(
            processes
                .entry(name.clone())
                .or_insert_with(|| Process::new(name)),
        );
    };
    for node in world.nodes() {
        let node = &node.value;
        if let Some(version) = &node.kubelet_version {
            let name = ComponentName::new(ComponentKind::Kubelet, node.name.as_str());
            process(name, &mut |it| {
                it.version = Some(version.clone());
                it.pool = pool::of(&node.labels, pool_label);
            });
        }
    }
    for pod in world.pods() {
        let pod = &pod.value;
        if let Some(component) = &pod.component {
            let name = name_of_pod(component, pod);
            let node = pod.node.as_deref().and_then(|node| world.node(node));
            let node = node.filter(|_| component.kind == ComponentKind::KubeProxy);
            process(name, &mut |it| {
                it.pool = node.and_then(|node| pool::of(&node.value.labels, pool_label));
                it.take_pod(component);
            });
        }
    }
    // A configuration of kube-proxies is theirs; kubeadm's is of its own control plane, and not of what somebody adds.
    let (beside, own): (Vec<_>, Vec<_>) =
        made(world).partition(|(name, _)| name.kind.has_prefixed_gates());
    for (name, component) in own {
        process(name, &mut |it| it.take_pod(component));
    }
    // Of what runs, the later document stays; they do not contradict each other, or `contradiction` tells.
    let mut templates: Vec<Template<'w>> = Vec::new();
    for (name, told) in world.statements() {
        for Sourced { source, value } in told {
            let (document, told) = value;
            let is_of_file = matches!(document, Document::Configuration | Document::Flags);
            if name.identity.is_empty() && is_of_file {
                templates.push(Template {
                    kind: name.kind,
                    document: *document,
                    told,
                    source,
                });
                continue;
            }
            process(name.clone(), &mut |it| it.take(*document, told));
        }
    }
    let seen: BTreeSet<ComponentKind> = processes.keys().map(|name| name.kind).collect();
    let told = processes.values().filter(|it| !it.stored.is_empty());
    let closer: BTreeSet<ComponentName> = told.map(|it| it.name.clone()).collect();
    let groups = groups(&templates);
    for template in templates {
        let Template {
            kind,
            document,
            told,
            ..
        } = template;
        if seen.contains(&kind) {
            for process in processes.values_mut().filter(|it| it.name.kind == kind) {
                if let Told::RuntimeConfig(config) = told {
                    process.runtime_config.get_or_insert(config);
                }
                let Told::Set(settings) = told else { continue };
                // A closer statement says what this process is started with, and its own document which version it is.
                let is_first = process.stored.iter().all(|(known, _)| *known != document);
                if is_first && !closer.contains(&process.name) {
                    process.stored.push((document, settings));
                }
            }
            continue;
        }
        let identities = match groups.get(&kind) {
            None => vec![""],
            Some(files) => groups_of(files, &template),
        };
        for identity in identities {
            let name = ComponentName::new(kind, identity);
            processes
                .entry(name.clone())
                .or_insert_with(|| Process::new(name))
                .take(document, told);
        }
    }
    for (name, component) in beside {
        let known = processes.entry(name.clone());
        let known = known.or_insert_with(|| Process::new(name));
        known.take_pod(component);
    }
    processes.into_values().collect()
}

/// Components that workloads make. Of a cluster Pods tell what runs; where nothing runs, what makes them does.
fn made(world: &World) -> impl Iterator<Item = (ComponentName, &ComponentPod)> {
    let mut pods = world.pods();
    let is_cluster = world.nodes().next().is_some() || pods.any(|pod| pod.value.node.is_some());
    let workloads = world.workloads().filter(move |_| !is_cluster);
    workloads.filter_map(|workload| {
        let component = workload.component.as_deref()?;
        let name = ComponentName::new(component.kind, workload.name.name.as_str());
        Some((name, component))
    })
}

fn file(told: &Told) -> Option<&str> {
    match told {
        Told::Set(settings) => settings.places.file.as_deref(),
        _ => None,
    }
}

/// What a document says of all components of a kind, with where it stands.
struct Template<'w> {
    kind: ComponentKind,
    document: Document,
    told: &'w Told,
    source: &'w str,
}

/// Files that each configure components of their own, by kind; a kind of which there is one alone needs no name.
type Groups<'w> = BTreeMap<ComponentKind, BTreeSet<&'w str>>;

fn groups<'w>(templates: &[Template<'w>]) -> Groups<'w> {
    let mut groups = Groups::new();
    for template in templates {
        if let Some(file) = file(template.told).filter(|file| !is_drop_in(file)) {
            groups.entry(template.kind).or_default().insert(file);
        }
    }
    groups.retain(|_, files| files.len() > 1);
    groups
}

/// A part of a configuration that stands beside it (`kubelet.conf.d/`, `config.yaml.d/`).
pub(super) fn is_drop_in(file: &str) -> bool {
    let folder = file.rsplit_once('/').map(|(folder, _)| folder);
    folder.is_some_and(|folder| folder.strip_suffix(".d").is_some())
}

/// The groups that a statement is about: that of its own file, of a drop-in that of the file which is nearest, and else, as of a version
/// that another file tells, those that lie nearest: one file may tell it of all.
fn groups_of<'w>(files: &BTreeSet<&'w str>, template: &Template<'_>) -> Vec<&'w str> {
    let source = template.source;
    if let Some(own) = files.get(source) {
        return vec![own];
    }
    let letters = |other: &&str| {
        let letters = source.bytes().zip(other.bytes());
        letters.take_while(|(one, other)| one == other).count()
    };
    if is_drop_in(source) {
        return files
            .iter()
            .copied()
            .max_by_key(letters)
            .into_iter()
            .collect();
    }
    let folders = |other: &str| {
        let names = source.split('/').zip(other.split('/'));
        names.take_while(|(one, other)| one == other).count()
    };
    let nearest = files.iter().map(|file| folders(file)).max();
    let all = files.iter().copied();
    all.filter(|file| Some(folders(file)) == nearest).collect()
}

/// The process in a Pod: by the Pod's own name; an API server by its address, which is how its documents are asked for, and a
/// kube-proxy by its node, whose kubelet it may not be too far from.
pub(super) fn name_of_pod(component: &ComponentPod, pod: &Pod) -> ComponentName {
    let name = match component.kind {
        ComponentKind::KubeApiserver => component.address.as_deref(),
        ComponentKind::KubeProxy => pod.node.as_deref(),
        _ => None,
    };
    ComponentName::new(component.kind, name.unwrap_or(&pod.name.name))
}
