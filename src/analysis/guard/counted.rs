//! What processes count, for the conditions that read it: each process by itself, for each counts since its own start.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Facts, Readings, Seen};
use crate::model::baseline::Of;
use crate::model::component::{Counts, Document, Number, Told};
use crate::model::coverage::State;
use crate::model::want::Want;

/// A number of each process that counts it and whose metrics were read, or that Prometheus has. Of metrics, a series without a line
/// has counted nothing.
pub(super) fn readings(
    facts: &Facts<'_>,
    number: Number,
    seen: impl Fn(&Counts) -> Seen,
) -> Readings {
    let mut readings = Readings::default();
    let kind = number.kind();
    let want = Want::Count(number);
    let of_prometheus = facts.world.state_of(&want);
    for (name, told) in facts.world.statements() {
        if name.kind != kind {
            continue;
        }
        let mut is_read = false;
        let mut counts = Counts::default();
        let mut started: Option<Timestamp> = None;
        for (document, told) in told.iter().map(|told| &told.value) {
            match told {
                Told::Runs(_) if *document == Document::Metrics => is_read = true,
                Told::Counts(told) => counts.take(told),
                // Another document has another word for it, a second away.
                Told::Started(at) if *document == Document::Metrics => {
                    started = started.max(Some(*at));
                }
                _ => {}
            }
        }
        let is_told = counts.has(number);
        if of_prometheus.map_or(is_read, |_| is_told) {
            readings.seen.push(Seen {
                of: Of {
                    component: Some(name.to_string()),
                    ..Of::default()
                },
                started,
                ..seen(&counts)
            });
        }
    }
    if of_prometheus.is_some_and(|state| state != State::Complete) {
        let subject = want.subject();
        let mut lines = facts.world.coverage();
        let line = lines.find(|line| line.subject == subject);
        let why = line.and_then(|line| line.detail.clone());
        let why = why.unwrap_or_else(|| format!("{subject} were not all read"));
        readings.unknown.push(why);
    } else if readings.seen.is_empty() {
        let word = kind.word();
        let text = format!("metrics of no {word} were read; reach one with --component {word}=…");
        readings.unknown.push(text);
    }
    readings
}

/// Of what was counted between two moments, the time in seconds that 99 of 100 did not take longer than; as Prometheus works it out
/// (`histogram_quantile`). Null where nothing was counted.
#[expect(clippy::cast_precision_loss, reason = "no process counts so far")]
pub(super) fn slowest(buckets: &BTreeMap<u64, u64>) -> Option<f64> {
    let all = *buckets.values().max()?;
    let rank = all as f64 * 0.99;
    let (mut below, mut lower) = (0_u64, 0_u64);
    for (bound, count) in buckets {
        if *count > below && *count as f64 >= rank {
            let seconds = |micros: u64| micros as f64 / 1e6;
            if *bound == u64::MAX {
                return Some(seconds(lower));
            }
            let part = (rank - below as f64) / (*count - below) as f64;
            return Some(part.mul_add(seconds(*bound - lower), seconds(lower)));
        }
        (below, lower) = (*count, *bound);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_found_in_their_bucket() {
        let of = |buckets: &[(u64, u64)]| slowest(&buckets.iter().copied().collect());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1_000, 0), (u64::MAX, 0)]), None);
        let found = of(&[(1_000_000, 0), (2_000_000, 100), (u64::MAX, 100)]).expect("some");
        assert!((found - 1.99).abs() < 1e-9, "{found}");
        assert_eq!(of(&[(1_000_000, 1), (u64::MAX, 9)]), Some(1.0));
    }
}
