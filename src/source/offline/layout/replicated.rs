//! A support bundle of troubleshoot.sh (replicatedhq/troubleshoot, `pkg/collect/cluster_resources.go`): unpaged lists in JSON, a file a
//! namespace, managed fields kept; `…-errors.json` beside says what could not be read.
//!
//! Its redactors replace text by `***HIDDEN***`; `redaction` keeps such a value from being taken for one.

use super::{BY_PLURAL, Extent, Layout, Role, folders_of, has_below, in_namespace, log_of, stem};

/// How the bundle calls a kind, where it is not by the plural.
const CLAIMS: &str = "pvcs";

pub(super) const LAYOUT: Layout = Layout {
    name: "replicated",
    words: "a support bundle of troubleshoot.sh",
    roots: |names| {
        let found = names.iter().flat_map(|name| folders_of(name, 2));
        found
            .filter(|(root, file)| {
                *file == "version.yaml" && has_below(names, &format!("{root}cluster-resources/"))
            })
            .map(|(root, _)| root.to_owned())
            .collect()
    },
    proof: None,
    role: |name| {
        let parts: Vec<&str> = name.split('/').collect();
        match parts.as_slice() {
            ["cluster-info", "cluster_version.json"] => Some(Role::VersionAt("info")),
            ["cluster-resources", file] => match stem(file)? {
                "nodes" => Some(Role::Objects(Extent::Everything)),
                "nodes-errors" => Some(Role::Refusals("Node")),
                "namespaces" => Some(Role::Namespaces),
                other => kind(other.strip_suffix("-errors")?).map(Role::Refusals),
            },
            ["cluster-resources", "pods", "logs", _, pod, log] => log_of(&[pod, log]),
            ["cluster-resources", folder, list] => {
                kind(folder)?;
                Some(in_namespace(stem(list)?))
            }
            _ => None,
        }
    },
    held_by: |_| None,
    lacks: &[],
    managed_fields: "a support bundle keeps them, so that they were stripped later",
};

fn kind(folder: &str) -> Option<&'static str> {
    let plural = if folder == CLAIMS {
        "persistentvolumeclaims"
    } else {
        folder
    };
    let found = BY_PLURAL.iter().find(|(known, _)| *known == plural);
    found.map(|(_, kind)| *kind)
}
