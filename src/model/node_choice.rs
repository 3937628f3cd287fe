//! Which nodes a Pod's own words allow: `spec.nodeSelector` and required node affinity.
//!
//! As the scheduler reads them (component-helpers `scheduling/corev1/nodeaffinity/nodeaffinity.go`, 0.35.4 to 0.37.2). Preferences, taints,
//! room and where its volumes are say nothing here: a node that is allowed may still not do.

use std::collections::BTreeMap;

use super::node::Node;
use super::selector::LabelSelector;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeChoice {
    pub(crate) selector: LabelSelector,
    /// One of them has to hold; null where no affinity is required.
    pub(crate) terms: Option<Vec<NodeTerm>>,
}

/// Both hold; one without any requirement allows no node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeTerm {
    pub(crate) labels: LabelSelector,
    /// Of fields of the Node instead, of which there is one: `metadata.name`.
    pub(crate) fields: LabelSelector,
}

impl NodeChoice {
    pub(crate) fn allows(&self, node: &Node) -> bool {
        let is_one = |terms: &Vec<NodeTerm>| terms.iter().any(|term| term.allows(node));
        self.selector.matches(&node.labels) && self.terms.as_ref().is_none_or(is_one)
    }
}

impl NodeTerm {
    fn allows(&self, node: &Node) -> bool {
        if self.labels.is_empty() && self.fields.is_empty() {
            return false;
        }
        let name = ("metadata.name".to_owned(), node.name.clone());
        self.labels.matches(&node.labels) && self.fields.matches(&BTreeMap::from([name]))
    }
}
