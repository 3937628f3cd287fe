//! A bundle that `collect` made, packed (`.tar.zst`) or unpacked into a folder.
//!
//! It answers each read as the server did, in the same rounds, so that the same question has the same answer. What it was
//! not asked for it answers from all that it holds, and says so. A bundle may be anybody's: only what its manifest names is
//! read, nothing is written or followed, and there is a bound to all of it.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;

use super::{Collected, Held, OfflineError};
use crate::model::coverage::{Coverage, State};
use crate::model::fact::Fact;
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::audit::Focus;
use crate::source::bundle::{API_VERSION, KINDS, MANIFEST, Manifest, Question, Read as Asked};
use crate::source::{Reply, document};

/// A block of a tar, which its first name begins.
const BLOCK: usize = 512;

/// Enough of a manifest to see what it is.
const HEAD: usize = 4 << 10;

/// The same, packed: more than one block of zstd.
const PACKED_HEAD: u64 = 256 << 10;

/// More than the objects of a large cluster take; a bound against a bomb.
const MAX_BYTES: u64 = 1 << 30;

/// More than the manifest of so many reads takes.
const MAX_MANIFEST: u64 = 64 << 20;

/// More reads than a question has; a bound against a maze.
const MAX_ENTRIES: usize = 100_000;

/// Names of entries that a sentence tells.
const NAMED: usize = 5;

/// What each read answered.
#[derive(Debug)]
pub(super) struct Recorded {
    context: Option<String>,
    question: Question,
    now: Timestamp,
    /// By kind and subject.
    answers: BTreeMap<(String, String), Answer>,
    /// Whether all that it holds was given already.
    is_poured: Cell<bool>,
}

#[derive(Debug, Clone)]
struct Answer {
    state: State,
    detail: Option<String>,
    facts: Vec<Fact>,
}

/// What a manifest of any version has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    api_version: String,
}

pub(super) fn recognises(path: &Path) -> bool {
    let mut head = Vec::new();
    if path.is_dir() {
        let manifest = open_inside(path, MANIFEST);
        let read = manifest.and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
        return read.is_ok() && is_manifest(&head);
    }
    if !path.is_file() {
        return false;
    }
    let read = File::open(path).and_then(|file| file.take(PACKED_HEAD).read_to_end(&mut head));
    read.is_ok() && begins(&head)
}

/// Whether bytes begin as an archive whose first entry is the manifest of a bundle.
pub(super) fn begins(head: &[u8]) -> bool {
    let Ok(plain) = zstd::Decoder::new(head) else {
        return false;
    };
    let mut bytes = Vec::new();
    // What was read of a beginning counts, though it ends too early.
    drop(plain.take((BLOCK + HEAD) as u64).read_to_end(&mut bytes));
    bytes.starts_with(format!("{MANIFEST}\0").as_bytes()) && is_manifest(&bytes)
}

/// Its kind stands near the beginning.
fn is_manifest(head: &[u8]) -> bool {
    KINDS
        .iter()
        .any(|kind| memchr::memmem::find(head, format!("\"{kind}\"").as_bytes()).is_some())
}

pub(super) fn read(
    path: &Path,
    _stdin: &mut dyn Read,
    _focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    if path.is_dir() {
        let (manifest, files) = unpacked(path, &mut collected)?;
        return Ok(collected.with(manifest, files));
    }
    let file = File::open(path).map_err(|source| OfflineError::Read {
        path: path.to_owned(),
        source,
    })?;
    read_packed(path, file)
}

/// Reads an archive from anywhere.
pub(super) fn read_packed(path: &Path, bytes: impl Read) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    let (manifest, files) = packed(path, bytes, &mut collected)?;
    Ok(collected.with(manifest, files))
}

type Files = BTreeMap<String, Vec<u8>>;

