//! From bytes to objects: JSON and YAML, one object, Lists, many documents, whole or cut off.
//!
//! What stands before a fault is used, and the fault is told. Nothing here knows what an object means;
//! the decoders do. YAML is turned into JSON once, so that there is one decoder for each kind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::bundle::kept;
use super::located::{self, Position};
use super::{decode, places};
use crate::model::coverage::Location;
use crate::model::fact::Content;
use crate::model::pod::Pod;

/// What was understood of some bytes, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) contents: Vec<Content>,
    /// Kinds of which a list was seen, e.g. `Event`, even if it was empty: then "none" means something.
    pub(crate) listed: BTreeSet<&'static str>,
    /// Kinds that no decoder reads, with how many there were.
    pub(crate) ignored: BTreeMap<String, usize>,
    /// Whether a list was a page with others to follow.
    pub(crate) goes_on: bool,
    /// Faults, each a clear sentence.
    pub(crate) faults: Vec<String>,
    /// Whether one of them leaves open what it holds: it is no text, no YAML, no JSON, or not the object that it says it is.
    pub(crate) is_broken: bool,
    /// Where the text ceases to be YAML or JSON, what follows was not read; else where configuration begins that was not understood.
    at: Option<Position>,
    /// The file that it was read of, where that is one which a person can open.
    pub(crate) file: Option<Arc<str>>,
    /// The objects of `contents`, reduced to what a bundle may hold; null where they are not asked for.
    pub(crate) kept: Option<Vec<serde_json::Value>>,
    /// What is left of each Pod of `contents`; null is all of it.
    reduce: Option<Reduce>,
}

/// Takes out of a Pod what nobody will read, once it is decoded: a page of whole Pods leaves holes in the memory among what stays.
#[derive(Clone)]
pub(crate) struct Reduce(Arc<dyn Fn(&mut Pod) + Send + Sync>);

impl Reduce {
    pub(crate) fn by(reduce: impl Fn(&mut Pod) + Send + Sync + 'static) -> Self {
        Self(Arc::new(reduce))
    }
}

impl fmt::Debug for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reduce")
    }
}

impl Reading {
    /// Whether nothing in the bytes looked like a Kubernetes object.
    pub(crate) fn is_foreign(&self) -> bool {
        self.contents.is_empty() && self.listed.is_empty() && self.ignored.is_empty()
    }

    /// Where a file has its fault.
    pub(crate) fn location(&self) -> Option<Location> {
        let at = self.at?;
        self.file.as_ref().map(|file| Location {
            path: file.to_string(),
            line: Some(at.line),
            column: Some(at.column),
        })
    }

    fn object(&mut self, json: &str, list: Option<&ListType>) {
        match serde_json::from_str(json) {
            Ok(envelope) => self.enclosed(&envelope, json, list),
            Err(error) => self
                .faults
                .push(format!("an object cannot be read: {error}")),
        }
    }

    fn enclosed(&mut self, envelope: &Envelope<'_>, json: &str, list: Option<&ListType>) {
        let inherited = list.map_or(("", ""), |list| {
            (list.api_version.as_str(), list.kind.as_str())
        });
        let api_version = envelope.api_version.as_deref().unwrap_or(inherited.0);
        let untold = if envelope.git_version.is_some() {
            "Version"
        } else {
            inherited.1
        };
        let kind = envelope.kind.as_deref().unwrap_or(untold);
        let kind = if kind.is_empty() {
            kindless(json)
        } else {
            kind
        };
        if kind.is_empty() {
            return self.faults.push("an object has no kind".to_owned());
        }
        let Some(decoder) = decode::find(api_version, kind) else {
            *self.ignored.entry(kind.to_owned()).or_default() += 1;
            return;
        };
        match decoder.decode(json) {
            Ok(mut content) => {
                if let (Some(reduce), Content::Pod(pod)) = (&self.reduce, &mut content) {
                    (reduce.0)(pod);
                }
                if list.is_some() {
                    self.listed.insert(decoder.kind);
                }
                if let Some(kept) = &mut self.kept {
                    kept.push(match &content {
                        Content::Statements(told) => decode::statements::object(told),
                        _ => kept::reduce(decoder, api_version, json),
                    });
                }
                self.contents.push(content);
            }
            Err(error) => {
                self.is_broken = true;
                self.faults
                    .push(format!("a {kind} cannot be read: {error}"));
            }
        }
    }
}

/// What stands for the kind of configuration that has none, by its keys; empty for all else.
fn kindless(json: &str) -> &'static str {
    let keys: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    let has = |key: &str| keys.contains_key(key);
    if decode::k3s::KEYS
        .iter()
        .any(|(_, key)| has(key) || has(&format!("{key}+")))
    {
        decode::K3S
    } else if has("machine") || has("cluster") {
        decode::TALOS
    } else {
        ""
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow, default)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    /// Only `/version` answers it, and it has no kind.
    #[serde(default)]
    git_version: Option<IgnoredAny>,
}

