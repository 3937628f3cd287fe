//! The API server's audit log (audit.k8s.io/v1), plain or as a cloud wraps it, of which only writes to Pods are parsed.
//!
//! One pass; a line that cannot matter is passed over before it is parsed, and none is kept. It must not judge.

mod draft;
mod event;
mod wrapping;

use std::collections::BTreeMap;
use std::io::BufRead;

use jiff::Timestamp;
use memchr::memmem::Finder;

use crate::model::fact::Content;
use crate::model::pod::{Pod, Uid};
use crate::model::write::{After, Asked, Write};
use crate::source::lines::{self, Line};
use draft::Drafts;
use event::AuditEvent;

/// A longer line is no audit event that an API server wrote: its objects are limited to a few megabytes.
pub(super) const MAX_LINE: usize = 64 << 20;

/// What a log told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    writes: Vec<Write>,
    /// Of each incarnation the newest state that the log shows.
    pods: BTreeMap<Uid, Box<Pod>>,
    /// Pods whose objects were not logged.
    drafts: Drafts,
    /// Lines or entries read, whatever they were about.
    pub(crate) lines: usize,
    /// Those that are no audit event.
    pub(crate) broken: usize,
    /// The first of them, and why it is none.
    pub(crate) first_fault: Option<String>,
    /// Writes to Pods of which the log's level does not tell what they asked for.
    pub(crate) bodiless: usize,
    /// Writes of which the log's level does not tell what Pod they were to.
    pub(crate) nameless: usize,
    /// Time of the first and last request that was parsed.
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

/// Of which Pods lines are read; of a large log only few matter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Focus {
    /// Null is all of them.
    words: Option<Vec<Finder<'static>>>,
    /// How many of the words are names; they stand first.
    names: usize,
}

impl Focus {
    /// Only these Pods, their victims, and what deletes many at once.
    pub(crate) fn on(names: Option<Vec<String>>) -> Self {
        let count = names.as_ref().map_or(0, Vec::len);
        let words = names.map(|names| {
            let names = names.iter().map(String::as_bytes);
            let always: [&[u8]; 2] = [b"PreemptionByScheduler", b"deletecollection"];
            let words = names.chain(always);
            words.map(|word| Finder::new(word).into_owned()).collect()
        });
        Self {
            words,
            names: count,
        }
    }

    /// Whether a line has the name of one of these Pods.
    pub(super) fn names_one(&self, line: &[u8]) -> bool {
        let mut names = self.words.iter().flatten().take(self.names);
        self.words.is_none() || names.any(|name| name.find(line).is_some())
    }

    /// Whether a line may be about one of these Pods.
    fn may_matter(&self, line: &[u8]) -> bool {
        let mut words = self.words.iter().flatten();
        self.words.is_none() || words.any(|word| stands_alone(word, line))
    }
}

/// Whether a line has a word that is no part of a longer name, as `web` is of `web-1`, and `hi` of "this".
fn stands_alone(word: &Finder<'_>, line: &[u8]) -> bool {
    let is_of_a_name = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    word.find_iter(line).any(|at| {
        let (before, rest) = line.split_at(at);
        let after = rest.get(word.needle().len());
        // Some encoders write a quote in a text as \u0022.
        let is_begun = before.last().is_some_and(is_of_a_name) && !before.ends_with(b"\\u0022");
        !is_begun && !after.is_some_and(is_of_a_name)
    })
}

/// How events stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One on each line.
    Lines,
    /// In arrays of documents that go over many lines.
    Documents,
}

/// How the bytes hold an audit log, if they begin as one does.
pub(crate) fn recognises(start: &[u8]) -> Option<Layout> {
    let holds = |bytes: &[u8], word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let line = start
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty())?;
    let line = after_time(line);
    let is_event = |bytes: &[u8]| {
        holds(bytes, "\"audit.k8s.io/")
            || holds(bytes, "\\\"audit.k8s.io/")
            || (holds(bytes, "\"stage\"") && holds(bytes, "\"objectRef\""))
            || (holds(bytes, "\"protoPayload\"") && holds(bytes, "\"methodName\""))
    };
    // A line that begins an event may be longer than what is looked at; one of a printed document is a bracket or a key.
    let printed = line.len() < 40;
    match line.first() {
        Some(b'{') if !printed && is_event(line) => Some(Layout::Lines),
        Some(b'[') if is_event(start) => Some(Layout::Documents),
        Some(b'{') if is_event(start) && wrapping::is_listing(start) => Some(Layout::Documents),
        _ => None,
    }
}

