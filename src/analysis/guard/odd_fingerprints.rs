//! Condition: kubelets of a pool and version that do not run with the gates of most of them.
//!
//! In the middle of a roll-out that is as it should be, so it is a warning.

use std::collections::BTreeMap;

use super::{Condition, Facts, How, Limit, Readings, share};
use crate::analysis::gates::kubelet;
use crate::answer::gate_skew::Severity;
use crate::model::baseline::Of;

pub(super) const CONDITION: Condition = Condition {
    id: "odd-fingerprints",
    title: "kubelets of a pool run with the same gates",
    severity: Severity::Warning,
    metric: "odd_fingerprint_share",
    limit: Limit::Above(0.0),
    number: None,
    how: How::Level,
    advice: "see what differs: kubectl features skew --component kubelet",
    read,
};

fn read(facts: &Facts<'_>) -> Readings {
    let mut readings = facts.of_nodes();
    let fingerprints = kubelet::fingerprints(&facts.gates);
    for (nodes, members) in facts.groups() {
        let of = Of {
            nodes: Some(nodes),
            ..Of::default()
        };
        let mut alike: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut seen = 0;
        for judged in &members {
            let name = &judged.node.name;
            if let Some(fingerprint) = fingerprints.get(name.as_str()) {
                seen += 1;
                alike.entry(fingerprint).or_default().push(name.clone());
            }
        }
        if seen < members.len() {
            let lost = members.len() - seen;
            let all = members.len();
            let text = format!("{of}: gates of {lost} of {all} kubelets are not known");
            readings.unknown.push(text);
        }
        let most = alike.values().map(Vec::len).max().unwrap_or_default();
        // Of two groups as large the first one is the rule.
        let rule = alike.values().position(|group| group.len() == most);
        let groups = alike.into_values().enumerate();
        let odd = groups.filter(|(at, _)| Some(*at) != rule);
        let odd: Vec<String> = odd.flat_map(|(_, group)| group).collect();
        if seen > 0 {
            readings
                .seen
                .push(share(of, "kubelets run with other gates", &odd, seen));
        }
    }
    readings
}