/// Kind and version that a list's items have unless they say their own.
#[derive(Debug, Clone, Default)]
struct ListType {
    api_version: String,
    kind: String,
}

/// Of a list's metadata: whether a page follows.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    r#continue: String,
}

/// Reads all documents in the bytes.
pub(crate) fn read(bytes: &[u8]) -> Reading {
    read_into(Reading::default(), bytes)
}

/// The same, and leaves of each Pod what is left of it then.
pub(super) fn read_reduced(bytes: &[u8], reduce: &Reduce) -> Reading {
    let reading = Reading {
        reduce: Some(reduce.clone()),
        ..Reading::default()
    };
    read_into(reading, bytes)
}

/// The same, and keeps of each object what a bundle may hold.
pub(super) fn read_to_keep(bytes: &[u8]) -> Reading {
    let reading = Reading {
        kept: Some(Vec::new()),
        ..Reading::default()
    };
    read_into(reading, bytes)
}

fn read_into(mut reading: Reading, bytes: &[u8]) -> Reading {
    let bytes = without_mark(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        reading.faults.push("it is not UTF-8 text".to_owned());
        reading.is_broken = true;
        return reading;
    };
    match text.trim_start().chars().next() {
        None => reading.faults.push("it is empty".to_owned()),
        Some('{' | '[') => reading.at = read_json(text, &mut reading),
        Some(_) if names_an_object(text) => read_yaml(text, &mut reading),
        Some(_) => reading.faults.push(NO_OBJECT.to_owned()),
    }
    reading
}

/// Fills in where settings stand in the bytes that these contents were read of: of a file, which a person can open, and of nothing
/// else, since all of it is read once more.
pub(crate) fn place(bytes: &[u8], contents: &mut [Content]) {
    let bytes = without_mark(bytes);
    if bytes.len() <= MAX_PLACED
        && is_setting(bytes)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        places::fill(text, contents);
    }
}

/// Finds where configuration begins that was not understood, in the bytes of a file.
pub(crate) fn place_fault(bytes: &[u8], reading: &mut Reading) {
    let bytes = without_mark(bytes);
    if reading.is_broken
        && reading.at.is_none()
        && bytes.len() <= MAX_PLACED
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        reading.at = places::of_fault(text);
    }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Configuration is smaller; of a dump of a cluster nobody asks for a line.
const MAX_PLACED: usize = 4 << 20;

/// Whether a text speaks of feature gates at all, or of what is served.
pub(super) fn mentions_settings(text: &[u8]) -> bool {
    let words: [&[u8]; 4] = [
        b"feature-gates",
        b"featureGates",
        b"runtime-config",
        b"runtimeConfig",
    ];
    let holds = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    words.into_iter().any(holds)
}

/// Whether it may set what has a place: gates, what is served, or the version that a component behaves as.
fn is_setting(text: &[u8]) -> bool {
    let flags: [&[u8]; 2] = [b"emulated-version", b"min-compatibility-version"];
    let holds = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    mentions_settings(text) || flags.into_iter().any(holds)
}

const NO_OBJECT: &str = "it is not a Kubernetes object in YAML or JSON";

/// Whether text could be YAML of an object at all: to see that a log of gigabytes is none, a parser would need minutes.
fn names_an_object(text: &str) -> bool {
    let holds = |word: &[u8]| memchr::memmem::find(text.as_bytes(), word).is_some();
    holds(b"kind") || holds(b"gitVersion") || mentions_settings(text.as_bytes())
}

/// Returns where the text ceases to be JSON.
fn read_json(text: &str, reading: &mut Reading) -> Option<Position> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    loop {
        // A seed borrows the reading, so that what precedes a fault is kept.
        match (Document { reading }).deserialize(&mut deserializer) {
            Ok(()) => {}
            Err(error) => {
                reading.is_broken = true;
                let words = if error.is_eof() {
                    "it is cut off"
                } else {
                    "it is not valid JSON"
                };
                reading.faults.push(format!("{words}: {error}"));
                return Some(located::of_byte(text, error.line(), error.column()));
            }
        }
        if deserializer.end().is_ok() {
            return None;
        }
    }
}

/// Limits that grow with the text, which has no more nodes than bytes: a list of a thousand Pods passes the library's own.
/// What aliases may add stays limited.
pub(super) fn yaml_options(text: &str) -> serde_saphyr::Options {
    let size = text.len().saturating_add(1024);
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(size),
            max_events: size.saturating_mul(2),
            max_documents: size,
            max_nodes: size,
            max_total_scalar_bytes: size,
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
    }
}

