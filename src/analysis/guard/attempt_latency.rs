//! Condition: how long schedulers' attempts take (`scheduler_scheduling_attempt_duration_seconds`, 99 of 100), by scheduler.

use super::{Condition, How, Limit, Seen, counted};
use crate::answer::gate_skew::Severity;
use crate::model::component::Number;

pub(super) const CONDITION: Condition = Condition {
    id: "attempt-latency",
    title: "attempts of schedulers take no longer than before",
    severity: Severity::Error,
    metric: "attempt_latency_p99_seconds",
    limit: Limit::Times(2.0),
    number: Some(Number::Attempts),
    how: How::Quantile,
    advice: "see what the scheduler waits for: its plugins' durations, extenders, the API server",
    read: |facts| {
        counted::readings(facts, Number::Attempts, |counts| {
            let attempts = counts.attempts.values().max().copied();
            Seen {
                value: counted::slowest(&counts.attempts).unwrap_or_default(),
                sample: attempts.unwrap_or_default(),
                detail: "attempts since it started".to_owned(),
                buckets: counts.attempts.clone(),
                ..Seen::default()
            }
        })
    },
};
