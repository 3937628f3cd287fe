//! The must-gather of `oc adm must-gather` and `oc adm inspect` (openshift/oc, pkg/cli/admin/inspect): YAML with managed fields, lists as
//! `<group>/<resource>.yaml` and single objects as `<group>/<resource>/<name>.yaml`.
//!
//! The roots are one below the other's folder, one an image. A single object is a part: the nodes may have been chosen.

use super::{Extent, Layout, Role, folders_of, in_namespace, is_needed, log_of, stem};

const NAMESPACES: &str = "namespaces/";
const OF_CLUSTER: &str = "cluster-scoped-resources/";

pub(super) const LAYOUT: Layout = Layout {
    name: "must_gather",
    words: "an OpenShift must-gather",
    roots: |names| {
        let found = names.iter().flat_map(|name| folders_of(name, 3));
        found
            .filter(|(root, inside)| {
                !root
                    .split_inclusive('/')
                    .any(|part| part == NAMESPACES || part == OF_CLUSTER)
                    && (inside.starts_with(NAMESPACES) || inside.starts_with(OF_CLUSTER))
                    && role(inside).is_some()
            })
            .map(|(root, _)| root.to_owned())
            .collect()
    },
    proof: None,
    role,
    held_by,
    lacks: &[(
        "version",
        "a must-gather tells OpenShift's and not the API server's",
    )],
    managed_fields: "a must-gather keeps them, so that they were stripped later",
};

/// `oc` writes each object of a namespace that it inspects again by itself.
fn held_by(name: &str) -> Option<String> {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        ["namespaces", namespace, "pods", pod, file] if stem(file)? == *pod => {
            Some(format!("namespaces/{namespace}/core/pods.yaml"))
        }
        ["namespaces", namespace, group, resource, object] => {
            stem(object).map(|_| format!("namespaces/{namespace}/{group}/{resource}.yaml"))
        }
        _ => None,
    }
}

fn role(name: &str) -> Option<Role> {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        ["cluster-scoped-resources", "core", list] => match stem(list)? {
            "nodes" => Some(Role::Objects(Extent::Everything)),
            "namespaces" => Some(Role::Namespaces),
            _ => None,
        },
        ["cluster-scoped-resources", "core", "nodes", node] => {
            stem(node).map(|_| Role::Objects(Extent::Part))
        }
        ["namespaces", namespace, "core" | "apps" | "batch", list] => {
            is_needed(stem(list)?).then(|| in_namespace(namespace))
        }
        ["namespaces", _, "core" | "apps" | "batch", resource, object] => {
            (is_needed(resource) && stem(object).is_some()).then_some(Role::Objects(Extent::Part))
        }
        ["namespaces", _, "pods", pod, file] => {
            (stem(file)? == *pod).then_some(Role::Objects(Extent::Part))
        }
        ["namespaces", _, "pods", pod, container, _, "logs", log] => {
            let log = log.strip_suffix(".gz").unwrap_or(log);
            let is_whole = matches!(log, "current.log" | "previous.log");
            log_of(&[pod, container]).filter(|_| is_whole)
        }
        ["audit_logs", "kube-apiserver", log] => {
            log.contains("audit").then_some(Role::Objects(Extent::Part))
        }
        ["timestamp"] => Some(Role::Times),
        _ => None,
    }
}
