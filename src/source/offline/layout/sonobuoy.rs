//! A snapshot of Sonobuoy (vmware-tanzu/sonobuoy, pkg/discovery/query.go): lists as the server answered them, a file a resource.
//!
//! An empty list is not written at all, so that a file that is missing says nothing.

use super::{Extent, Layout, Role, folders_of, has_below, in_namespace, is_needed, log_of, stem};

const VERSION: &str = "serverversion.json";

pub(super) const LAYOUT: Layout = Layout {
    name: "sonobuoy",
    words: "a snapshot of Sonobuoy",
    roots: |names| {
        let found = names.iter().flat_map(|name| folders_of(name, 1));
        found
            .filter(|(root, file)| {
                *file == VERSION && has_below(names, &format!("{root}resources/"))
            })
            .map(|(root, _)| root.to_owned())
            .collect()
    },
    proof: None,
    role: |name| match name.split('/').collect::<Vec<_>>().as_slice() {
        [VERSION] => Some(Role::Objects(Extent::Part)),
        ["resources", "cluster", list] => match resource(list)?.as_str() {
            "nodes" => Some(Role::Objects(Extent::Everything)),
            "namespaces" => Some(Role::Namespaces),
            _ => None,
        },
        ["resources", "ns", namespace, list] => {
            is_needed(&resource(list)?).then(|| in_namespace(namespace))
        }
        ["podlogs", _, pod, "logs", log] => log_of(&[pod, log]),
        _ => None,
    },
    held_by: |_| None,
    lacks: &[],
    managed_fields: "a snapshot keeps them, so that they were stripped later",
};

/// `core_v1_pods.json`, or `Pods.json` as older releases wrote it.
fn resource(file: &str) -> Option<String> {
    let name = stem(file)?;
    let last = name.rsplit('_').next().unwrap_or(name);
    Some(last.to_ascii_lowercase())
}
