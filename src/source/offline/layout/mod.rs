//! Layouts: how a tool that collects support data names its files, and what it collects and leaves out.
//!
//! One file a layout, and its line below; the first one that recognises a tree reads it. A layout says what a name means and of
//! what a list is the whole; the bytes are read the same way for all.

mod cluster_info_dump;
mod must_gather;
mod nomination_bundle;
mod plain;
mod replicated;
mod sonobuoy;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::extent::Extent;
use super::others::Others;
use super::tree::{Listing, NOT_PLAIN, Tree};
use super::{Collected, OfflineError, input};
use crate::model::coverage::State;
use crate::source::audit::Focus;

/// Names that a sentence has, as many as a person reads.
const NAMED: usize = 5;

/// More than any text that is read whole beside objects: versions, times, refusals.
const MAX_TEXT: u64 = 16 << 20;

/// How the files of one tool are laid out.
pub(super) struct Layout {
    /// The name of its file.
    name: &'static str,
    /// How people call it.
    words: &'static str,
    /// Folders that the layout begins in, empty or ended by a slash; none where it is another layout.
    roots: fn(&BTreeSet<String>) -> BTreeSet<String>,
    /// A file of a root that proves it, by its content, where names alone do not.
    proof: Option<Proof>,
    /// What a file below a root is; null where it is not needed.
    role: fn(&str) -> Option<Role>,
    /// The list that holds what an entry holds, so that the entry is needed only where the list is not sound.
    held_by: fn(&str) -> Option<String>,
    /// What the tool leaves out, by subject.
    lacks: &'static [(&'static str, &'static str)],
    /// How managed fields are kept, where they may have been stripped.
    managed_fields: &'static str,
}

struct Proof {
    file: &'static str,
    holds: fn(&[u8]) -> bool,
}

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// Objects, or an audit log.
    Objects(Extent),
    /// A container's log.
    Log,
    /// The list of all namespaces, if it came from the server as it is.
    Namespaces,
    /// Why lists of a kind could not be taken: by namespace, or of the cluster.
    Refusals(&'static str),
    /// An object with the answer of `/version` at this key.
    VersionAt(&'static str),
    /// The time of the capture in its first and last line.
    Times,
}

/// All of them, in the order in which they are tried.
const LAYOUTS: &[Layout] = &[
    nomination_bundle::LAYOUT,
    replicated::LAYOUT,
    sonobuoy::LAYOUT,
    must_gather::LAYOUT,
    cluster_info_dump::LAYOUT,
    plain::LAYOUT,
];

/// Reads a tree by the layout that recognises it.
pub(super) fn read(
    tree: &dyn Tree,
    path: &Path,
    collected: &mut Collected,
    focus: &Focus,
) -> Result<(), OfflineError> {
    let listing = tree.list()?;
    let (layout, roots) = recognise(tree, &listing)?;
    let is_plain = layout.name == plain::NAME;
    let role = |name: &str| {
        let inside = roots
            .iter()
            .find_map(|root| name.strip_prefix(root.as_str()))?;
        (layout.role)(inside)
    };
    if !is_plain {
        let places: Vec<&str> = roots
            .iter()
            .map(|root| root.trim_end_matches('/'))
            .collect();
        let detail = match places.join(", ") {
            places if places.is_empty() => format!("read as {}", layout.words),
            places => format!("read as {}, found in {places}", layout.words),
        };
        collected.note("layout", State::Complete, detail);
    }
    let list_of = |name: &str| {
        let root = roots.iter().find(|root| name.starts_with(root.as_str()))?;
        let list = (layout.held_by)(name.strip_prefix(root.as_str())?)?;
        let list = format!("{root}{list}");
        (listing.names.contains(&list) && listing.cut.as_ref() != Some(&list)).then_some(list)
    };
    let read = |wanted: &dyn Fn(&str) -> bool,
                collected: &mut Collected,
                foreign: &mut Vec<String>,
                others: &mut Others<'_>| {
        tree.visit(wanted, &mut |name, bytes| {
            let Some(role) = role(name) else { return };
            let extent = match &role {
                // Whatever the part that is there tells, it is not the whole.
                Role::Objects(_) if listing.cut.as_deref() == Some(name) => Some(Extent::Part),
                Role::Objects(extent) => Some(extent.clone()),
                _ => None,
            };
            let is_foreign = bytes
                .map_err(|source| OfflineError::Read {
                    path: path.join(name),
                    source,
                })
                .and_then(|bytes| match (extent, role) {
                    (Some(extent), _) => {
                        input::take(collected, name, &path.join(name), bytes, focus, &extent).map(
                            |found| match found {
                                Some(found) if is_plain => others.take(name, &found),
                                found => found.is_some(),
                            },
                        )
                    }
                    (None, Role::Log) => {
                        input::take_log(collected, name, &path.join(name), bytes, focus)
                            .map(|foreign| foreign.is_some())
                    }
                    (None, role) => Ok(text(bytes)
                        .and_then(|text| aside(collected, name, &role, &text))
                        .is_err()),
                });
            match is_foreign {
                Ok(false) => {}
                Ok(true) => foreign.push(name.to_owned()),
                Err(error) => collected.missing(name, &error.to_string(), None),
            }
        })
    };
    let mut foreign = Vec::new();
    let mut others = Others::of(&listing.names);
    let is_first = |name: &str| role(name).is_some() && list_of(name).is_none();
    let mut fault = read(&is_first, collected, &mut foreign, &mut others)?;
    let mut unsound = unsound(collected);
    unsound.extend(foreign.iter().cloned());
    let is_needed = |name: &str| {
        role(name).is_some() && list_of(name).is_some_and(|list| unsound.contains(&list))
    };
    if listing.names.iter().any(|name| is_needed(name)) {
        fault = fault.or(read(&is_needed, collected, &mut foreign, &mut others)?);
    }
    tell_of_tree(collected, &listing, fault, &|name| role(name).is_some());
    if collected.facts.is_empty() && !collected.has_lists() {
        return Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault: nothing(&listing),
            location: None,
        });
    }
    if !foreign.is_empty() {
        let subject = format!("{} of {} files", foreign.len(), listing.names.len());
        let detail = format!("not recognised: {}", named(&foreign));
        collected.note(&subject, State::Unreadable, detail);
    }
    others.tell(collected);
    if !is_plain {
        tell_of_layout(collected, layout);
    }
    Ok(())
}

