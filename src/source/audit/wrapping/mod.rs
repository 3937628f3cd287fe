//! How clouds hand out the audit log of the clusters that they run.
//!
//! One file a wrapping, and its line below. A wrapping finds the event; what the event says is not its business.

mod azure_diagnostics;
mod cloud_logging;
mod cloud_watch;

use std::io::BufRead;

use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::event::AuditEvent;

/// Takes the event out of an entry, if the entry is of this kind.
struct Wrapping {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the test compares it with the folder")
    )]
    name: &'static str,
    open: Open,
}

type Found<'f> = &'f mut dyn FnMut(&AuditEvent<'_>);
type Open = fn(&[u8], Found<'_>) -> serde_json::Result<bool>;

const WRAPPINGS: &[Wrapping] = &[
    Wrapping {
        name: "azure_diagnostics",
        open: azure_diagnostics::open,
    },
    Wrapping {
        name: "cloud_logging",
        open: cloud_logging::open,
    },
    Wrapping {
        name: "cloud_watch",
        open: cloud_watch::open,
    },
];

/// Keys under which documents list entries: of `FilterLogEvents`, of a `CloudWatch` subscription, of Azure's event hubs and storage, and
/// of audit.k8s.io/v1 `EventList`, which the API server's webhook sends.
const LISTS: &[&str] = &["events", "logEvents", "records", "items"];

/// More levels of lists than any wrapping has.
const MAX_DEPTH: usize = 3;

/// Whether a document begins as one of those that list entries.
pub(super) fn is_listing(start: &[u8]) -> bool {
    LISTS
        .iter()
        .any(|key| memchr::memmem::find(start, format!("\"{key}\"").as_bytes()).is_some())
}

/// Finds the audit events of an entry, however it is wrapped. False where there is none.
pub(super) fn open(entry: &[u8], found: Found<'_>) -> serde_json::Result<bool> {
    open_at(entry, found, 0)
}

fn open_at(entry: &[u8], found: Found<'_>, depth: usize) -> serde_json::Result<bool> {
    if entry.is_empty() {
        return Ok(true);
    }
    if entry.starts_with(b"[") && depth < MAX_DEPTH {
        let entries: Vec<&RawValue> = serde_json::from_slice(entry)?;
        for entry in entries {
            open_at(entry.get().as_bytes(), found, depth + 1)?;
        }
        return Ok(true);
    }
    let event: AuditEvent<'_> = serde_json::from_slice(entry)?;
    if event.is_event() {
        found(&event);
        return Ok(true);
    }
    for wrapping in WRAPPINGS {
        if (wrapping.open)(entry, found)? {
            return Ok(true);
        }
    }
    let listing: Listing<'_> = serde_json::from_slice(entry)?;
    let lists = [
        listing.events,
        listing.log_events,
        listing.records,
        listing.items,
    ];
    match lists.into_iter().flatten().next() {
        Some(list) if depth < MAX_DEPTH => open_at(list.get().as_bytes(), found, depth + 1),
        _ => Ok(false),
    }
}

/// Reads an event that is itself the text of a field. False where the text is none, as a component's log line is.
fn open_text(text: &str, found: Found<'_>) -> serde_json::Result<bool> {
    if !text.trim_start().starts_with('{') {
        return Ok(true);
    }
    let event: AuditEvent<'_> = serde_json::from_str(text)?;
    if event.is_event() {
        found(&event);
    }
    Ok(true)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Listing<'a> {
    #[serde(borrow)]
    events: Option<&'a RawValue>,
    #[serde(borrow)]
    log_events: Option<&'a RawValue>,
    #[serde(borrow)]
    records: Option<&'a RawValue>,
    #[serde(borrow)]
    items: Option<&'a RawValue>,
}

/// Reads documents that go over many lines, an entry at a time.
pub(super) fn documents(
    reader: &mut dyn BufRead,
    entry: &mut dyn FnMut(&str),
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    loop {
        match (Document { entry }).deserialize(&mut deserializer) {
            Ok(()) => {}
            Err(error) => return Err(error),
        }
        if deserializer.end().is_ok() {
            return Ok(());
        }
    }
}

/// An array of entries, or an object that has one.
struct Document<'e> {
    entry: &'e mut dyn FnMut(&str),
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of audit events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_element::<Box<RawValue>>()? {
            (self.entry)(entry.get());
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if LISTS.contains(&key.as_str()) {
                map.next_value_seed(Document { entry: self.entry })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("source/audit/wrapping", &["mod"]);
        let names = WRAPPINGS.iter().map(|wrapping| wrapping.name);
        assert_eq!(files, registry::names(names));
    }
}
