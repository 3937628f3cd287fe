//! The roles that a reader needs for a command, as objects to be applied: nothing here applies them.
//!
//! They are made of the reads that the command may come to make, so that they cannot differ from what is read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::model::access::Right;
use crate::model::grant::Subject;
use crate::model::want::Want;

/// Begins the names of all roles.
const PREFIX: &str = "kube-placement-features";

/// Rules of one place.
type Rules<'r> = BTreeMap<(&'r str, &'r str, Option<&'r str>), BTreeSet<&'static str>>;

/// A role of the cluster, one for each namespace that is read in, and their bindings where somebody is named.
pub(crate) fn roles(command: &str, wants: &[Want], subject: Option<&Subject>) -> Vec<Value> {
    let all = |want: &Want| [want.rights_on_the_way(), want.rights()].concat();
    let rights: BTreeSet<Right> = wants.iter().flat_map(all).collect();
    let mut places: BTreeMap<Option<&str>, Rules<'_>> = BTreeMap::new();
    for right in &rights {
        let key = (right.group, right.resource, right.name.as_deref());
        let rules = places.entry(right.namespace.as_deref()).or_default();
        rules.entry(key).or_default().insert(right.verb);
    }
    let name = format!("{PREFIX}-{command}");
    let mut objects = Vec::new();
    for (namespace, rules) in &places {
        let kind = if namespace.is_some() {
            "Role"
        } else {
            "ClusterRole"
        };
        let description = format!("Lets a reader run kubectl features {command}.");
        let metadata = |description: Option<&str>| {
            let mut metadata = json!({"name": name});
            if let Some(namespace) = namespace {
                metadata["namespace"] = json!(namespace);
            }
            if let Some(text) = description {
                metadata["annotations"] = json!({"kubernetes.io/description": text});
            }
            metadata
        };
        let rules: Vec<Value> = rules.iter().map(rule).collect();
        objects.push(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": metadata(Some(&description)),
            "rules": rules,
        }));
        objects.extend(subject.map(|subject| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": format!("{kind}Binding"),
                "metadata": metadata(None),
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [whom(subject)],
            })
        }));
    }
    objects
}

fn rule(
    ((group, resource, name), verbs): (&(&str, &str, Option<&str>), &BTreeSet<&'static str>),
) -> Value {
    if resource.starts_with('/') {
        return json!({"nonResourceURLs": [resource], "verbs": verbs});
    }
    let mut rule = json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    if let Some(name) = name {
        rule["resourceNames"] = json!([name]);
    }
    rule
}

fn whom(subject: &Subject) -> Value {
    match &subject.namespace {
        Some(namespace) => {
            json!({"kind": subject.kind, "name": subject.name, "namespace": namespace})
        }
        None => {
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": subject.kind, "name": subject.name})
        }
    }
}
