//! `kubectl cluster-info dump --output-directory`: `nodes.json`, and seven lists a namespace (kubectl 1.37,
//! `pkg/cmd/clusterinfo/clusterinfo_dump.go`); also as YAML.
//!
//! Nothing in it says whether it was taken of all namespaces. A dump that is printed is no tree: `input` reads it.

use super::{Extent, Layout, Role, folders_of, in_namespace, log_of, stem};

pub(super) const LAYOUT: Layout = Layout {
    name: "cluster_info_dump",
    words: "a dump of kubectl cluster-info",
    roots: |names| {
        let found = names.iter().flat_map(|name| folders_of(name, 3));
        found
            .filter(|(root, file)| {
                let depth = root.matches('/').count();
                // A folder with Pods alone may be anybody's; kubectl always writes all of its lists.
                let is_dump = |extension: &str| {
                    names.iter().any(|name| {
                        let inside = name.strip_prefix(root).unwrap_or_default();
                        let controllers = format!("replication-controllers.{extension}");
                        inside
                            .split_once('/')
                            .is_some_and(|(_, list)| list == controllers)
                    })
                };
                depth <= 2
                    && ((*file == "nodes.json" && is_dump("json"))
                        || (*file == "nodes.yaml" && is_dump("yaml")))
            })
            .map(|(root, _)| root.to_owned())
            .collect()
    },
    proof: None,
    role: |name| match name.split('/').collect::<Vec<_>>().as_slice() {
        ["nodes.json" | "nodes.yaml"] => Some(Role::Objects(Extent::Everything)),
        [_, pod, "logs.txt"] => log_of(&[pod]),
        [namespace, list] => match stem(list)? {
            "daemonsets" | "deployments" | "events" | "pods" | "replicasets" => {
                Some(in_namespace(namespace))
            }
            _ => None,
        },
        _ => None,
    },
    held_by: |_| None,
    lacks: &[
        (
            "persistentvolumeclaims",
            "a dump holds none; they tell for which node a volume was prepared",
        ),
        (
            "statefulsets, jobs",
            "a dump holds none; name Pods or select them by labels",
        ),
        ("version", "a dump does not tell the API server's"),
    ],
    managed_fields: "dump with --show-managed-fields",
};