/// Names of what could not be read, or not as a whole.
fn unsound(collected: &Collected) -> BTreeSet<String> {
    let lines = collected.coverage.iter();
    lines
        .filter(|line| line.state != State::Complete)
        .map(|line| line.subject.clone())
        .collect()
}

fn recognise(
    tree: &dyn Tree,
    listing: &Listing,
) -> Result<(&'static Layout, BTreeSet<String>), OfflineError> {
    for layout in LAYOUTS {
        let mut roots = (layout.roots)(&listing.names);
        if let Some(proof) = &layout.proof
            && !roots.is_empty()
        {
            let mut proven = BTreeSet::new();
            let of = |name: &str| {
                let root = name.strip_suffix(proof.file)?;
                roots.contains(root).then(|| root.to_owned())
            };
            tree.visit(&|name| of(name).is_some(), &mut |name, bytes| {
                let content = bytes.map_err(|error| error.to_string()).and_then(text);
                if let (Some(root), Ok(content)) = (of(name), content)
                    && (proof.holds)(content.as_bytes())
                {
                    proven.insert(root);
                }
            })?;
            roots = proven;
        }
        if !roots.is_empty() {
            return Ok((layout, roots));
        }
    }
    Ok((&plain::LAYOUT, BTreeSet::from([String::new()])))
}

