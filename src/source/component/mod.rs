//! Documents that components serve or are started with: from bytes to statements about one component.
//!
//! One file a document, and its line below. A document is named by who asked for it, for its bytes often do not say whose it is.
//! Bytes that are something else (a login page, a Status) are a fault, never an empty answer.

mod configz;
pub(crate) mod counts;
pub(crate) mod flags;
mod flagz;
pub(crate) mod metrics;
pub(crate) mod settings;
mod statusz;
mod version;

use std::io::{self, BufRead, Read};

use crate::model::component::{ComponentKind, Document, Told};
use crate::model::coverage::State;
use crate::model::version::Release;

/// More than any of these documents but metrics, which are read as a stream, has; a bound against an endless answer.
const MAX_BYTES: u64 = 16 << 20;

/// How many letters of something strange are told.
const MAX_STRANGE: usize = 60;

/// Why a document tells nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    #[error(transparent)]
    Read(#[from] io::Error),
    /// A `Status` of a server that said no.
    #[error("it is a refusal: {0}")]
    Refused(String),
    #[error("{0}")]
    Foreign(String),
}

type ReadDocument = fn(ComponentKind, &mut dyn BufRead) -> Result<Vec<Told>, DocumentError>;

impl DocumentError {
    /// What the loss is.
    pub(crate) fn state(&self) -> State {
        match self {
            Self::Refused(_) => State::Denied,
            Self::Read(_) | Self::Foreign(_) => State::Unreadable,
        }
    }
}

/// Reads one kind of document.
pub(crate) struct Reader {
    pub(crate) document: Document,
    pub(crate) read: ReadDocument,
}

impl Reader {
    const fn new(document: Document, read: ReadDocument) -> Self {
        Self { document, read }
    }
}

/// All of them, sorted.
pub(crate) const READERS: &[Reader] = &[
    Reader::new(Document::Configz, configz::read),
    Reader::new(Document::Flags, flags::read),
    Reader::new(Document::Flagz, flagz::read),
    Reader::new(Document::Metrics, metrics::read),
    Reader::new(Document::Statusz, statusz::read),
    Reader::new(Document::Version, version::read),
];

/// Reads a document of a component.
pub(crate) fn read(
    kind: ComponentKind,
    document: Document,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    let found = READERS.iter().find(|reader| reader.document == document);
    match found {
        Some(found) => (found.read)(kind, reader),
        None => Err(DocumentError::Foreign(format!(
            "no reader for a {}",
            document.word()
        ))),
    }
}

/// The version that the tag of an image is, without its digest; null for any other tag.
pub(crate) fn version_of_image(image: &str) -> Option<&str> {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    let last = name.rsplit_once('/').map_or(name, |(_, last)| last);
    let (_, tag) = last.split_once(':')?;
    Release::parse(tag).map(|_| tag)
}

/// The whole text of a document, within bounds.
fn whole(reader: &mut dyn BufRead) -> Result<String, DocumentError> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(DocumentError::Foreign(format!(
            "it is larger than {} MiB",
            MAX_BYTES >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|_| DocumentError::Foreign("it is no text".to_owned()))
}

/// What a text is that should have been another: a page, a Status, or its first words.
pub(super) fn foreign(text: &str, due: &str) -> DocumentError {
    let trimmed = text.trim_start();
    let what = if trimmed.is_empty() {
        "it is empty".to_owned()
    } else if trimmed.starts_with('<') {
        format!("it is a web page, no {due}")
    } else if let Some(message) = status_message(trimmed) {
        return DocumentError::Refused(message);
    } else {
        let first: String = trimmed
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(MAX_STRANGE)
            .collect();
        format!("it is no {due}; it begins with {first:?}")
    };
    DocumentError::Foreign(what)
}

/// The message of a Status object (meta/v1).
fn status_message(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Status {
        kind: String,
        #[serde(default)]
        message: String,
    }
    let status: Status = serde_json::from_str(text).ok()?;
    (status.kind == "Status").then_some(status.message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let parts = ["counts", "mod", "settings"];
        let files: BTreeSet<String> = registry::files("source/component", &parts);
        let lines = READERS.iter().map(|reader| reader.document.word());
        assert_eq!(files, registry::names(lines));
        assert!(READERS.is_sorted_by_key(|reader| reader.document.word()));
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            start in prop::sample::select(vec!["", "{\"flags\":", "kubernetes_feature_enabled{", "\nkubelet flagz\n", "--feature-gates=", "{\"kubeletconfig\":{\"featureGates\":"]),
        ) {
            let mut text = start.as_bytes().to_vec();
            text.extend(bytes);
            for reader in READERS {
                for kind in ComponentKind::ALL {
                    drop((reader.read)(kind, &mut text.as_slice()));
                }
            }
        }
    }
}
