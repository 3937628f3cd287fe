//! Entry functions for the fuzz targets and the corpora test: bytes in, nothing out. Not public, not stable.
//!
//! One line a decoder of foreign bytes. It must not do more than call it.

use std::io::Cursor;

use crate::source::offline::{self, Place};

/// Reads some bytes as one decoder does.
pub type Entry = fn(&[u8]);

/// Each entry by the name of its fuzz target and of its folder in `fuzz/corpus`.
pub const ENTRIES: &[(&str, Entry)] = &[
    ("audit_file", audit_file),
    ("audit_line", audit_line),
    ("document", document),
    ("event_note", event_note),
    ("metrics", metrics),
    ("scheduler_log", scheduler_log),
    ("scheduler_message", scheduler_message),
];

/// A file of any kind: compressed, wrapped, or objects.
pub fn audit_file(bytes: &[u8]) {
    let focus = crate::source::audit::Focus::default();
    let place = Place {
        path: "-".into(),
        document: None,
    };
    let read = offline::open(&place, &mut Cursor::new(bytes), &focus);
    if let Ok(mut collected) = read {
        let mut world = crate::model::world::World::default();
        collected.pour_into(&mut world);
        world.settle();
    }
}

/// One line of an audit log.
pub fn audit_line(bytes: &[u8]) {
    use crate::source::audit::{Focus, Layout, read};
    let log = read(&mut Cursor::new(bytes), Layout::Lines, &Focus::default());
    log.into_contents().for_each(drop);
}

/// Objects in JSON or YAML.
pub fn document(bytes: &[u8]) {
    drop(crate::source::document::read(bytes));
}

/// The note of a `Preempted` event.
pub fn event_note(bytes: &[u8]) {
    drop(crate::analysis::preempted_note::parse(
        &String::from_utf8_lossy(bytes),
    ));
}

/// The text of a component's metrics, to its end.
pub fn metrics(bytes: &[u8]) {
    use crate::model::component::ComponentKind;
    let kind = ComponentKind::KubeScheduler;
    drop(crate::source::component::metrics::read(kind, &mut {
        bytes
    }));
}

/// A scheduler's log.
pub fn scheduler_log(bytes: &[u8]) {
    use crate::source::audit::Focus;
    let log = crate::source::scheduler_log::read(&mut Cursor::new(bytes), &Focus::default());
    log.into_contents().for_each(drop);
}

/// A scheduler's message.
pub fn scheduler_message(bytes: &[u8]) {
    drop(crate::analysis::message::parse(&String::from_utf8_lossy(
        bytes,
    )));
}