/// All documents of a text at once, which takes four fifths of the time that they take one by one; null where there is a fault, since
/// what stands before it would be lost, and of more than may be held.
pub(super) fn whole_yaml<T: DeserializeOwned>(text: &str) -> Option<Vec<T>> {
    let is_small = text.len() <= MAX_PLACED;
    is_small.then(|| serde_saphyr::from_multiple_with_options(text, yaml_options(text)).ok())?
}

/// The first document as it is, for what is no object of Kubernetes.
pub(crate) fn value(bytes: &[u8]) -> Result<serde_json::Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    let mut reader = text.as_bytes();
    serde_saphyr::read_with_options(&mut reader, yaml_options(text))
        .next()
        .unwrap_or(Ok(serde_json::Value::Null))
        .map_err(|error| {
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        })
}

/// All objects as they are, those of lists one by one: for manifests, which are small. A list that says its items' kind lends it.
pub(crate) fn values(bytes: &[u8]) -> Result<Vec<serde_json::Value>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let first_line = |error: String| error.lines().next().unwrap_or_default().to_owned();
    let documents: Vec<serde_json::Value> = if text.trim_start().starts_with(['{', '[']) {
        let documents = serde_json::Deserializer::from_str(text).into_iter();
        documents
            .collect::<Result<_, _>>()
            .map_err(|error| format!("it is not valid JSON: {error}"))?
    } else {
        let mut reader = text.as_bytes();
        let documents = serde_saphyr::read_with_options::<_, serde_json::Value>(
            &mut reader,
            yaml_options(text),
        );
        documents
            .collect::<Result<_, _>>()
            .map_err(|error| format!("it is not valid YAML: {}", first_line(error.to_string())))?
    };
    let mut found = Vec::new();
    for document in documents {
        flatten(document, &mut found);
    }
    Ok(found)
}

fn flatten(document: serde_json::Value, found: &mut Vec<serde_json::Value>) {
    use serde_json::Value;
    match document {
        Value::Null => {}
        Value::Array(items) => items.into_iter().for_each(|item| flatten(item, found)),
        Value::Object(mut list) if list.get("items").is_some_and(Value::is_array) => {
            let kind = list.get("kind").and_then(Value::as_str).unwrap_or_default();
            let kind = kind.strip_suffix("List").unwrap_or_default().to_owned();
            let version = list.get("apiVersion").cloned();
            let mut items = list.get_mut("items").map(Value::take).unwrap_or_default();
            for mut item in items.as_array_mut().into_iter().flatten().map(Value::take) {
                if let (Some(object), false) = (item.as_object_mut(), kind.is_empty()) {
                    object.entry("kind").or_insert_with(|| kind.clone().into());
                    let version = version.clone().unwrap_or_default();
                    object.entry("apiVersion").or_insert(version);
                }
                flatten(item, found);
            }
        }
        other => found.push(other),
    }
}

fn read_yaml(text: &str, reading: &mut Reading) {
    let mut reader = text.as_bytes();
    let documents: Box<dyn Iterator<Item = Result<serde_json::Value, _>>> = match whole_yaml(text) {
        Some(documents) => Box::new(documents.into_iter().map(Ok)),
        None => Box::new(serde_saphyr::read_with_options(
            &mut reader,
            yaml_options(text),
        )),
    };
    for document in documents {
        match document {
            Ok(serde_json::Value::Null) => {}
            Ok(value @ (serde_json::Value::Object(_) | serde_json::Value::Array(_))) => {
                // Written anew it is whole, and its lines are none of the text.
                let _no_place = read_json(&value.to_string(), reading);
            }
            Ok(_) => {
                return reading.faults.push(NO_OBJECT.to_owned());
            }
            Err(error) => {
                let first = error
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                reading.is_broken = true;
                reading.at = error.location().and_then(located::of_yaml);
                return reading
                    .faults
                    .push(format!("it is not valid YAML: {first}"));
            }
        }
    }
}