/// Exports of `CloudWatch` Logs put the time of its arrival before each event.
fn after_time(line: &[u8]) -> &[u8] {
    let Some(end) = memchr::memchr(b' ', line.get(..40).unwrap_or(line)) else {
        return line;
    };
    let (time, rest) = line.split_at(end);
    let time = std::str::from_utf8(time).ok();
    match time.and_then(|time| time.parse::<Timestamp>().ok()) {
        Some(_) => rest.trim_ascii(),
        None => line,
    }
}

/// Reads a log to its end. What stands before a fault is used, and of lines so is what stands after it.
pub(crate) fn read(reader: &mut dyn BufRead, layout: Layout, focus: &Focus) -> Log {
    let mut log = Log::default();
    match layout {
        Layout::Lines => log.read_on(reader, focus),
        Layout::Documents => {
            let end = wrapping::documents(reader, &mut |entry| {
                log.lines += 1;
                log.entry(entry.as_bytes(), "entry", focus);
            });
            if let Err(error) = end {
                log.fault(format!("after entry {}: {error}", log.lines));
            }
        }
    }
    log
}

impl Log {
    /// What it told, each once.
    pub(crate) fn into_contents(self) -> impl Iterator<Item = Content> {
        let pods = self.pods.into_values().map(Content::Pod);
        let drafts = self
            .drafts
            .into_pods()
            .into_iter()
            .map(Box::new)
            .map(Content::Draft);
        let writes = self.writes.into_iter().map(Box::new).map(Content::Write);
        pods.chain(drafts).chain(writes)
    }

    /// Notes that the log goes on elsewhere before a line has an end.
    pub(super) fn note_cut(&mut self) {
        self.lines += 1;
        self.fault(format!("line {} is cut off", self.lines));
    }

    /// Notes a line of which nothing was kept.
    pub(super) fn note_too_long(&mut self) {
        self.lines += 1;
        self.fault(format!("line {} is longer than 64 MiB", self.lines));
    }

    /// Reads more lines.
    pub(super) fn read_on(&mut self, reader: &mut dyn BufRead, focus: &Focus) {
        let end = lines::each(reader, MAX_LINE, &mut |line| match line {
            Line::Whole(line) => {
                self.lines += 1;
                self.entry(line, "line", focus);
            }
            Line::TooLong => self.note_too_long(),
        });
        if let Err(error) = end {
            self.fault(format!("after line {}: {error}", self.lines));
        }
    }

    fn fault(&mut self, fault: String) {
        self.broken += 1;
        self.first_fault.get_or_insert(fault);
    }

    fn entry(&mut self, entry: &[u8], unit: &str, focus: &Focus) {
        // The cheapest question first: most lines of a log are not about these Pods.
        if !focus.may_matter(entry) || memchr::memmem::find(entry, b"pods").is_none() {
            return;
        }
        let entry = after_time(entry.trim_ascii());
        let found = wrapping::open(entry, &mut |event| self.event(event));
        match found {
            Ok(true) => {}
            Ok(false) => self.fault(format!("{unit} {} is no audit event", self.lines)),
            Err(error) => self.fault(format!("{unit} {}: {error}", self.lines)),
        }
    }

    fn event(&mut self, event: &AuditEvent<'_>) {
        if !event.is_write_to_pods() {
            return;
        }
        let writes = event.writes();
        if writes.is_empty() && event.was_carried_out() {
            self.nameless += 1;
        }
        for write in writes {
            self.since = match (self.since, write.at) {
                (Some(known), Some(at)) => Some(known.min(at)),
                (known, at) => known.or(at),
            };
            self.until = self.until.max(write.at);
            self.bodiless += usize::from(
                write.asked == Asked::Unknown
                    && write.after == After::Unlogged
                    && write.is_accepted(),
            );
            match event.pod_after(&write) {
                Some(pod) => self.see(pod),
                None if write.is_accepted() => {
                    let is_known = write
                        .uid
                        .as_ref()
                        .is_some_and(|uid| self.pods.contains_key(uid));
                    if !is_known {
                        self.drafts.note(&write, event);
                    }
                }
                None => {}
            }
            self.writes.push(write);
        }
    }

    fn see(&mut self, pod: Box<Pod>) {
        self.drafts.forget(&pod);
        let known = self.pods.get(&pod.uid);
        if known.is_none_or(|known| known.resource_version < pod.resource_version) {
            self.pods.insert(pod.uid.clone(), pod);
        }
    }
}
