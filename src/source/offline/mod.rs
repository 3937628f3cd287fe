//! Origins that are not a live cluster: files, folders, standard input.
//!
//! One file an origin, and its line below; the first one that recognises a path reads it.
//! Nothing is written, followed out of the folder, or trusted.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

mod bundle;
mod file;
mod folder;
mod input;
mod place;
mod stdin;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Reply;
use super::audit::{Focus, Log};
use super::bundle::Question;
use super::document::{self, Reading};
use super::metrics;
use crate::model::coverage::{Coverage, Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::gates::GateTable;
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::workload::WorkloadKind;
use crate::model::world::World;

pub(crate) use place::Place;

/// More than any dump that was seen; a bound against a device or an endless pipe.
const MAX_BYTES: u64 = 4 << 30;

/// Namespaces that a sentence names.
const MAX_NAMESPACES: usize = 20;

/// A kind of place that `--from` may name.
pub(crate) struct OfflineOrigin {
    pub(crate) name: &'static str,
    recognises: fn(&Path) -> bool,
    read: ReadOffline,
}

type ReadOffline = fn(&Path, &mut dyn Read, &Focus) -> Result<Collected, OfflineError>;

impl OfflineOrigin {
    const fn new(name: &'static str, recognises: fn(&Path) -> bool, read: ReadOffline) -> Self {
        Self {
            name,
            recognises,
            read,
        }
    }
}

/// All of them, in the order in which they are tried.
pub(crate) const ORIGINS: &[OfflineOrigin] = &[
    OfflineOrigin::new("stdin", stdin::recognises, stdin::read),
    OfflineOrigin::new("bundle", bundle::recognises, bundle::read),
    OfflineOrigin::new("folder", folder::recognises, folder::read),
    OfflineOrigin::new("file", file::recognises, file::read),
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum OfflineError {
    #[error("the path {0:?} does not exist")]
    Missing(PathBuf),
    #[error("{path:?} cannot be read")]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path:?} holds no Kubernetes objects: {fault}")]
    Foreign { path: PathBuf, fault: String },
    #[error("{path:?} is a bundle of version {version:?}, which is newer than this program")]
    Newer { path: PathBuf, version: String },
    #[error("{path:?} is a bundle whose manifest cannot be read: {fault}")]
    Manifest { path: PathBuf, fault: String },
}

/// All that one origin held.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) source: Source,
    /// What is not poured into a World yet.
    facts: Vec<Fact>,
    held: Held,
    coverage: Vec<Coverage>,
    listed: BTreeSet<&'static str>,
    faulty: bool,
    /// Of a bundle: what each read answered.
    recorded: Option<bundle::Recorded>,
}

/// What an origin held, by name: enough to say what it can answer.
#[derive(Debug, Default)]
struct Held {
    /// By namespace.
    pods: BTreeMap<String, BTreeSet<String>>,
    nodes: BTreeSet<String>,
    claims: BTreeSet<PodName>,
    workloads: BTreeSet<(WorkloadKind, PodName)>,
    events: bool,
    /// Who wrote events.
    reporters: BTreeSet<String>,
    version: bool,
}

/// Reads what `--from` names.
pub(crate) fn open(
    place: &Place,
    stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let path = place.path.as_path();
    if let Some(component) = &place.component {
        return component_metrics(path, component, stdin);
    }
    match ORIGINS.iter().find(|origin| (origin.recognises)(path)) {
        Some(origin) => {
            let mut collected = (origin.read)(path, stdin, focus)?;
            let kind = collected
                .recorded
                .as_ref()
                .map_or(origin.name, |_| "bundle");
            kind.clone_into(&mut collected.source.kind);
            Ok(collected)
        }
        None => Err(OfflineError::Missing(path.to_owned())),
    }
}

/// Reads the gates in a component's text of metrics.
fn component_metrics(
    path: &Path,
    component: &str,
    stdin: &mut dyn Read,
) -> Result<Collected, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let mut collected = Collected::new(path);
    "metrics".clone_into(&mut collected.source.kind);
    let enabled = if path == Path::new("-") {
        metrics::read(&mut BufReader::new(stdin))
    } else if path.is_file() {
        metrics::read(&mut BufReader::new(File::open(path).map_err(fail)?))
    } else {
        return Err(OfflineError::Missing(path.to_owned()));
    };
    let enabled = enabled.map_err(fail)?;
    if enabled.is_empty() {
        return Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault: "it has no line of kubernetes_feature_enabled".to_owned(),
        });
    }
    let component = component.to_owned();
    collected.facts.push(Fact {
        source: collected.source.name.clone(),
        content: Content::Gates(GateTable { component, enabled }),
    });
    Ok(collected)
}

