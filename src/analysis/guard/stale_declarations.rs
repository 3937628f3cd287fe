//! Condition: nodes whose list of declared features is left over from another gate, version or kubelet, by pool and version.

use super::{Condition, Facts, How, Limit, Readings, share};
use crate::analysis::declared::Judged;
use crate::answer::declared_features::Freshness;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::baseline::Of;

pub(super) const CONDITION: Condition = Condition {
    id: "stale-declarations",
    title: "lists of declared features can be believed",
    severity: Severity::Error,
    metric: "stale_declaration_share",
    limit: Limit::Above(0.1),
    number: None,
    how: How::Level,
    advice: "see which lists, and what takes them away: kubectl features declared --stale",
    read,
};

/// What cannot be judged is no part of the share, and unknown.
fn read(facts: &Facts<'_>) -> Readings {
    let mut readings = facts.of_nodes();
    let is = |judged: &Judged<'_>, freshness| judged.judgement.freshness == freshness;
    for (nodes, members) in facts.groups() {
        let names = |freshness| -> Vec<String> {
            let of = members.iter().filter(|it| is(it, freshness));
            of.map(|it| it.node.name.clone()).collect()
        };
        let (stale, unknown) = (names(Freshness::Stale), names(Freshness::Unknown));
        let of = Of {
            nodes: Some(nodes),
            ..Of::default()
        };
        if !unknown.is_empty() {
            let count = unknown.len();
            let names = some(&unknown);
            let text = format!("{of}: whether {count} lists are stale is not known: {names}");
            readings.unknown.push(text);
        }
        let judged = members.len() - unknown.len();
        if judged > 0 {
            let seen = share(of, "lists are stale", &stale, judged);
            readings.seen.push(seen);
        }
    }
    readings
}
