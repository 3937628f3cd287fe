//! The pool of a node: by the label that its provider puts on it.

use std::collections::BTreeMap;

/// Labels that name a group of nodes that are made alike, in the order in which they count.
const LABELS: &[&str] = &[
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "doks.digitalocean.com/node-pool",
];

/// Begins the labels of a node's role, whose name follows.
const ROLE: &str = "node-role.kubernetes.io/";

/// The pool of a node by its labels; a label of the user's choice comes first. Null where none tells.
pub(crate) fn of(labels: &BTreeMap<String, String>, chosen: Option<&str>) -> Option<String> {
    if let Some(chosen) = chosen {
        return labels.get(chosen).cloned();
    }
    let by_provider = LABELS.iter().find_map(|label| labels.get(*label));
    by_provider
        .filter(|pool| !pool.is_empty())
        .cloned()
        .or_else(|| {
            let role = labels.keys().find_map(|label| label.strip_prefix(ROLE))?;
            Some(role.to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_label_comes_first() {
        let labels = [
            ("eks.amazonaws.com/nodegroup", "blue"),
            ("node-role.kubernetes.io/worker", ""),
            ("team", "a"),
        ];
        let labels: BTreeMap<String, String> = labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        assert_eq!(of(&labels, None).as_deref(), Some("blue"));
        assert_eq!(of(&labels, Some("team")).as_deref(), Some("a"));
        assert_eq!(of(&labels, Some("zone")), None);
        let role = BTreeMap::from([("node-role.kubernetes.io/worker".to_owned(), String::new())]);
        assert_eq!(of(&role, None).as_deref(), Some("worker"));
        assert_eq!(of(&BTreeMap::new(), None), None);
    }
}