/// Reads all bytes, up to the bound.
fn bytes(path: &Path, reader: &mut dyn Read) -> Result<Vec<u8>, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    reader
        .take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 == MAX_BYTES {
        return Err(fail(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            "it is larger than 4 GiB",
        )));
    }
    Ok(bytes)
}

impl Collected {
    fn new(name: &Path) -> Self {
        Self {
            source: Source {
                name: name.display().to_string(),
                kind: String::new(),
            },
            facts: Vec::new(),
            held: Held::default(),
            coverage: Vec::new(),
            listed: BTreeSet::new(),
            faulty: false,
            recorded: None,
        }
    }

    /// Takes in what was read from the place `subject` of this origin.
    fn take(&mut self, subject: &str, reading: Reading) {
        let foreign = reading.is_foreign();
        let kinds: Vec<String> = reading
            .ignored
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        if !kinds.is_empty() {
            let detail = format!("not used here: {}", kinds.join(", "));
            self.note(subject, State::Complete, detail);
        }
        if !reading.faults.is_empty() {
            self.faulty |= !foreign;
            let state = if foreign {
                State::Unreadable
            } else {
                State::Partial
            };
            self.note(subject, state, reading.faults.join("; "));
        }
        self.listed.extend(reading.listed);
        for content in reading.contents {
            self.held.note(&content);
            self.facts.push(Fact {
                source: self.source.name.clone(),
                content,
            });
        }
    }

    /// Takes in what an audit log told, with how far it reaches.
    fn take_log(&mut self, subject: &str, log: Log) {
        let time =
            |at: Option<Timestamp>| at.map_or_else(|| "?".to_owned(), |at| format!("{at:.0}"));
        let mut detail = match (log.since, log.until) {
            (None, None) => "an audit log without a write to these Pods".to_owned(),
            (since, until) => format!(
                "an audit log; of these Pods from {} to {}",
                time(since),
                time(until)
            ),
        };
        let mut state = State::Complete;
        if log.bodiless > 0 {
            state = State::Partial;
            detail = format!(
                "{detail}; for {} writes its level does not tell what they asked for",
                log.bodiless
            );
        }
        if let Some(fault) = &log.first_fault {
            state = State::Partial;
            detail = format!(
                "{detail}; {} of {} lines cannot be read, first {fault}",
                log.broken, log.lines
            );
        }
        self.note(subject, state, detail);
        for content in log.contents {
            self.held.note(&content);
            self.facts.push(Fact {
                source: self.source.name.clone(),
                content,
            });
        }
    }

    fn note(&mut self, subject: &str, state: State, detail: String) {
        let source = self.source.name.clone();
        self.coverage.push(Coverage {
            source,
            subject: subject.to_owned(),
            state,
            detail: Some(detail),
        });
    }

    /// Pours everything into the World at once; `ask` later only says how complete it is.
    pub(crate) fn pour_into(&mut self, world: &mut World) {
        for line in self.coverage.drain(..) {
            world.add_coverage(line);
        }
        for fact in std::mem::take(&mut self.facts) {
            world.fold(fact);
        }
    }

    /// Says whether this origin could hold what is wanted: its facts are in the World already.
    pub(crate) fn ask(&self, want: &Want) -> Reply {
        if let Some(recorded) = &self.recorded {
            return recorded.ask(want, &self.held);
        }
        let (state, detail) = self.completeness(want);
        Reply {
            want: want.clone(),
            facts: Vec::new(),
            state,
            detail,
            clock: None,
            kept: Vec::new(),
        }
    }

    /// The question that a bundle was made for, and the context that it was made by.
    pub(crate) fn asked(&self) -> Option<(&Question, Option<&str>)> {
        self.recorded.as_ref().map(bundle::Recorded::asked)
    }

    /// Gives all that a bundle holds at once, as files do: for a question that it was not made for.
    pub(crate) fn spread(&mut self) {
        if let Some(recorded) = &self.recorded {
            self.facts.extend(recorded.all());
        }
    }

