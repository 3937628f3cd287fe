//! Origins that are not a live cluster: files, folders, standard input.
//!
//! One file an origin, and its line below; the first one that recognises a path reads it. Folders and archives are trees of named
//! entries (`tree/`), and what an entry means is said by the layout of the tool that wrote them (`layout/`).
//! Nothing is written, unpacked, followed out of the folder, or trusted.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

mod archive;
mod budget;
mod bundle;
mod completeness;
mod compression;
mod extent;
mod file;
mod folder;
mod growing;
mod input;
mod layout;
mod others;
mod place;
mod printed_dump;
mod redaction;
mod stdin;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use self::budget::Budget;
use self::extent::{Extent, Extents};
use super::Reply;
use super::audit::{Focus, Log};
use super::bundle::Question;
use super::component::{self, DocumentError};
use super::document::{self, Reading};
use super::places;
use super::scheduler_log;
use crate::model::component::{ComponentName, ComponentVersion, Document, Statement, Told};
use crate::model::coverage::{Coverage, Location, Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::workload::WorkloadKind;
use crate::model::world::World;

pub(crate) use growing::Growing;
pub(crate) use place::Place;

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
    OfflineOrigin::new("archive", archive::recognises, archive::read),
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
    Foreign {
        path: PathBuf,
        fault: String,
        /// Where the fault stands in the file.
        location: Option<Location>,
    },
    #[error("{0:?} is a text of metrics, which does not say whose it is")]
    NamelessMetrics(PathBuf),
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
    /// Kinds of which lists were read that no layout speaks for.
    listed: BTreeSet<&'static str>,
    extents: Extents,
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
    pod_count: usize,
    /// Pods without managed fields.
    stripped: usize,
}

