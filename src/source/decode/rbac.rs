//! Decodes rbac.authorization.k8s.io/v1 `ClusterRole` and `ClusterRoleBinding`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::list;
use super::workload::{Selector, selector};
use crate::model::fact::Content;
use crate::model::grant::{ClusterRole, ClusterRoleBinding, Grant, Rule, Subject};

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Role {
    metadata: Metadata,
    #[serde(default, deserialize_with = "list")]
    rules: Vec<RuleObject>,
    #[serde(default)]
    aggregation_rule: Option<Aggregation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Aggregation {
    #[serde(default, deserialize_with = "list")]
    cluster_role_selectors: Vec<Selector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleObject {
    #[serde(default, deserialize_with = "list")]
    verbs: Vec<String>,
    #[serde(default, deserialize_with = "list")]
    api_groups: Vec<String>,
    #[serde(default, deserialize_with = "list")]
    resources: Vec<String>,
    #[serde(default, deserialize_with = "list")]
    resource_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    metadata: Metadata,
    role_ref: Reference,
    #[serde(default, deserialize_with = "list")]
    subjects: Vec<SubjectObject>,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct SubjectObject {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    name: String,
}

pub(super) fn cluster_role(json: &str) -> Result<Content, serde_json::Error> {
    let role: Role = serde_json::from_str(json)?;
    let rules = role.rules.into_iter().map(|rule| Rule {
        verbs: rule.verbs,
        groups: rule.api_groups,
        resources: rule.resources,
        names: rule.resource_names,
    });
    let aggregates = role.aggregation_rule.into_iter();
    let aggregates = aggregates.flat_map(|it| it.cluster_role_selectors);
    Ok(Content::Grant(Box::new(Grant::Role(ClusterRole {
        name: role.metadata.name,
        labels: role.metadata.labels.unwrap_or_default(),
        rules: rules.collect(),
        aggregates: aggregates.map(selector).collect(),
    }))))
}

pub(super) fn cluster_role_binding(json: &str) -> Result<Content, serde_json::Error> {
    let binding: Binding = serde_json::from_str(json)?;
    let subjects = binding.subjects.into_iter().map(|subject| Subject {
        kind: subject.kind,
        namespace: subject.namespace.filter(|name| !name.is_empty()),
        name: subject.name,
    });
    Ok(Content::Grant(Box::new(Grant::Binding(
        ClusterRoleBinding {
            name: binding.metadata.name,
            role: binding.role_ref.name,
            subjects: subjects.collect(),
        },
    ))))
}