fn text(bytes: &mut dyn Read) -> Result<String, String> {
    let mut text = String::new();
    bytes
        .take(MAX_TEXT)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

/// Takes in what is no object. Returns why it cannot.
fn aside(collected: &mut Collected, name: &str, role: &Role, text: &str) -> Result<(), String> {
    let json = || serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    match role {
        Role::Objects(_) | Role::Log => {}
        Role::Namespaces => {
            let read = super::document::value(text.as_bytes())?;
            if let Some(names) = all_namespaces(&read) {
                collected.extents.know_namespaces(names);
            }
        }
        Role::Refusals(kind) => match json()? {
            Value::Object(by_namespace) => {
                for (namespace, why) in by_namespace {
                    let extent = Extent::Namespace(namespace);
                    collected.refuse(name, kind, extent, &plain_text(&why));
                }
            }
            Value::Array(all) if !all.is_empty() => {
                let why: Vec<String> = all.iter().map(plain_text).collect();
                collected.refuse(name, kind, Extent::Everything, &why.join("; "));
            }
            _ => {}
        },
        Role::VersionAt(key) => {
            let value = json()?;
            let version = value.get(key).ok_or("it has no version")?.to_string();
            let reading = super::document::read(version.as_bytes());
            collected.take_as(name, reading, &Extent::Part);
        }
        Role::Times => {
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            if let Some(first) = lines.next() {
                let last = lines.next_back().unwrap_or(first);
                let detail = format!("taken from {first} to {last}");
                collected.note("capture", State::Complete, detail);
            }
        }
    }
    Ok(())
}

fn plain_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Names of a namespace list that is the server's own and not paged. One that a tool put together may have a choice of them:
/// it has no resource version.
fn all_namespaces(list: &Value) -> Option<BTreeSet<String>> {
    let metadata = |key: &str| list.pointer(&format!("/metadata/{key}"))?.as_str();
    let is_whole = metadata("resourceVersion").is_some_and(|version| !version.is_empty())
        && metadata("continue").unwrap_or_default().is_empty();
    let items = list.get("items")?.as_array().filter(|_| is_whole)?;
    items
        .iter()
        .map(|item| Some(item.pointer("/metadata/name")?.as_str()?.to_owned()))
        .collect()
}

/// Says what of the tree was not read. What no layout would read is told only where there is no other layout.
fn tell_of_tree(
    collected: &mut Collected,
    listing: &Listing,
    fault: Option<String>,
    is_wanted: &dyn Fn(&str) -> bool,
) {
    for (reason, names) in &listing.refused {
        let names: Vec<String> = names.iter().cloned().collect();
        let subject = match names.as_slice() {
            [name] => name.clone(),
            names => format!("{} entries", names.len()),
        };
        let detail = match names.len() {
            1 => reason.clone(),
            _ => format!("{reason}: {}", named(&names)),
        };
        collected.note(&subject, State::Unreadable, detail);
        collected.faulty |= reason != NOT_PLAIN && names.iter().any(|name| is_wanted(name));
    }
    if let Some(fault) = listing.fault.clone().or(fault) {
        let inside = listing
            .cut
            .as_ref()
            .map(|name| format!(", inside {name}"))
            .unwrap_or_default();
        let detail = format!("the archive ends early{inside}: {fault}; what came before is used");
        let subject = collected.source.name.clone();
        collected.note(&subject, State::Partial, detail);
        collected.faulty = true;
    }
}

fn tell_of_layout(collected: &mut Collected, layout: &Layout) {
    for (subject, detail) in layout.lacks {
        collected.note(subject, State::Absent, (*detail).to_owned());
    }
    let (all, stripped) = (collected.held.pod_count, collected.held.stripped);
    if stripped > 0 {
        let detail = format!(
            "{stripped} of {all} Pods are without them, so that nobody can tell who nominated; {}",
            layout.managed_fields
        );
        collected.note("managed fields", State::Absent, detail);
    }
    let known: Vec<String> = collected
        .extents
        .namespaces_of("Pod")
        .map(str::to_owned)
        .collect();
    if collected.extents.covers("Pod", None) {
        let detail = format!("all {} of the cluster", known.len());
        collected.note("namespaces", State::Complete, detail);
    } else if !known.is_empty() {
        let detail = format!(
            "Pods of {}; nothing says that there are no other namespaces",
            named(&known)
        );
        collected.note("namespaces", State::Partial, detail);
    }
}

/// What a tree of nothing known holds.
fn nothing(listing: &Listing) -> String {
    let names: Vec<String> = listing.names.iter().cloned().collect();
    let refused: Vec<String> = listing
        .refused
        .iter()
        .flat_map(|(reason, names)| names.iter().map(move |name| format!("{name}: {reason}")))
        .collect();
    let mut sentence = if names.is_empty() {
        "it has no files".to_owned()
    } else {
        format!(
            "none of its {} files has Pods, Nodes or Events in YAML or JSON: {}",
            names.len(),
            named(&names)
        )
    };
    if !refused.is_empty() {
        sentence = format!("{sentence}; not read: {}", named(&refused));
    }
    match &listing.fault {
        Some(fault) => format!("{sentence}; it ends early: {fault}"),
        None => sentence,
    }
}

pub(super) fn named(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().map(String::as_str).take(NAMED).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Folders above a name, not deeper than `depth`: each empty or ended by a slash, with what is below it.
fn folders_of(name: &str, depth: usize) -> impl Iterator<Item = (&str, &str)> {
    let ends = name.match_indices('/').map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(ends)
        .take(depth + 1)
        .map(|end| name.split_at(end))
}

/// Whether a tree has some file below a folder.
fn has_below(names: &BTreeSet<String>, folder: &str) -> bool {
    let from = folder.to_owned();
    names
        .range(from..)
        .next()
        .is_some_and(|name| name.starts_with(folder))
}

/// The name without `.json`, `.yaml` or `.yml`.
fn stem(file: &str) -> Option<&str> {
    [".json", ".yaml", ".yml"]
        .iter()
        .find_map(|extension| file.strip_suffix(extension))
}

/// Collects the objects of a namespace that answers rest on, by their plural names.
fn is_needed(resource: &str) -> bool {
    BY_PLURAL.iter().any(|(plural, _)| *plural == resource)
}

/// Plural names of the kinds that are read from lists of a namespace.
const BY_PLURAL: &[(&str, &str)] = &[
    ("daemonsets", "DaemonSet"),
    ("deployments", "Deployment"),
    ("events", "Event"),
    ("jobs", "Job"),
    ("persistentvolumeclaims", "PersistentVolumeClaim"),
    ("pods", "Pod"),
    ("replicasets", "ReplicaSet"),
    ("statefulsets", "StatefulSet"),
];

/// The log of a scheduler's container, which its own or its Pod's name tells: of all others there may be gigabytes.
fn log_of(names: &[&str]) -> Option<Role> {
    let is_scheduler = names.iter().any(|name| name.contains("scheduler"));
    is_scheduler.then_some(Role::Log)
}

fn in_namespace(namespace: &str) -> Role {
    Role::Objects(Extent::Namespace(namespace.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_layout_has_its_line() {
        assert_eq!(
            registry::files("source/offline/layout", &["mod"]),
            registry::names(LAYOUTS.iter().map(|layout| layout.name))
        );
    }

    /// The layout of these names, its roots, and the files that it reads.
    fn of(names: &[&str]) -> (&'static str, Vec<String>) {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = LAYOUTS
            .iter()
            .filter(|layout| layout.proof.is_none())
            .find_map(|layout| {
                let roots = (layout.roots)(&names);
                (!roots.is_empty()).then_some((layout, roots))
            });
        let (layout, roots) = found.expect("plain files are a layout");
        (layout.name, roots.into_iter().collect())
    }

    #[test]
    fn layouts_are_told_apart_by_names() {
        let dump = [
            "d/nodes.json",
            "d/shop/pods.json",
            "d/shop/events.json",
            "d/shop/replication-controllers.json",
        ];
        assert_eq!(of(&dump), ("cluster_info_dump", vec!["d/".to_owned()]));
        let gather = [
            "must-gather.local.1/quay-io-a/namespaces/shop/core/pods.yaml",
            "must-gather.local.1/quay-io-b/cluster-scoped-resources/core/nodes/n1.yaml",
            "must-gather.local.1/timestamp",
        ];
        let roots = [
            "must-gather.local.1/quay-io-a/",
            "must-gather.local.1/quay-io-b/",
        ];
        assert_eq!(
            of(&gather),
            ("must_gather", roots.map(str::to_owned).into())
        );
        let replicated = [
            "support-bundle-1/version.yaml",
            "support-bundle-1/cluster-resources/pods/shop.json",
        ];
        assert_eq!(
            of(&replicated),
            ("replicated", vec!["support-bundle-1/".to_owned()])
        );
        let sonobuoy = ["serverversion.json", "resources/ns/shop/core_v1_pods.json"];
        assert_eq!(of(&sonobuoy), ("sonobuoy", vec![String::new()]));
        // What somebody put together with `kubectl get`, a folder a namespace.
        let own = ["nodes.json", "shop/pods.json", "shop/events.json"];
        assert_eq!(of(&own), ("plain", vec![String::new()]));
    }

    #[test]
    fn only_a_list_of_the_server_names_all_namespaces() {
        let list = |metadata: &str| {
            let text =
                format!(r#"{{"metadata":{metadata},"items":[{{"metadata":{{"name":"a"}}}}]}}"#);
            all_namespaces(&serde_json::from_str(&text).expect("JSON"))
        };
        assert_eq!(
            list(r#"{"resourceVersion":"7"}"#),
            Some(BTreeSet::from(["a".to_owned()]))
        );
        assert_eq!(list("{}"), None);
        assert_eq!(list(r#"{"resourceVersion":"7","continue":"x"}"#), None);
    }
}