/// Reads what `--from` names.
pub(crate) fn open(
    place: &Place,
    stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let path = place.path.as_path();
    if let Some((document, component)) = &place.document {
        return of_component(path, *document, component, stdin);
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

/// Reads a document of a component.
fn of_component(
    path: &Path,
    document: Document,
    component: &ComponentName,
    stdin: &mut dyn Read,
) -> Result<Collected, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let mut collected = Collected::new(path);
    document.word().clone_into(&mut collected.source.kind);
    let told = if path == Path::new("-") {
        component::read(component.kind, document, &mut BufReader::new(stdin))
    } else if path.is_file() {
        let file = File::open(path).map_err(fail)?;
        let mut plain = compression::plain(file, &Budget::default()).map_err(fail)?;
        component::read(component.kind, document, &mut BufReader::new(&mut plain))
    } else {
        return Err(OfflineError::Missing(path.to_owned()));
    };
    let told = match told {
        Ok(told) => told,
        Err(DocumentError::Read(source)) => return Err(fail(source)),
        Err(error) => {
            let subject = format!("{} of {component}", document.word());
            collected.note(&subject, error.state(), error.to_string());
            // That there is such a component is all that is known.
            vec![Told::Version(ComponentVersion::default())]
        }
    };
    let statements = told.into_iter().map(|told| Statement {
        component: component.clone(),
        document,
        told,
    });
    collected.facts.push(Fact {
        source: collected.source.name.as_str().into(),
        content: Content::Statements(statements.collect()),
    });
    Ok(collected)
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
            extents: Extents::default(),
            faulty: false,
            recorded: None,
        }
    }

    /// Takes in what was read from the place `subject` of this origin, of which a layout may say what it is the whole of.
    fn take_as(&mut self, subject: &str, mut reading: Reading, extent: &Extent) {
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
        let read = reading.contents.len();
        reading
            .contents
            .retain(|content| !redaction::is_hidden(content));
        let hidden = read - reading.contents.len();
        if hidden > 0 {
            let fault =
                format!("{hidden} objects are not used: a redactor has hidden their values");
            reading.faults.push(fault);
        }
        if reading.goes_on {
            let fault = "a list is only a page, others follow (metadata.continue)";
            reading.faults.push(fault.to_owned());
        }
        let sound = reading.faults.is_empty();
        if !sound {
            self.faulty |= !foreign && *extent == Extent::Unsaid;
            let state = if foreign {
                State::Unreadable
            } else {
                State::Partial
            };
            let location = reading.location();
            self.note_at(subject, state, reading.faults.join("; "), location);
        }
        if *extent == Extent::Unsaid {
            self.listed.extend(&reading.listed);
        }
        let seen = reading.contents.iter().filter_map(kind_of);
        for kind in seen.chain(reading.listed.iter().copied()) {
            let is_list = reading.listed.contains(kind);
            self.extents.add(kind, extent, sound && is_list);
        }
        let source: Arc<str> = self.source.name.as_str().into();
        for content in reading.contents {
            self.held.note(&content);
            self.facts.push(Fact {
                source: Arc::clone(&source),
                content,
            });
        }
    }

    /// Notes that something which should be there cannot be read, in part or as a whole.
    fn missing(&mut self, subject: &str, why: &str, location: Option<Location>) {
        self.faulty = true;
        self.note_at(subject, State::Unreadable, why.to_owned(), location);
    }

    /// Notes that who collected could not read lists of a kind.
    fn refuse(&mut self, subject: &str, kind: &'static str, extent: Extent, why: &str) {
        let state = if why.contains("forbidden") {
            State::Denied
        } else {
            State::Unreadable
        };
        self.note(subject, state, why.to_owned());
        self.extents.refuse(kind, extent, state, why.to_owned());
    }

    /// Whether any list was there, even an empty one.
    fn has_lists(&self) -> bool {
        !self.listed.is_empty() || self.extents.is_spoken_for()
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
        if log.nameless > 0 {
            state = State::Partial;
            detail = format!(
                "{detail}; for {} writes it does not tell to which Pods they were",
                log.nameless
            );
        }
        if let Some(fault) = &log.first_fault {
            state = State::Partial;
            detail = format!(
                "{detail}; {} of {} lines or entries cannot be read, first {fault}",
                log.broken, log.lines
            );
        }
        self.note(subject, state, detail);
        let source: Arc<str> = self.source.name.as_str().into();
        for content in log.into_contents() {
            self.held.note(&content);
            self.facts.push(Fact {
                source: Arc::clone(&source),
                content,
            });
        }
    }

    /// Takes in what a component's log told.
    fn take_lines(&mut self, subject: &str, log: scheduler_log::Log) {
        let count = log.kept().count();
        let mut detail = match count {
            0 => "a component's log, without a scheduler's line on these Pods".to_owned(),
            1 => "a scheduler's log; 1 line on these Pods".to_owned(),
            count => format!("a scheduler's log; {count} lines on these Pods"),
        };
        let mut state = State::Complete;
        if log.is_yearless() {
            detail.push_str("; its times tell no year and no zone, and are taken as UTC");
        }
        if log.dropped > 0 {
            state = State::Partial;
            detail = format!("{detail}; {} more were not kept", log.dropped);
        }
        if let Some(fault) = &log.first_fault {
            state = State::Partial;
            detail = format!(
                "{detail}; {} of {} lines cannot be read, first: {fault}",
                log.broken, log.lines
            );
        }
        self.note(subject, state, detail);
        let source: Arc<str> = self.source.name.as_str().into();
        for content in log.into_contents() {
            self.facts.push(Fact {
                source: Arc::clone(&source),
                content,
            });
        }
    }

    fn note(&mut self, subject: &str, state: State, detail: String) {
        self.note_at(subject, state, detail, None);
    }

    fn note_at(&mut self, subject: &str, state: State, detail: String, location: Option<Location>) {
        let source = self.source.name.clone();
        self.coverage.push(Coverage {
            source,
            subject: subject.to_owned(),
            state,
            detail: Some(detail),
            location,
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
        let (state, detail) = completeness::of(self, want);
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

    /// Gives all that a bundle holds at once with what came of each of its reads and its clock; false for anything but a bundle.
    pub(crate) fn recall(&mut self, world: &mut World) -> bool {
        let Some(recorded) = &self.recorded else {
            return false;
        };
        self.facts.extend(recorded.all());
        recorded.recall(&self.source.name, world);
        true
    }

    /// Gives all that a bundle holds at once, as files do: for a question that it was not made for.
    pub(crate) fn spread(&mut self) {
        if let Some(recorded) = &self.recorded {
            self.facts.extend(recorded.all());
        }
    }
}

impl Held {
    fn note(&mut self, content: &Content) {
        match content {
            Content::Pod(pod) | Content::Draft(pod) => {
                let PodName { namespace, name } = pod.name.clone();
                self.pod_count += 1;
                self.stripped += usize::from(pod.managed_fields.is_none());
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
            Content::Write(_)
            | Content::Line(_)
            | Content::NodeLease(_)
            | Content::Grant(_)
            | Content::Statements(_)
            | Content::Replicas(_) => {}
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

/// The decoder's word for a content that lists hold.
fn kind_of(content: &Content) -> Option<&'static str> {
    match content {
        Content::Pod(_) => Some("Pod"),
        Content::Node(_) => Some("Node"),
        Content::NodeLease(_) => Some("Lease"),
        Content::Event(_) => Some("Event"),
        Content::Claim(_) => Some("PersistentVolumeClaim"),
        Content::Version(_)
        | Content::Workload(_)
        | Content::Write(_)
        | Content::Statements(_)
        | Content::Grant(_)
        | Content::Replicas(_)
        | Content::Line(_)
        | Content::Draft(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// Files that are no origin.
    const PARTS: &[&str] = &[
        "budget",
        "completeness",
        "compression",
        "extent",
        "growing",
        "input",
        "layout",
        "mod",
        "place",
        "others",
        "printed_dump",
        "redaction",
        "tree",
    ];

    #[test]
    fn every_file_has_its_line() {
        let files: BTreeSet<String> = registry::files("source/offline", &[])
            .into_iter()
            .filter(|name| !PARTS.contains(&name.as_str()))
            .collect();
        assert_eq!(
            files,
            registry::names(ORIGINS.iter().map(|origin| origin.name))
        );
    }

    #[test]
    fn a_list_of_pods_never_proves_that_a_node_has_no_other() {
        let mut collected = Collected::new(Path::new("pods.json"));
        collected.take_as(
            "pods.json",
            document::read(br#"{"kind":"PodList","apiVersion":"v1","items":[]}"#),
            &Extent::Unsaid,
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
        collected.take_as(
            "events.json",
            document::read(br#"{"kind":"EventList","apiVersion":"v1","items":[{"metadata":{"na"#),
            &Extent::Unsaid,
        );
        assert_ne!(collected.ask(&Want::PreemptedEvents).state, State::Complete);
    }
}
