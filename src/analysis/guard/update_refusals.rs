//! Condition: updates of Pods that an API server refused because of declared features since the baseline, by API server.
//!
//! Its metric knows no node. A server that started since counts from nothing.

use super::{Condition, How, Limit, Seen, counted};
use crate::answer::gate_skew::Severity;
use crate::model::component::Number;

pub(super) const CONDITION: Condition = Condition {
    id: "update-refusals",
    title: "API servers refused no update for declared features",
    severity: Severity::Error,
    metric: "refused_updates",
    limit: Limit::Most(0.0),
    number: Some(Number::RefusedUpdates),
    how: How::Increase,
    advice: "see which updates, and of whom, in the audit log: NodeDeclaredFeatureValidator",
    read: |facts| {
        counted::readings(facts, Number::RefusedUpdates, |counts| {
            let updates = counts.refused_updates.unwrap_or_default();
            let detail = format!("{updates} updates were refused since it started");
            Seen::count(updates, detail)
        })
    },
};
