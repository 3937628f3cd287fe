//! The bytes of one file or stream, whatever they hold: objects, an audit log or a component's log, plain or compressed.
//!
//! What it is, the bytes say and no name. It must not look beyond them.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use super::budget::Budget;
use super::extent::Extent;
use super::{Collected, OfflineError, compression, document, places, printed_dump};
use crate::model::coverage::{Location, State};
use crate::source::audit::{self, Focus};
use crate::source::component::metrics;
use crate::source::scheduler_log;

/// Enough to see the first line of a log.
const HEAD: usize = 64 << 10;

/// Many lines of a log at a time.
const BUFFER: usize = 1 << 20;

/// Objects that are read whole: more than any dump that was seen; a bound against a device or an endless pipe.
const MAX_BYTES: usize = 4 << 30;

/// Reads an origin that is these bytes alone.
pub(super) fn alone(
    path: &Path,
    subject: &str,
    reader: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    match take(
        &mut collected,
        subject,
        path,
        reader,
        focus,
        &Extent::Unsaid,
    )? {
        None => Ok(collected),
        Some(Foreign::Metrics) => Err(OfflineError::NamelessMetrics(path.to_owned())),
        Some(Foreign::Other {
            fault, location, ..
        }) => Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault,
            location,
        }),
    }
}

/// What bytes are that hold no objects and no log.
pub(super) enum Foreign {
    Metrics,
    Other {
        fault: String,
        /// It is no text of its form, or was not read to its end; else nothing is wrong with it, but it is something else.
        is_broken: bool,
        /// Where the fault stands.
        location: Option<Location>,
        mentions_settings: bool,
    },
}

/// Takes what the bytes hold into an origin. Returns what they are if they hold nothing of it.
pub(super) fn take(
    collected: &mut Collected,
    subject: &str,
    path: &Path,
    reader: &mut dyn Read,
    focus: &Focus,
    extent: &Extent,
) -> Result<Option<Foreign>, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let budget = Budget::default();
    let mut plain = compression::plain(reader, &budget).map_err(fail)?;
    let (head, mut reader) = peek(&mut plain).map_err(fail)?;
    if let Some(layout) = audit::recognises(&head) {
        collected.take_log(subject, audit::read(&mut reader, layout, focus));
        if let Some(fault) = budget.fault() {
            collected.missing(subject, &fault, None);
        }
        return Ok(None);
    }
    if scheduler_log::recognises(&head) {
        lines_of(collected, subject, &mut reader, &budget, focus);
        return Ok(None);
    }
    if metrics::recognises(&head) {
        return Ok(Some(Foreign::Metrics));
    }
    let documents = printed_dump::read(&mut reader, MAX_BYTES).map_err(fail)?;
    if let Some(fault) = budget.fault().filter(|_| budget.is_spent()) {
        // Nobody means that; its beginning is not worth the time.
        return Ok(Some(Foreign::Other {
            fault,
            is_broken: true,
            location: None,
            mentions_settings: true,
        }));
    }
    if documents.bytes.len() > MAX_BYTES {
        return Err(fail(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than 4 GiB",
        )));
    }
    let mut reading = document::read(&documents.bytes);
    reading.faults.extend(budget.fault());
    reading.faults.extend(documents.fault);
    // An entry of an archive is no file that somebody could open; without the logs between them, lines are others.
    if path.is_file() && documents.logs == 0 {
        let name = path.strip_prefix(".").unwrap_or(path);
        reading.file = Some(name.display().to_string().into());
        document::place_fault(&documents.bytes, &mut reading);
    }
    if reading.is_foreign() {
        return Ok(Some(Foreign::Other {
            fault: reading.faults.join("; "),
            is_broken: reading.is_broken || budget.fault().is_some(),
            location: reading.location(),
            mentions_settings: document::mentions_settings(&documents.bytes),
        }));
    }
    if let Some(name) = &reading.file {
        document::place(&documents.bytes, &mut reading.contents);
        for settings in places::settings(&mut reading.contents) {
            settings.places.file = Some(Arc::clone(name));
        }
    }
    if documents.logs > 0 {
        let detail = format!("{} logs of containers were passed over", documents.logs);
        collected.note(subject, State::Complete, detail);
    }
    collected.take_as(subject, reading, extent);
    Ok(None)
}

/// Takes a container's log into an origin. Returns the fault of bytes that are none; an empty one is one.
pub(super) fn take_log(
    collected: &mut Collected,
    subject: &str,
    path: &Path,
    reader: &mut dyn Read,
    focus: &Focus,
) -> Result<Option<String>, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let budget = Budget::default();
    let mut plain = compression::plain(reader, &budget).map_err(fail)?;
    let (head, mut reader) = peek(&mut plain).map_err(fail)?;
    if head.is_empty() {
        return Ok(None);
    }
    if !scheduler_log::recognises(&head) {
        return Ok(Some("it is no log of a component".to_owned()));
    }
    lines_of(collected, subject, &mut reader, &budget, focus);
    Ok(None)
}

fn lines_of(
    collected: &mut Collected,
    subject: &str,
    reader: &mut dyn BufRead,
    budget: &Budget,
    focus: &Focus,
) {
    collected.take_lines(subject, scheduler_log::read(reader, focus));
    if let Some(fault) = budget.fault() {
        // No list is less complete for it.
        collected.note(subject, State::Unreadable, fault);
    }
}

/// Reads the beginning, and gives it back with a reader of the whole.
pub(super) fn peek<'r>(reader: &'r mut dyn Read) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'r>)> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(reader);
    Ok((head, Box::new(BufReader::with_capacity(BUFFER, whole))))
}
