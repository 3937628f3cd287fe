//! Condition: nodes that do not declare a feature which their version has (KEP-5328), by pool, version and feature.

use std::collections::BTreeSet;

use super::{Condition, Facts, How, Limit, Readings, share};
use crate::analysis::requirement;
use crate::answer::gate_skew::Severity;
use crate::model::baseline::Of;
use crate::model::version::Release;

pub(super) const CONDITION: Condition = Condition {
    id: "missing-declarations",
    title: "nodes declare what nodes of their pool declared before",
    severity: Severity::Error,
    metric: "missing_declaration_share",
    limit: Limit::Above(0.1),
    number: None,
    how: How::Level,
    advice: "stop the roll-out in this pool; see what its kubelets run with: kubectl features skew",
    read,
};

/// A node that left its Lease behind still has its list, so every node counts.
fn read(facts: &Facts<'_>) -> Readings {
    let mut readings = facts.of_nodes();
    for (group, members) in facts.groups() {
        let release = group.version.as_deref().and_then(Release::parse);
        let Some(release) = release else {
            readings.unknown.push(format!(
                "{} nodes tell no version of their kubelets",
                members.len()
            ));
            continue;
        };
        let known = requirement::registered(release.minor);
        let names: BTreeSet<&str> = known
            .filter(|feature| !feature.is_past(release))
            .map(|feature| feature.name)
            .collect();
        for name in names {
            let without = members.iter().filter(|it| !it.has(name));
            let without: Vec<String> = without.map(|it| it.node.name.clone()).collect();
            let of = Of {
                nodes: Some(group.clone()),
                feature: Some(name.to_owned()),
                ..Of::default()
            };
            let what = format!("nodes do not declare {name}");
            readings
                .seen
                .push(share(of, &what, &without, members.len()));
        }
    }
    readings
}
