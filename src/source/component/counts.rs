//! What a component counts of declared features and of scheduling, in the lines of its `/metrics` text.
//!
//! Series as 1.35.4 to 1.37.2 register them (`pkg/scheduler/metrics/metrics.go`, apiserver `pkg/admission/metrics/metrics.go`). Lines that
//! differ in labels which do not matter here are added up. It must not look at other lines.

use super::metrics::{label, labels_of};
use crate::model::component::Counts;

const UNSCHEDULABLE: &[u8] = b"scheduler_unschedulable_pods{";
const REFUSED: &[u8] = b"apiserver_admission_controller_admission_duration_seconds_count{";
const ATTEMPTS: &[u8] = b"scheduler_scheduling_attempt_duration_seconds_bucket{";

/// The scheduler's plugin, and the API server's, that look at declared features.
pub(crate) const PLUGIN: &str = "NodeDeclaredFeatures";
pub(crate) const VALIDATOR: &str = "NodeDeclaredFeatureValidator";

/// Adds a line, if it is one of them.
pub(super) fn take(counts: &mut Counts, line: &[u8]) {
    if let Some(rest) = line.strip_prefix(UNSCHEDULABLE) {
        add(rest, &[("plugin", PLUGIN)], &mut counts.unschedulable);
    } else if let Some(rest) = line.strip_prefix(REFUSED) {
        let due = [("name", VALIDATOR), ("rejected", "true")];
        add(rest, &due, &mut counts.refused_updates);
    } else if let Some(rest) = line.strip_prefix(ATTEMPTS) {
        let bound = labels_of(rest).and_then(|labels| label(labels, "le"));
        if let (Some(bound), Some(count)) = (bound.and_then(|it| micros(&it)), value(rest)) {
            let sum = counts.attempts.entry(bound).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}

fn add(rest: &[u8], due: &[(&str, &str)], sum: &mut Option<u64>) {
    let Some(labels) = labels_of(rest) else {
        return;
    };
    let is_it = |(name, value): &(&str, &str)| label(labels, name).as_deref() == Some(value);
    if let (true, Some(value)) = (due.iter().all(is_it), value(rest)) {
        *sum = Some(sum.unwrap_or_default().saturating_add(value));
    }
}

/// A count, as Prometheus writes numbers: `3`, `1.2e+06`.
fn value(rest: &[u8]) -> Option<u64> {
    let (_, value) = std::str::from_utf8(rest).ok()?.rsplit_once('}')?;
    whole(value.split_whitespace().next()?.parse().ok()?)
}

/// An upper bound of seconds, in microseconds; none is the largest number.
pub(crate) fn micros(text: &str) -> Option<u64> {
    if text == "+Inf" {
        return Some(u64::MAX);
    }
    let seconds: f64 = text.parse().ok()?;
    whole((seconds * 1e6).round())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was looked at before"
)]
pub(crate) fn whole(number: f64) -> Option<u64> {
    (0.0..9e15).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn series_are_added_up_over_other_labels() {
        let mut counts = Counts::default();
        for line in [
            "scheduler_unschedulable_pods{plugin=\"NodeDeclaredFeatures\",profile=\"a\"} 2",
            "scheduler_unschedulable_pods{plugin=\"NodeDeclaredFeatures\",profile=\"b\"} 1",
            "scheduler_unschedulable_pods{plugin=\"NodeAffinity\",profile=\"a\"} 40",
            "apiserver_admission_controller_admission_duration_seconds_count{name=\"NodeDeclaredFeatureValidator\",operation=\"UPDATE\",rejected=\"true\",type=\"validate\"} 1.2e+06",
            "apiserver_admission_controller_admission_duration_seconds_count{name=\"NodeDeclaredFeatureValidator\",operation=\"UPDATE\",rejected=\"false\",type=\"validate\"} 7",
            "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"a\",result=\"scheduled\",le=\"0.001\"} 3",
            "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"a\",result=\"unschedulable\",le=\"0.001\"} 1",
            "scheduler_scheduling_attempt_duration_seconds_bucket{profile=\"a\",result=\"scheduled\",le=\"+Inf\"} 5",
            "scheduler_unschedulable_pods{plugin=\"NodeDeclaredFeatures\",profile=\"c\"} NaN",
            "scheduler_unschedulable_pods{plugin=\"NodeDeclaredFeatures\",profile=\"c\"} -1",
            "scheduler_unschedulable_pods{plugin=\"NodeDeclaredFeatures",
        ] {
            take(&mut counts, line.as_bytes());
        }
        let due = Counts {
            unschedulable: Some(3),
            refused_updates: Some(1_200_000),
            attempts: BTreeMap::from([(1_000, 4), (u64::MAX, 5)]),
        };
        assert_eq!(counts, due);
    }
}
