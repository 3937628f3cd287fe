//! Who may do what in a cluster, by RBAC: roles of the cluster and their bindings. Shapes of rbac.authorization.k8s.io/v1 (1.37).
//!
//! Roles of a namespace, and bindings in one, reach no Node: Nodes belong to no namespace.

use std::collections::BTreeMap;

use super::selector::LabelSelector;

/// One statement of RBAC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grant {
    Role(ClusterRole),
    Binding(ClusterRoleBinding),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClusterRole {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) rules: Vec<Rule>,
    /// The roles whose rules are its own, too: a controller copies them.
    pub(crate) aggregates: Vec<LabelSelector>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    /// Empty is any.
    pub(crate) names: Vec<String>,
}

impl Rule {
    /// Whether it grants a verb on a resource of the core group, and on which objects, empty for any. As the server decides it:
    /// `*` is every resource with its subresources and `*/status` every status, but `nodes/*` is nothing (kubernetes 1.37
    /// `pkg/apis/rbac/v1/evaluation_helpers.go`). A creation has no name yet, so a rule with names grants none.
    pub(crate) fn grants(&self, verb: &str, resource: &str) -> Option<&[String]> {
        let has = |list: &[String], word: &str| list.iter().any(|it| it == word);
        let of_any = resource
            .split_once('/')
            .map(|(_, part)| format!("*/{part}"));
        let is_granted = (has(&self.verbs, "*") || has(&self.verbs, verb))
            && (has(&self.groups, "*") || has(&self.groups, ""))
            && (has(&self.resources, "*")
                || has(&self.resources, resource)
                || of_any.is_some_and(|any| has(&self.resources, &any)))
            && (verb != "create" || self.names.is_empty());
        is_granted.then_some(self.names.as_slice())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClusterRoleBinding {
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) subjects: Vec<Subject>,
}

/// Whom a binding names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub(crate) kind: String,
    /// Of a service account.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_count_as_the_server_counts_them() {
        let rule = |verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
            Rule {
                verbs: owned(verbs),
                groups: owned(groups),
                resources: owned(resources),
                names: owned(names),
            }
        };
        for resources in [["*"], ["nodes/status"], ["*/status"]] {
            let rule = rule(&["patch"], &[""], &resources, &[]);
            assert_eq!(rule.grants("patch", "nodes/status"), Some(&[][..]));
            assert_eq!(rule.grants("update", "nodes/status"), None);
        }
        for resources in [["nodes"], ["nodes/*"], ["*/*"], ["pods/status"]] {
            let rule = rule(&["*"], &["*"], &resources, &[]);
            assert_eq!(rule.grants("patch", "nodes/status"), None, "{resources:?}");
        }
        let other_group = rule(&["*"], &["apps"], &["*"], &[]);
        assert_eq!(other_group.grants("patch", "nodes/status"), None);
        let named = rule(&["*"], &[""], &["*"], &["n1"]);
        assert_eq!(
            named.grants("patch", "nodes/status"),
            Some(&["n1".to_owned()][..])
        );
        assert_eq!(named.grants("create", "nodes"), None);
    }
}