    fn completeness(&self, want: &Want) -> (State, Option<String>) {
        let held = &self.held;
        let listed = |kind: &str| self.listed.contains(kind);
        let events = listed("Event") || held.events;
        let absent = |what: &str| (State::Absent, Some(format!("the input holds no {what}")));
        let complete = (State::Complete, None);
        let (state, detail) = match want {
            Want::Pod(name) | Want::Victim(name) => {
                let of_namespace = held.pods.get(&name.namespace);
                if of_namespace.is_some_and(|names| names.contains(&name.name)) {
                    complete
                } else {
                    absent("Pod of this name")
                }
            }
            Want::AnyEventBy(scheduler) if held.reporters.contains(scheduler) => complete,
            // A list does not say whether it was taken of all namespaces, and a victim may be in any.
            Want::PreemptedEvents | Want::AnyEventBy(_) if events => (
                State::Partial,
                Some("only events of the input's namespaces are known".to_owned()),
            ),
            Want::EventsAbout { .. } | Want::EventsAboutPods { .. } if events => complete,
            Want::PreemptedEvents
            | Want::AnyEventBy(_)
            | Want::EventsAbout { .. }
            | Want::EventsAboutPods { .. } => absent("Events"),
            Want::Node(name) if held.nodes.contains(name) || listed("Node") => complete,
            Want::Node(_) => absent("Nodes"),
            Want::Claim(name) if held.claims.contains(name) => complete,
            Want::Claim(_) => absent("PersistentVolumeClaim of this name"),
            Want::ServerVersion if held.version => complete,
            Want::ServerVersion => absent("answer of /version"),
            Want::Workload(kind, name) if held.workloads.contains(&(*kind, name.clone())) => {
                complete
            }
            Want::Workload(kind, _) => absent(&format!("{kind:?} of this name")),
            // What is selected of the input is the input's own.
            Want::Pods {
                namespace: Some(_), ..
            } if listed("Pod") || !held.pods.is_empty() => complete,
            // A list does not say whether it was taken of all namespaces.
            Want::Pods { .. }
            | Want::PodOfUid { .. }
            | Want::PodsOnNode(_)
            | Want::NominatedPods
                if listed("Pod") =>
            {
                let known = held.namespaces();
                (
                    State::Partial,
                    Some(format!(
                        "only Pods of the input's namespaces are known: {known}"
                    )),
                )
            }
            Want::Pods { .. }
            | Want::PodOfUid { .. }
            | Want::PodsOnNode(_)
            | Want::NominatedPods => absent("list of Pods"),
        };
        if self.faulty && state == State::Complete && !matches!(want, Want::Pod(_)) {
            return (
                State::Partial,
                Some("a part of the input cannot be read".to_owned()),
            );
        }
        (state, detail)
    }
}

impl Held {
    fn note(&mut self, content: &Content) {
        match content {
            Content::Pod(pod) => {
                let PodName { namespace, name } = pod.name.clone();
                self.pods.entry(namespace).or_default().insert(name);
            }
            Content::Node(node) => {
                self.nodes.insert(node.name.clone());
            }
            Content::Event(event) => {
                self.events = true;
                if !self.reporters.contains(&event.reporter) {
                    self.reporters.insert(event.reporter.clone());
                }
            }
            Content::Write(_) | Content::Gates(_) => {}
            Content::Claim(claim) => {
                self.claims.insert(claim.name.clone());
            }
            Content::Version(_) => self.version = true,
            Content::Workload(workload) => {
                self.workloads
                    .insert((workload.kind, workload.name.clone()));
            }
        }
    }

    /// The namespaces that Pods are of, not more of them than can be read.
    fn namespaces(&self) -> String {
        let shown = self.pods.keys().map(String::as_str).take(MAX_NAMESPACES);
        let shown = shown.collect::<Vec<_>>().join(", ");
        match self.pods.len().saturating_sub(MAX_NAMESPACES) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("source/offline", &["input", "mod", "place"]);
        assert_eq!(
            files,
            registry::names(ORIGINS.iter().map(|origin| origin.name))
        );
    }

    #[test]
    fn a_list_of_pods_never_proves_that_a_node_has_no_other() {
        let mut collected = Collected::new(Path::new("pods.json"));
        collected.take(
            "pods.json",
            document::read(br#"{"kind":"PodList","apiVersion":"v1","items":[]}"#),
        );
        assert_eq!(
            collected.ask(&Want::PodsOnNode("n1".to_owned())).state,
            State::Partial
        );
        assert_eq!(collected.ask(&Want::PreemptedEvents).state, State::Absent);
    }

    #[test]
    fn a_fault_takes_completeness_away() {
        let mut collected = Collected::new(Path::new("events.json"));
        collected.take(
            "events.json",
            document::read(br#"{"kind":"EventList","apiVersion":"v1","items":[{"metadata":{"na"#),
        );
        assert_ne!(collected.ask(&Want::PreemptedEvents).state, State::Complete);
    }
}
