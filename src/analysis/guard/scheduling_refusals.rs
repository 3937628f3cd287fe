//! Condition: Pods that a scheduler finds no node for because of declared features (`scheduler_unschedulable_pods`), by scheduler.

use super::{Condition, How, Limit, Seen, counted};
use crate::answer::gate_skew::Severity;
use crate::model::component::Number;

pub(super) const CONDITION: Condition = Condition {
    id: "scheduling-refusals",
    title: "schedulers refuse no more Pods for declared features than before",
    severity: Severity::Error,
    metric: "unschedulable_pods",
    limit: Limit::Above(0.0),
    number: Some(Number::UnschedulablePods),
    how: How::Level,
    advice: "see which Pods: kubectl features explain -A",
    read: |facts| {
        counted::readings(facts, Number::UnschedulablePods, |counts| {
            let pods = counts.unschedulable.unwrap_or_default();
            let detail = format!("{pods} Pods are refused by NodeDeclaredFeatures");
            Seen::count(pods, detail)
        })
    },
};
