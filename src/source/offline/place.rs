//! What `--from` names: a path, and what its bytes are where they do not say so themselves.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::model::component::{ComponentName, Document, NoComponent};

/// Documents that do not say whose they are.
const NAMED: [Document; 6] = [
    Document::Configz,
    Document::Flags,
    Document::Flagz,
    Document::Metrics,
    Document::Statusz,
    Document::Version,
];

/// Kinds whose bytes say what they are.
const TOLD_BY_BYTES: [&str; 3] = ["audit", "journal", "snapshot"];

/// `[KIND[@SUBJECT]:]PATH`. A prefix that is no kind belongs to the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// What it is, and of which component: `metrics@kube-apiserver/a:PATH`.
    pub(crate) document: Option<(Document, ComponentName)>,
}

/// Why a place cannot be read as one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum PlaceError {
    #[error(transparent)]
    Component(#[from] NoComponent),
    #[error("bytes of {0} do not say whose they are; name the component: {0}@kubelet/NODE:PATH")]
    Nobody(&'static str),
}

impl Place {
    /// Whether it is standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let whole = || Self {
            path: text.into(),
            document: None,
        };
        let Some((prefix, path)) = text.split_once(':') else {
            return Ok(whole());
        };
        let (kind, subject) = prefix.split_once('@').unwrap_or((prefix, ""));
        if TOLD_BY_BYTES.contains(&kind) {
            return Ok(Self {
                path: path.into(),
                document: None,
            });
        }
        let named = NAMED.into_iter().find(|document| document.word() == kind);
        let Some(document) = named else {
            return Ok(whole());
        };
        if subject.is_empty() {
            return Err(PlaceError::Nobody(document.word()));
        }
        Ok(Self {
            path: path.into(),
            document: Some((document, decoded(subject).parse()?)),
        })
    }
}

/// Percent-decodes a subject, in which a colon must be written so.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let escaped = (*byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() {
            after.get(2..).unwrap_or_default()
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kind_is_no_part_of_the_path() {
        let of = |text: &str| {
            let place: Place = text.parse().expect("it is a place");
            let whose = place.document.map(|(_, component)| component.to_string());
            (place.path.display().to_string(), whose)
        };
        let named = |path: &str, component: &str| (path.to_owned(), Some(component.to_owned()));
        let plain = |path: &str| (path.to_owned(), None);
        assert_eq!(
            of("metrics@kube-apiserver:m.txt"),
            named("m.txt", "kube-apiserver")
        );
        assert_eq!(
            of("flagz@kube-apiserver/a%3A6443:b:c.txt"),
            named("b:c.txt", "kube-apiserver/a:6443")
        );
        assert_eq!(of("configz@kubelet/n1:-"), named("-", "kubelet/n1"));
        assert_eq!(of("audit:log.jsonl"), plain("log.jsonl"));
        assert_eq!(of("shop:pods.json"), plain("shop:pods.json"));
        assert_eq!(of("-"), plain("-"));
        let fault = |text: &str| text.parse::<Place>().expect_err("it is none").to_string();
        assert!(fault("metrics:m.txt").contains("metrics@kubelet/NODE:PATH"));
        assert!(fault("flagz@etcd/a:f.txt").contains("\"etcd/a\""));
    }
}