/// Reads an archive. What follows a fault is lost, what precedes it is used.
fn packed(
    path: &Path,
    bytes: impl Read,
    collected: &mut Collected,
) -> Result<(Manifest, Files), OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let plain = zstd::Decoder::new(bytes).map_err(fail)?;
    let mut archive = tar::Archive::new(plain.take(MAX_BYTES));
    let mut entries = archive.entries().map_err(fail)?;
    let first = entries
        .next()
        .ok_or_else(|| fail(io::ErrorKind::UnexpectedEof.into()))
        .and_then(|entry| entry.map_err(fail))?;
    // Only what is a plain file by its header has no more bytes than the archive has.
    let is_file = first.header().entry_type().is_file();
    let bytes = whole(first.take(if is_file { MAX_MANIFEST } else { 0 }));
    let manifest = manifest(path, &bytes.map_err(fail)?)?;
    let due: BTreeSet<&String> = manifest.files().collect();
    let mut files = Files::new();
    let mut strange = Vec::new();
    for (number, entry) in entries.enumerate() {
        let taken = entry.and_then(|entry| {
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let is_file = entry.header().entry_type().is_file();
            let is_due = due.contains(&name) && !files.contains_key(&name);
            Ok((name, (is_file && is_due).then(|| whole(entry)).transpose()?))
        });
        let fault = match taken {
            _ if number == MAX_ENTRIES => format!("it has more than {MAX_ENTRIES} entries"),
            Ok((name, Some(bytes))) => {
                files.insert(name, bytes);
                continue;
            }
            Ok((name, None)) => {
                strange.push(name);
                continue;
            }
            Err(error) => format!("the archive cannot be read to its end: {error}"),
        };
        collected.note("the bundle", State::Partial, fault);
        break;
    }
    if !strange.is_empty() {
        let named = strange.iter().take(NAMED).cloned().collect::<Vec<_>>();
        let detail = format!(
            "{} entries are not read, since its manifest does not name them as files: {}",
            strange.len(),
            named.join(", ")
        );
        collected.note("the bundle", State::Unreadable, detail);
    }
    Ok((manifest, files))
}

/// Reads a folder; what its manifest does not name is not looked at.
fn unpacked(path: &Path, collected: &mut Collected) -> Result<(Manifest, Files), OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let mut left = MAX_BYTES;
    let mut read = |name: &str| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_inside(path, name)?
            .take(left)
            .read_to_end(&mut bytes)?;
        left -= bytes.len() as u64;
        if left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    };
    let bytes = open_inside(path, MANIFEST).and_then(|file| whole(file.take(MAX_MANIFEST)));
    let manifest = manifest(path, &bytes.map_err(fail)?)?;
    let mut files = Files::new();
    for name in manifest.files() {
        match read(name) {
            Ok(bytes) => {
                files.insert(name.clone(), bytes);
            }
            Err(error) => collected.note(name, State::Unreadable, error.to_string()),
        }
    }
    Ok((manifest, files))
}

/// Opens a plain file inside a folder; nothing on the way to it may be a link.
fn open_inside(folder: &Path, name: &str) -> io::Result<File> {
    let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let mut path = folder.to_owned();
    for part in Path::new(name).components() {
        let Component::Normal(part) = part else {
            return refuse("its name leads out of the folder");
        };
        path.push(part);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return refuse("it is a link; not followed");
        }
    }
    if !fs::symlink_metadata(&path)?.is_file() {
        return refuse("it is no file");
    }
    File::open(path)
}