/// One document at the top: an object, a list of objects, or an array of objects.
struct Document<'r> {
    reading: &'r mut Reading,
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
        f.write_str("a Kubernetes object or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&'de RawValue>()? {
            self.reading.object(item.get(), Some(&ListType::default()));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
        let mut list = ListType::default();
        let mut is_list = false;
        let mut goes_on = false;
        // kubectl sorts keys, so `items` comes before `kind`: such items wait, unless they say their own.
        let mut waiting: Vec<&'de RawValue> = Vec::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match key.as_ref() {
                "items" => {
                    is_list = true;
                    map.next_value_seed(Items {
                        reading: self.reading,
                        list: &list,
                        waiting: &mut waiting,
                    })?;
                }
                "apiVersion" => {
                    let raw = map.next_value::<&'de RawValue>()?;
                    list.api_version = serde_json::from_str(raw.get()).unwrap_or_default();
                    fields.push((key, raw));
                }
                "kind" => {
                    let raw = map.next_value::<&'de RawValue>()?;
                    let kind: String = serde_json::from_str(raw.get()).unwrap_or_default();
                    kind.strip_suffix("List")
                        .unwrap_or_default()
                        .clone_into(&mut list.kind);
                    fields.push((key, raw));
                }
                "metadata" => {
                    let raw = map.next_value::<&'de RawValue>()?;
                    let metadata: ListMetadata =
                        serde_json::from_str(raw.get()).unwrap_or_default();
                    goes_on = !metadata.r#continue.is_empty();
                    fields.push((key, raw));
                }
                _ if is_list => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => fields.push((key, map.next_value()?)),
            }
        }
        if is_list {
            if let Some(decoder) = decode::find(&list.api_version, &list.kind) {
                self.reading.listed.insert(decoder.kind);
            }
            for item in waiting {
                self.reading.object(item.get(), Some(&list));
            }
            self.reading.goes_on |= goes_on;
            return Ok(());
        }
        let mut json = String::from("{");
        for (index, (key, value)) in fields.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&serde_json::Value::from(key.as_ref()).to_string());
            json.push(':');
            json.push_str(value.get());
        }
        json.push('}');
        self.reading.object(&json, None);
        Ok(())
    }
}

/// The items of a list, decoded one by one so that a cut-off list gives what it has.
struct Items<'r, 'w, 'de> {
    reading: &'r mut Reading,
    list: &'r ListType,
    waiting: &'w mut Vec<&'de RawValue>,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the items of a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&'de RawValue>()? {
            match serde_json::from_str::<Envelope<'_>>(item.get()) {
                Ok(envelope) if envelope.kind.is_some() || !self.list.kind.is_empty() => {
                    self.reading
                        .enclosed(&envelope, item.get(), Some(self.list));
                }
                _ => self.waiting.push(item),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pods(reading: &Reading) -> Vec<String> {
        reading
            .contents
            .iter()
            .filter_map(|content| match content {
                Content::Pod(pod) => Some(pod.name.name.clone()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn one_object_a_list_and_many_documents() {
        let one = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#;
        assert_eq!(pods(&read(one.as_bytes())), ["a"]);
        let list = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#;
        assert_eq!(pods(&read(list.as_bytes())), ["a", "b"]);
        let sorted = r#"{"apiVersion":"v1","items":[{"metadata":{"name":"a"}}],"kind":"PodList"}"#;
        assert_eq!(pods(&read(sorted.as_bytes())), ["a"]);
        let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n";
        assert_eq!(pods(&read(yaml.as_bytes())), ["a", "b"]);
        let lines = format!("{one}\n{one}\n");
        assert_eq!(pods(&read(lines.as_bytes())), ["a", "a"]);
    }

    #[test]
    fn an_empty_list_is_known_to_be_empty() {
        let reading = read(br#"{"kind":"EventList","apiVersion":"v1","metadata":{},"items":[]}"#);
        assert!(
            reading.listed.contains("Event")
                && reading.contents.is_empty()
                && reading.faults.is_empty()
        );
        assert!(
            read(br#"{"kind":"EventList","apiVersion":"v1","items":null}"#)
                .listed
                .contains("Event")
        );
    }

    #[test]
    fn a_list_that_is_cut_off_gives_what_stands_before() {
        let list = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":{"na"#;
        let reading = read(list.as_bytes());
        assert_eq!(pods(&reading), ["a"]);
        assert!(
            reading.faults[0].starts_with("it is cut off"),
            "{:?}",
            reading.faults
        );
    }

    #[test]
    fn what_is_foreign_says_so() {
        for bytes in [
            &b"hello world"[..],
            b"\xff\xfe\x00",
            b"",
            b"I1130 08:21:19 log: line\nother: [",
            b"- 1\n- 2\n",
        ] {
            let reading = read(bytes);
            assert!(
                reading.is_foreign() && !reading.faults.is_empty(),
                "{reading:?}"
            );
        }
        let secret = read(
            br#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"p":"eA=="}}"#,
        );
        assert_eq!(secret.ignored.get("Secret"), Some(&1));
        assert!(!secret.is_foreign());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let reading = read(&bytes);
            prop_assert!(!reading.faults.is_empty() || !reading.is_foreign() || reading.contents.is_empty());
        }

        #[test]
        fn any_cut_of_a_list_is_a_prefix_of_the_whole(cut in 0_usize..260) {
            let list = r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","uid":"1"}},{"metadata":{"name":"b","uid":"2"}},{"metadata":{"name":"c","uid":"3"}}]}"#;
            let whole = pods(&read(list.as_bytes()));
            let part = pods(&read(&list.as_bytes()[..cut.min(list.len())]));
            prop_assert!(whole.starts_with(&part));
        }
    }
}
