//! Labels of nodes that look like declared features and are none.
//!
//! The scheduler's plugin, the API server's admission and kubelets read `status.declaredFeatures` and nothing else (kubernetes 1.37
//! `pkg/scheduler/framework/plugins/nodedeclaredfeatures`). A label may still be what somebody selects by: it is only pointed out.

use std::collections::BTreeMap;

use crate::analysis::requirement::FEATURES;
use crate::answer::declared_features::Pretence;
use crate::model::node::Node;

/// Labels of Node Feature Discovery, hundreds on a node: told of as one.
const DISCOVERED: &str = "feature.node.kubernetes.io/";

/// Letters and digits alone, so that no spelling hides a name.
fn bare(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// What a label looks like; null for an ordinary one.
fn of(key: &str, names: &[(&'static str, String)]) -> Option<(String, &'static str)> {
    if key.starts_with(DISCOVERED) {
        let detail = "Node Feature Discovery's: hardware and system, not what a kubelet declares";
        return Some((format!("{DISCOVERED}*"), detail));
    }
    let key_bare = bare(key);
    let is_named = names.iter().any(|(_, name)| key_bare.contains(name));
    let detail = if is_named {
        "it has the name of a declared feature, and is none"
    } else if key_bare.contains("declaredfeature") {
        "it calls itself a declared feature, and is none"
    } else {
        return None;
    };
    Some((key.to_owned(), detail))
}

/// All of them, each with how many nodes have it.
pub(super) fn all<'n>(nodes: impl Iterator<Item = &'n Node>) -> Vec<Pretence> {
    let names = FEATURES.iter().map(|it| (it.name, bare(it.name)));
    let names: Vec<(&'static str, String)> = names.collect();
    let mut found: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
    for node in nodes {
        let of_node = node.labels.keys().filter_map(|key| of(key, &names));
        let of_node: std::collections::BTreeSet<_> = of_node.collect();
        for one in of_node {
            *found.entry(one).or_default() += 1;
        }
    }
    found
        .into_iter()
        .map(|((label, detail), nodes)| Pretence {
            label,
            nodes,
            detail,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_one_is_pointed_out() {
        let names: Vec<(&'static str, String)> =
            FEATURES.iter().map(|it| (it.name, bare(it.name))).collect();
        for key in [
            "feature.node.kubernetes.io/cpu-cpuid.AVX",
            "example.com/restart-all-containers-on-container-exits",
            "ExtendWebSocketsToKubelet",
            "node.example.com/declared-features",
        ] {
            assert!(of(key, &names).is_some(), "{key}");
        }
        for key in ["kubernetes.io/os", "feature.example.com/a", "pool", ""] {
            assert!(of(key, &names).is_none(), "{key}");
        }
    }
}
