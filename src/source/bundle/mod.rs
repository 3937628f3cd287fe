//! A bundle: what `collect` was answered, read by read, so that the same question has the same answer without the cluster.
//!
//! The format is described in docs/bundle.md. Here are its manifest and what becomes an entry; `write` packs and saves it,
//! `offline::bundle` reads it back. Nothing of an object gets here but what `kept` names.

pub(super) mod kept;
pub(crate) mod redact;
pub(crate) mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::redact::Redactor;
use super::Reply;
use crate::model::coverage::State;
use crate::model::want::Want;

pub(super) const API_VERSION: &str = "kube-placement.dev/v1alpha1";
/// Kinds of bundles, by what was asked.
pub(crate) const NOMINATION: &str = "NominationBundle";
pub(crate) const GATES: &str = "GateBundle";
pub(super) const KINDS: [&str; 2] = [NOMINATION, GATES];

/// The first entry of the archive.
pub(super) const MANIFEST: &str = "manifest.json";

/// What is said of all that is not in a bundle.
const LEFT_OUT: &str = "of each object only the fields that docs/bundle.md names are kept: no environment, command or argument beside \
    the feature gates of a component, image beside its version, volume beside names, claims and an emptyDir's limit, annotation beside those of a placement, or status of a container";

/// What a bundle holds, and for what question it was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) tool: Tool,
    pub(crate) server: String,
    /// Kubeconfig context; null where there was none.
    pub(crate) context: Option<String>,
    /// The server's time, by which the answer is judged.
    pub(crate) now: Timestamp,
    pub(crate) request: Question,
    /// In the order of their files.
    pub(super) reads: Vec<Read>,
    pub(super) left_out: String,
    pub(super) redactions: Redactions,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Question {
    /// In the words of the command line.
    pub(crate) selection: String,
    /// Null is all namespaces.
    pub(crate) namespace: Option<String>,
}

/// One read, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Read {
    /// Its kind; with the subject it is found again.
    pub(super) kind: String,
    pub(super) subject: String,
    pub(super) state: State,
    pub(super) detail: Option<String>,
    pub(super) objects: usize,
    /// Null where no object was answered.
    pub(super) file: Option<String>,
}

/// How much was replaced; what, would tell what it hides.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Redactions {
    pub(super) patterns: usize,
    pub(super) places: usize,
}

/// What is known of a bundle beside its reads.
pub(crate) struct Heading {
    pub(crate) kind: &'static str,
    /// The program that makes it.
    pub(crate) tool: &'static str,
    pub(crate) server: String,
    pub(crate) context: Option<String>,
    pub(crate) now: Timestamp,
    pub(crate) request: Question,
}

/// What was answered, while it is being asked.
#[derive(Debug, Default)]
pub(crate) struct Tape(Mutex<BTreeMap<Want, Taken>>);

#[derive(Debug)]
struct Taken {
    state: State,
    detail: Option<String>,
    objects: Vec<Value>,
}

impl Tape {
    /// Takes what was kept of an answer.
    pub(super) fn take(&self, reply: &mut Reply) {
        let taken = Taken {
            state: reply.state,
            detail: reply.detail.clone(),
            objects: std::mem::take(&mut reply.kept),
        };
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.insert(reply.want.clone(), taken);
    }

    /// The Pods of these UIDs as far as they were kept, each once.
    pub(crate) fn pods(&self, uids: &BTreeSet<&str>) -> Vec<Value> {
        let reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = BTreeMap::new();
        for object in reads.values().flat_map(|taken| &taken.objects) {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            if object["kind"] == "Pod" && uids.contains(uid) {
                found.insert(uid.to_owned(), object.clone());
            }
        }
        found.into_values().collect()
    }

    /// Makes the bundle of all that was taken. What the redactor finds is replaced before anything is put into words.
    pub(crate) fn bundle(&self, heading: Heading, redactor: &mut Redactor) -> Bundle {
        let taken = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let Heading {
            kind,
            tool,
            server,
            mut context,
            now,
            mut request,
        } = heading;
        let mut server = without_user(&server);
        redactor.redact(&mut server);
        redactor.redact_any(&mut context);
        redactor.redact(&mut request.selection);
        redactor.redact_any(&mut request.namespace);
        let mut reads = Vec::new();
        let mut files = Vec::new();
        for (want, mut taken) in taken {
            let mut subject = want.subject();
            redactor.redact(&mut subject);
            redactor.redact_any(&mut taken.detail);
            for object in &mut taken.objects {
                kept::redact(object, redactor);
            }
            let objects = taken.objects.len();
            let file = (objects > 0).then(|| format!("reads/{:04}.json", files.len() + 1));
            if let Some(name) = &file {
                let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": taken.objects});
                files.push((name.clone(), pretty(&list)));
            }
            reads.push(Read {
                kind: want.kind().to_owned(),
                subject,
                state: taken.state,
                detail: taken.detail,
                objects,
                file,
            });
        }
        let manifest = Manifest {
            api_version: API_VERSION.to_owned(),
            kind: kind.to_owned(),
            tool: Tool {
                name: tool.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            server,
            context,
            now,
            request,
            reads,
            left_out: LEFT_OUT.to_owned(),
            redactions: Redactions {
                patterns: redactor.patterns(),
                places: redactor.places(),
            },
        };
        let reads = manifest.reads.len();
        files.insert(0, (MANIFEST.to_owned(), pretty(&manifest)));
        Bundle { files, reads }
    }
}

/// A bundle that is ready to be packed: its entries in order, the manifest first.
#[derive(Debug)]
pub(crate) struct Bundle {
    files: Vec<(String, Vec<u8>)>,
    pub(crate) reads: usize,
}

/// An address without the name and password that may stand in it.
fn without_user(address: &str) -> String {
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => address.to_owned(),
    }
}

/// JSON for people as well: whoever sends a bundle wants to see what is in it.
fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("its keys are texts");
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_an_address_is_kept() {
        assert_eq!(without_user("https://a:b@c:6443/d"), "https://c:6443/d");
        assert_eq!(without_user("https://c:6443"), "https://c:6443");
    }
}
