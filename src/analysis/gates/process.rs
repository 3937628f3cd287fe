//! The processes of a cluster that have gates, each with all that was said of it.
//!
//! It joins what different documents say of one process and resolves what is said of all of a kind. It must not decide which of
//! two statements is right.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::pool;
use crate::model::component::{
    ComponentKind, ComponentName, ComponentVersion, Document, GateTable, Settings, Told,
};
use crate::model::pod::{ComponentPod, Pod};
use crate::model::version::{Minor, Release};
use crate::model::world::World;

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
            Told::CpuManagerPolicy(policy) => self.cpu_manager_policy = Some(policy),
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
            process(name, &mut |it| {
                for told in &component.told {
                    it.take(Document::Pod, told);
                }
            });
        }
    }
    // Of what runs, the later document stays; they do not contradict each other, or `contradiction` tells.
    let mut templates: Vec<(ComponentKind, Document, &Told)> = Vec::new();
    for (name, told) in world.statements() {
        for told in told {
            let (document, told) = &told.value;
            if name.identity.is_empty() && *document == Document::Configuration {
                templates.push((name.kind, *document, told));
                continue;
            }
            process(name.clone(), &mut |it| it.take(*document, told));
        }
    }
    let seen: BTreeSet<ComponentKind> = processes.keys().map(|name| name.kind).collect();
    for (kind, document, told) in templates {
        if seen.contains(&kind) {
            for process in processes.values_mut().filter(|it| it.name.kind == kind) {
                // A closer statement says what this process is started with, and its own document which version it is.
                if let (Told::Set(settings), true) = (told, process.stored.is_empty()) {
                    process.stored.push((document, settings));
                }
            }
        } else {
            let name = ComponentName::new(kind, "");
            processes
                .entry(name.clone())
                .or_insert_with(|| Process::new(name))
                .take(document, told);
        }
    }
    processes.into_values().collect()
}

/// The process in a Pod: by the Pod's own name; an API server by its address, which is how its documents are asked for.
pub(super) fn name_of_pod(component: &ComponentPod, pod: &Pod) -> ComponentName {
    let address = component.address.as_ref();
    let address = address.filter(|_| component.kind == ComponentKind::KubeApiserver);
    ComponentName::new(component.kind, address.unwrap_or(&pod.name.name).as_str())
}