/// Reads an entry whole; how much there may be is bounded by the archive's bound.
fn whole(mut entry: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn manifest(path: &Path, bytes: &[u8]) -> Result<Manifest, OfflineError> {
    let fault = |error: serde_json::Error| OfflineError::Manifest {
        path: path.to_owned(),
        fault: error.to_string(),
    };
    let version: Version = serde_json::from_slice(bytes).map_err(fault)?;
    if version.api_version != API_VERSION {
        return Err(OfflineError::Newer {
            path: path.to_owned(),
            version: version.api_version,
        });
    }
    serde_json::from_slice(bytes).map_err(fault)
}

impl Collected {
    /// Takes in what the manifest says, and the files that it names.
    fn with(mut self, manifest: Manifest, mut files: Files) -> Self {
        let mut recorded = Recorded {
            context: manifest.context,
            question: manifest.request,
            now: manifest.now,
            answers: BTreeMap::new(),
            is_poured: Cell::new(false),
        };
        let redacted = manifest.redactions.places;
        if redacted > 0 {
            let detail = format!("its maker redacted {redacted} places before it was written");
            self.note("the bundle", State::Partial, detail);
        }
        for asked in manifest.reads {
            let answer = self.answer(&asked, &mut files);
            let key = (asked.kind, asked.subject);
            recorded
                .answers
                .entry(key)
                .and_modify(|known| known.join(&answer))
                .or_insert(answer);
        }
        self.recorded = Some(recorded);
        self
    }

    /// What a read answered. What should be there and is not takes its completeness away.
    fn answer(&mut self, asked: &Asked, files: &mut Files) -> Answer {
        let mut facts = Vec::new();
        let fault = match &asked.file {
            None if asked.objects > 0 => Some("the bundle names no file for it".to_owned()),
            None => None,
            Some(name) => files.remove(name).map_or_else(
                || Some(format!("{name} is missing in the bundle")),
                |bytes| self.objects(name, &bytes, asked.objects, &mut facts),
            ),
        };
        let Some(fault) = fault else {
            return Answer {
                state: asked.state,
                detail: asked.detail.clone(),
                facts,
            };
        };
        let least = if facts.is_empty() {
            State::Unreadable
        } else {
            State::Partial
        };
        Answer {
            state: asked.state.max(least),
            detail: Some(fault),
            facts,
        }
    }

    /// Reads the objects of a file; what is wrong with it, if they are not as many as they should be.
    fn objects(
        &mut self,
        name: &str,
        bytes: &[u8],
        due: usize,
        facts: &mut Vec<Fact>,
    ) -> Option<String> {
        let reading = document::read(bytes);
        let source: Arc<str> = self.source.name.as_str().into();
        for content in reading.contents {
            self.held.note(&content);
            facts.push(Fact {
                source: Arc::clone(&source),
                content,
            });
        }
        if !reading.faults.is_empty() {
            let faults = reading.faults.join("; ");
            return Some(format!("{name} of the bundle cannot be read: {faults}"));
        }
        let found = facts.len();
        (found != due).then(|| format!("{name} of the bundle has {found} objects of {due}"))
    }
}

impl Answer {
    /// Two reads whose subjects are the same since they were redacted.
    fn join(&mut self, other: &Self) {
        self.facts.extend(other.facts.iter().cloned());
        if other.state > self.state {
            self.state = other.state;
            self.detail.clone_from(&other.detail);
        }
    }
}

impl Recorded {
    /// The question that it was made for, and the context.
    pub(super) fn asked(&self) -> (&Question, Option<&str>) {
        (&self.question, self.context.as_deref())
    }

    /// All that it holds, once.
    pub(super) fn all(&self) -> Vec<Fact> {
        let all = self.answers.values().filter(|_| !self.is_poured.get());
        let facts = all.flat_map(|answer| answer.facts.clone()).collect();
        self.is_poured.set(true);
        facts
    }

    /// Says what came of each read, and when.
    pub(super) fn recall(&self, source: &str, world: &mut World) {
        world.set_clock(self.now);
        for ((_, subject), answer) in &self.answers {
            world.add_coverage(Coverage {
                source: source.to_owned(),
                subject: subject.clone(),
                state: answer.state,
                detail: answer.detail.clone(),
                location: None,
            });
        }
    }

    fn find(&self, want: &Want) -> Option<&Answer> {
        self.answers.get(&(want.kind().to_owned(), want.subject()))
    }

    fn is_complete(&self, want: &Want) -> bool {
        self.find(want)
            .is_some_and(|answer| answer.state == State::Complete)
    }

    pub(super) fn ask(&self, want: &Want, held: &Held) -> Reply {
        let found = self.find(want).cloned();
        let Answer {
            state,
            detail,
            facts,
        } = found.unwrap_or_else(|| {
            let (state, detail) = self.completeness(want, held);
            let facts = self.all();
            Answer {
                state,
                detail,
                facts,
            }
        });
        Reply {
            want: want.clone(),
            facts,
            state,
            detail,
            clock: Some(self.now),
            kept: Vec::new(),
        }
    }

    /// What it can say of a read that it was not made for.
    fn completeness(&self, want: &Want, held: &Held) -> (State, Option<String>) {
        let all_pods = |namespace: Option<&String>| {
            let of = |namespace: Option<&String>| {
                self.is_complete(&Want::Pods {
                    namespace: namespace.cloned(),
                    labels: LabelSelector::default(),
                    fields: FieldSelector::default(),
                })
            };
            of(None) || (namespace.is_some() && of(namespace))
        };
        let (is_held, is_one) = match want {
            Want::Pod(name) | Want::Victim(name) => (
                held.pods
                    .get(&name.namespace)
                    .is_some_and(|names| names.contains(&name.name)),
                true,
            ),
            Want::Node(name) => (held.nodes.contains(name), true),
            Want::Claim(name) => (held.claims.contains(name), true),
            Want::ServerVersion => (held.version, true),
            Want::Workload(kind, name) => (held.workloads.contains(&(*kind, name.clone())), true),
            Want::AnyEventBy(scheduler) => (held.reporters.contains(scheduler), false),
            Want::Pods { namespace, .. } | Want::PodOfUid { namespace, .. } => {
                (all_pods(namespace.as_ref()), false)
            }
            _ => (false, false),
        };
        let is_told = want
            .broader()
            .iter()
            .any(|broader| self.is_complete(broader));
        match (is_held || is_told, is_one) {
            (true, _) => (State::Complete, None),
            (false, true) => (
                State::Absent,
                Some("the bundle was not made for it, and does not hold it".to_owned()),
            ),
            (false, false) => (
                State::Partial,
                Some("the bundle was not made for it; only what it holds is known".to_owned()),
            ),
        }
    }
}

impl Manifest {
    fn files(&self) -> impl Iterator<Item = &String> {
        self.reads.iter().filter_map(|asked| asked.file.as_ref())
    }
}
