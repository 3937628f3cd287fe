//! Origins that are not a live cluster: files, folders, standard input.
//!
//! One file an origin, and its line below; the first one that recognises a path reads it.
//! Nothing is written, followed out of the folder, or trusted.

mod file;
mod folder;
mod stdin;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Reply;
use super::document::{self, Reading};
use crate::model::coverage::{Coverage, Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::want::Want;
use crate::model::world::World;

/// More than any dump that was seen; a bound against a device or an endless pipe.
const MAX_BYTES: u64 = 4 << 30;

/// A kind of place that `--from` may name.
pub(crate) struct OfflineOrigin {
    pub(crate) name: &'static str,
    recognises: fn(&Path) -> bool,
    read: ReadOffline,
}

type ReadOffline = fn(&Path, &mut dyn Read) -> Result<Collected, OfflineError>;

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
}

/// All that one origin held.
#[derive(Debug, Clone)]
pub(crate) struct Collected {
    pub(crate) source: Source,
    facts: Vec<Fact>,
    coverage: Vec<Coverage>,
    listed: BTreeSet<&'static str>,
    faulty: bool,
}

/// Reads what `--from` names.
pub(crate) fn open(path: &Path, stdin: &mut dyn Read) -> Result<Collected, OfflineError> {
    match ORIGINS.iter().find(|origin| (origin.recognises)(path)) {
        Some(origin) => {
            let mut collected = (origin.read)(path, stdin)?;
            origin.name.clone_into(&mut collected.source.kind);
            Ok(collected)
        }
        None => Err(OfflineError::Missing(path.to_owned())),
    }
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
            coverage: Vec::new(),
            listed: BTreeSet::new(),
            faulty: false,
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
        let source = self.source.name.clone();
        self.facts
            .extend(reading.contents.into_iter().map(|content| Fact {
                source: source.clone(),
                content,
            }));
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
    pub(crate) fn pour_into(self, world: &mut World) {
        for line in self.coverage {
            world.add_coverage(line);
        }
        for fact in self.facts {
            world.fold(fact);
        }
    }

    /// Says whether this origin could hold what is wanted: its facts are in the World already.
    pub(crate) fn ask(&self, want: &Want) -> Reply {
        let (state, detail) = self.completeness(want);
        Reply {
            want: want.clone(),
            facts: Vec::new(),
            state,
            detail,
            clock: None,
        }
    }

    fn completeness(&self, want: &Want) -> (State, Option<String>) {
        let contents = || self.facts.iter().map(|fact| &fact.content);
        let listed = |kind: &str| self.listed.contains(kind);
        let absent = |what: &str| (State::Absent, Some(format!("the input holds no {what}")));
        let (state, detail) = match want {
            Want::Pod(name) | Want::Victim(name) => {
                let found = contents()
                    .any(|content| matches!(content, Content::Pod(pod) if pod.name == *name));
                if found {
                    (State::Complete, None)
                } else {
                    absent("Pod of this name")
                }
            }
            Want::AnyEventBy(scheduler) if contents().any(|content| matches!(content, Content::Event(event) if event.reporter == *scheduler)) => {
                (State::Complete, None)
            }
            Want::PreemptedEvents | Want::AnyEventBy(_) => {
                if listed("Event") || contents().any(|content| matches!(content, Content::Event(_)))
                {
                    // A list does not say whether it was taken of all namespaces, and a victim may be in any.
                    (
                        State::Partial,
                        Some("only events of the input's namespaces are known".to_owned()),
                    )
                } else {
                    absent("Events")
                }
            }
            Want::EventsAbout { .. } | Want::EventsAboutPods { .. } => {
                if listed("Event") || contents().any(|content| matches!(content, Content::Event(_)))
                {
                    (State::Complete, None)
                } else {
                    absent("Events")
                }
            }
            Want::Node(name) => {
                let found = contents()
                    .any(|content| matches!(content, Content::Node(node) if node.name == *name));
                if found || listed("Node") {
                    (State::Complete, None)
                } else {
                    absent("Nodes")
                }
            }
            Want::Claim(name) => {
                let found = contents()
                    .any(|content| matches!(content, Content::Claim(claim) if claim.name == *name));
                if found {
                    (State::Complete, None)
                } else {
                    absent("PersistentVolumeClaim of this name")
                }
            }
            Want::ServerVersion => {
                let found = contents().any(|content| matches!(content, Content::Version(_)));
                if found {
                    (State::Complete, None)
                } else {
                    absent("answer of /version")
                }
            }
            Want::Workload(kind, name) => {
                let found = contents().any(|content| {
                    matches!(content, Content::Workload(workload) if workload.kind == *kind && workload.name == *name)
                });
                if found {
                    (State::Complete, None)
                } else {
                    absent(&format!("{kind:?} of this name"))
                }
            }
            // What is selected of the input is the input's own.
            Want::Pods {
                namespace: Some(_), ..
            } if listed("Pod") || contents().any(|content| matches!(content, Content::Pod(_))) => {
                (State::Complete, None)
            }
            Want::Pods { .. }
            | Want::PodOfUid { .. }
            | Want::PodsOnNode(_)
            | Want::NominatedPods => {
                if listed("Pod") {
                    // A list does not say whether it was taken of all namespaces.
                    let mut namespaces: BTreeMap<&str, usize> = BTreeMap::new();
                    for content in contents() {
                        if let Content::Pod(pod) = content {
                            *namespaces.entry(&pod.name.namespace).or_default() += 1;
                        }
                    }
                    let names: Vec<&str> = namespaces.into_keys().collect();
                    (
                        State::Partial,
                        Some(format!(
                            "only Pods of the input's namespaces are known: {}",
                            names.join(", ")
                        )),
                    )
                } else {
                    absent("list of Pods")
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("source/offline", &["mod"]);
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
