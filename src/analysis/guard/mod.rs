//! The stop conditions of a staged roll-out (`features guard`): a condition a file, and one list of them.
//!
//! A condition reads numbers from what was observed; here they are held against thresholds and against those of a baseline. What
//! too few tell is no breach, and what could not be seen is unknown. It must not look at a clock.

mod attempt_latency;
mod counted;
mod kubelet_refusals;
mod limit;
mod missing_declarations;
mod odd_fingerprints;
mod pending_pods;
mod scheduling_refusals;
mod stale_declarations;
pub(crate) mod thresholds;
mod update_refusals;
pub(crate) mod wants;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::declared::{self, Judged};
use super::gates::kubelet::{self, KubeletGates};
use crate::answer::check_report::{Check, Finding, Measurement, Status};
use crate::answer::gate_skew::Severity;
use crate::answer::nomination_explanation::Evidence;
use crate::answer::parts::some;
use crate::model::baseline::{Baseline, Nodes, Of, Reading};
use crate::model::component::Number;
use crate::model::coverage::State;
use crate::model::want::Want;
use crate::model::world::World;
pub(crate) use limit::Limit;

/// A number of less than so many shows nothing.
const LEAST: u64 = 5;

/// Two words for the start of one process are not further apart.
const SAME_START: SignedDuration = SignedDuration::from_secs(2);

pub(crate) struct Condition {
    /// Kebab case, the name of its file; stable for ever.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) severity: Severity,
    /// The name of the number, which ends with its unit.
    pub(crate) metric: &'static str,
    /// Where nobody says another one.
    pub(crate) limit: Limit,
    /// What processes count, where it is that.
    number: Option<Number>,
    how: How,
    advice: &'static str,
    read: fn(&Facts<'_>) -> Readings,
}

/// How a number of now becomes one since the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// It is as it is.
    Level,
    /// It counts up since the start of its process.
    Increase,
    /// The slowest of what was counted since.
    Quantile,
}

/// Every condition, by its id.
pub(crate) const CONDITIONS: &[Condition] = &[
    attempt_latency::CONDITION,
    kubelet_refusals::CONDITION,
    missing_declarations::CONDITION,
    odd_fingerprints::CONDITION,
    pending_pods::CONDITION,
    scheduling_refusals::CONDITION,
    stale_declarations::CONDITION,
    update_refusals::CONDITION,
];

/// What conditions read.
pub(crate) struct Facts<'w> {
    world: &'w World,
    /// When what is counted of objects begins: the moment of the baseline.
    since: Timestamp,
    gates: BTreeMap<String, KubeletGates>,
    /// The pool of every node, also of those that are not looked at.
    pools: BTreeMap<&'w str, Option<String>>,
    nodes: Vec<Judged<'w>>,
}

impl<'w> Facts<'w> {
    pub(crate) fn new(
        world: &'w World,
        request: &declared::Request,
        now: Timestamp,
        since: Timestamp,
    ) -> Self {
        let label = request.observation.pool_label.as_deref();
        let gates = kubelet::all(world, label);
        let nodes = world.nodes().map(|node| &node.value);
        let pools = nodes.map(|node| (node.name.as_str(), declared::pool_of(node, &gates, label)));
        Self {
            world,
            since,
            pools: pools.collect(),
            gates,
            nodes: declared::judge(world, request, now),
        }
    }

    /// What is said before any number of nodes.
    fn of_nodes(&self) -> Readings {
        let state = self.world.state_of(&Want::Nodes);
        let is_lost = state.is_some_and(|state| state != State::Complete);
        let text = is_lost.then(|| "nodes were not all read".to_owned());
        Readings {
            unknown: text.into_iter().collect(),
            ..Readings::default()
        }
    }

    /// Nodes by pool and version.
    fn groups(&self) -> BTreeMap<Nodes, Vec<&Judged<'w>>> {
        let mut groups: BTreeMap<Nodes, Vec<&Judged<'w>>> = BTreeMap::new();
        for judged in &self.nodes {
            groups.entry(of_node(judged)).or_default().push(judged);
        }
        groups
    }
}

fn of_node(judged: &Judged<'_>) -> Nodes {
    Nodes {
        pool: judged.pool.clone(),
        version: judged.node.kubelet_version.clone(),
    }
}

/// What a condition reads.
#[derive(Debug, Default)]
struct Readings {
    seen: Vec<Seen>,
    /// What it could not see, and why.
    unknown: Vec<String>,
}

/// A number; the condition that read it is the caller's to say.
#[derive(Debug, Default)]
struct Seen {
    of: Of,
    value: f64,
    sample: u64,
    detail: String,
    /// When its process started, where it counts.
    started: Option<Timestamp>,
    buckets: BTreeMap<u64, u64>,
}

impl Seen {
    /// So many of something.
    #[expect(clippy::cast_precision_loss, reason = "nothing here counts so far")]
    fn count(count: u64, detail: String) -> Self {
        Self {
            value: count as f64,
            sample: count,
            detail,
            ..Self::default()
        }
    }

    /// So many Pods, and what they are.
    fn pods(of: Of, what: &str, names: &[String]) -> Self {
        let mut detail = format!("{} Pods {what}", names.len());
        if !names.is_empty() {
            detail = format!("{detail}: {}", some(names));
        }
        Self {
            of,
            ..Self::count(names.len() as u64, detail)
        }
    }

    /// Whether its process started since. What Prometheus has of the moment of a baseline may be of the process before.
    fn is_new(&self, then: Option<&Reading>, at: Timestamp) -> bool {
        let before = then.and_then(|then| then.started_at);
        // A start is told to the second, and not by all in the same way.
        let latest = before.map_or(at, |before| {
            at.min(before.checked_add(SAME_START).unwrap_or(before))
        });
        self.started.is_some_and(|started| started > latest)
    }

    /// The count since the baseline; null where the baseline does not have it. A process that started since has counted from nothing.
    fn increase(self, then: Option<&Reading>, at: Timestamp) -> Option<Self> {
        let is_new = self.is_new(then, at);
        let before = match then {
            _ if is_new => 0,
            Some(then) if then.sample > self.sample => 0,
            then => then?.sample,
        };
        let count = self.sample - before;
        let detail = format!("{}, {before} of them before the baseline", self.detail);
        Some(Self {
            of: self.of,
            ..Self::count(count, detail)
        })
    }

    /// The slowest since the baseline, by the buckets that both have; null where there was none.
    fn since(self, then: Option<&Reading>, at: Timestamp) -> Option<Self> {
        let is_new = self.is_new(then, at);
        let then = then.filter(|then| !is_new && then.sample <= self.sample);
        let before = |bound: &u64| then.and_then(|then| then.buckets.get(bound)).copied();
        let buckets: BTreeMap<u64, u64> = self
            .buckets
            .iter()
            .map(|(bound, count)| {
                (
                    *bound,
                    count.saturating_sub(before(bound).unwrap_or_default()),
                )
            })
            .collect();
        let sample = buckets.values().max().copied()?;
        Some(Self {
            value: counted::slowest(&buckets)?,
            sample,
            detail: format!("{sample} attempts since the baseline, or its own start since"),
            buckets,
            ..self
        })
    }
}

/// How many of how many, as a share of them.
#[expect(clippy::cast_precision_loss, reason = "no cluster has so many nodes")]
fn share(of: Of, what: &str, names: &[String], all: usize) -> Seen {
    let mut detail = format!("{} of {all} {what}", names.len());
    if !names.is_empty() {
        detail = format!("{detail}: {}", some(names));
    }
    Seen {
        of,
        value: names.len() as f64 / all.max(1) as f64,
        sample: all as u64,
        detail,
        ..Seen::default()
    }
}

/// What the numbers are held against.
#[derive(Debug)]
pub(crate) struct Rules<'b> {
    pub(crate) baseline: &'b Baseline,
    /// Thresholds by condition; each counts.
    pub(crate) limits: BTreeMap<&'static str, Vec<Limit>>,
    /// A number of less than so many shows nothing, by condition, or [`LEAST`].
    pub(crate) least: BTreeMap<&'static str, u64>,
}

/// All that the conditions read, and why not, as far as they could not.
pub(crate) fn readings(facts: &Facts<'_>) -> (Vec<Reading>, BTreeMap<String, String>) {
    let mut all = Vec::new();
    let mut unknown = BTreeMap::new();
    for condition in CONDITIONS {
        let read = (condition.read)(facts);
        all.extend(read.seen.into_iter().map(|seen| Reading {
            condition: condition.id.to_owned(),
            of: seen.of,
            value: seen.value,
            sample: seen.sample,
            detail: seen.detail,
            started_at: seen.started,
            buckets: seen.buckets,
        }));
        if !read.unknown.is_empty() {
            unknown.insert(condition.id.to_owned(), read.unknown.join("; "));
        }
    }
    (all, unknown)
}

/// What becomes of a number.
enum Outcome {
    Within,
    Breach,
    /// Past the threshold, of too few.
    Unproven,
    /// Nothing to hold it against.
    New,
}

impl Condition {
    pub(crate) fn check(&self, facts: &Facts<'_>, rules: &Rules<'_>) -> Check {
        let Readings { seen, mut unknown } = (self.read)(facts);
        unknown.extend(self.gone(facts, rules.baseline));
        let own = [self.limit];
        let limits = rules.limits.get(self.id).map_or(&own[..], Vec::as_slice);
        let least = rules.least.get(self.id).copied().unwrap_or(LEAST);
        let mut breaches = Vec::new();
        let mut passed = Vec::new();
        for seen in seen {
            let subject = seen.of.to_string();
            let then = rules.baseline.reading(self.id, &seen.of);
            let at = rules.baseline.now;
            let (seen, before) = match self.how {
                How::Level => {
                    let before = rules.baseline.before(self.id, &seen.of);
                    (Some(seen), before)
                }
                How::Increase => {
                    let seen = seen.increase(then, at);
                    if seen.is_none() {
                        unknown.push(format!("{subject}: the baseline has no such number"));
                    }
                    (seen, Some(0.0))
                }
                How::Quantile => {
                    let before = then.filter(|then| then.sample > 0);
                    (seen.since(then, at), before.map(|then| then.value))
                }
            };
            // Where nothing happened there is nothing to measure.
            let Some(seen) = seen else {
                continue;
            };
            let given = limits.iter().filter_map(|limit| limit.given(before));
            let threshold = given.min_by(f64::total_cmp);
            let is_few = seen.sample < least;
            let outcome = match threshold {
                None => Outcome::New,
                // A sum of shares is not exact.
                Some(most) if seen.value <= most + 1e-9 => Outcome::Within,
                Some(_) if is_few => Outcome::Unproven,
                Some(_) => Outcome::Breach,
            };
            let detail = seen.detail.clone();
            match outcome {
                Outcome::Within => passed.push(self.finding(seen, before, threshold)),
                Outcome::Breach => breaches.push(self.finding(seen, before, threshold)),
                Outcome::Unproven => unknown.push(format!(
                    "{subject}: {detail}; past the threshold, and fewer than {least} (--min-sample) show nothing"
                )),
                Outcome::New => {
                    unknown.push(format!("{subject}: {detail}; the baseline has no such number"));
                }
            }
        }
        let (status, findings, reason) = if !breaches.is_empty() {
            // Where somebody accepts the breach, what is not known is left of it.
            let why = (!unknown.is_empty()).then(|| reason(&unknown));
            (Status::Fail, breaches, why)
        } else if !unknown.is_empty() {
            (Status::Unknown, Vec::new(), Some(reason(&unknown)))
        } else if passed.is_empty() {
            let why = "there is nothing to measure".to_owned();
            (Status::Skipped, Vec::new(), Some(why))
        } else {
            (Status::Pass, passed, None)
        };
        Check {
            id: self.id,
            status,
            severity: self.severity,
            title: self.title.to_owned(),
            findings,
            reason,
        }
    }

    /// Pools of the baseline that are not there to be read.
    fn gone(&self, facts: &Facts<'_>, baseline: &Baseline) -> Vec<String> {
        let here: BTreeSet<&Option<String>> = facts.nodes.iter().map(|it| &it.pool).collect();
        let own = baseline
            .readings
            .iter()
            .filter(|it| it.condition == self.id);
        let own = own.filter(|it| it.of.nodes.is_some() || it.of.pool.is_some());
        let pools = own.map(|it| it.of.nodes.as_ref().map_or(&it.of.pool, |it| &it.pool));
        let gone: BTreeSet<&Option<String>> = pools.filter(|pool| !here.contains(pool)).collect();
        let word = |pool: &Option<String>| {
            let pool = pool.as_deref().unwrap_or("without a name");
            format!("pool {pool} of the baseline has no node that is looked at")
        };
        gone.into_iter().map(word).collect()
    }

    fn finding(&self, seen: Seen, before: Option<f64>, threshold: Option<f64>) -> Finding {
        let number = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), short);
        Finding {
            subject: seen.of.to_string(),
            message: format!(
                "{} is {}, the threshold {}, the baseline {}",
                self.metric,
                short(seen.value),
                number(threshold),
                number(before)
            ),
            evidence: vec![Evidence {
                source: "observation".to_owned(),
                at: None,
                text: seen.detail,
            }],
            advice: vec![self.advice.to_owned()],
            measurement: Some(Measurement {
                metric: self.metric,
                baseline: before,
                value: seen.value,
                threshold,
                sample: Some(seen.sample),
            }),
            ..Finding::default()
        }
    }
}

/// Three digits after the point, and none that say nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

/// Some of them, and how many more there are.
fn reason(all: &[String]) -> String {
    match all {
        [one] => one.clone(),
        [one, rest @ ..] => format!("{one}; and {} more", rest.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files(
            "analysis/guard",
            &["counted", "mod", "limit", "thresholds", "wants"],
        );
        let ids = CONDITIONS.iter().map(|it| it.id.replace('-', "_"));
        let ids: Vec<String> = ids.collect();
        assert_eq!(files, registry::names(ids.iter().map(String::as_str)));
        assert!(CONDITIONS.is_sorted_by_key(|it| it.id));
    }

    #[test]
    fn the_documentation_names_every_condition() {
        let text = include_str!("../../../docs/guard.md");
        for condition in CONDITIONS {
            let row = format!("| `{}` | `{}` |", condition.id, condition.limit);
            assert!(text.contains(&row), "{row}");
        }
    }

    fn world() -> World {
        World::default()
    }

    /// A condition that reads these numbers.
    fn condition(read: fn(&Facts<'_>) -> Readings) -> Condition {
        Condition {
            id: "c",
            title: "",
            severity: Severity::Error,
            metric: "c_share",
            limit: Limit::Above(0.1),
            number: None,
            how: How::Level,
            advice: "",
            read,
        }
    }

    fn check(read: fn(&Facts<'_>) -> Readings, limits: &[Limit]) -> Check {
        let world = world();
        let facts = Facts::new(
            &world,
            &declared::Request::default(),
            Timestamp::UNIX_EPOCH,
            Timestamp::UNIX_EPOCH,
        );
        let baseline = Baseline {
            now: Timestamp::UNIX_EPOCH,
            readings: vec![Reading {
                condition: "c".to_owned(),
                value: 0.2,
                sample: 9,
                ..Reading::default()
            }],
        };
        let limits = match limits {
            [] => BTreeMap::new(),
            some => BTreeMap::from([("c", some.to_vec())]),
        };
        let rules = Rules {
            baseline: &baseline,
            limits,
            least: BTreeMap::new(),
        };
        condition(read).check(&facts, &rules)
    }

    fn one(feature: Option<&str>, value: f64, sample: u64) -> Readings {
        let of = Of {
            feature: feature.map(str::to_owned),
            ..Of::default()
        };
        let detail = String::new();
        Readings {
            seen: vec![Seen {
                of,
                value,
                sample,
                detail,
                ..Seen::default()
            }],
            unknown: Vec::new(),
        }
    }

    #[test]
    fn a_number_is_held_against_the_baseline_and_few_show_nothing() {
        let status = |read, limits: &[Limit]| check(read, limits).status;
        assert_eq!(status(|_| one(None, 0.3, 10), &[]), Status::Pass);
        assert_eq!(status(|_| one(None, 0.4, 10), &[]), Status::Fail);
        assert_eq!(status(|_| one(None, 0.4, 3), &[]), Status::Unknown);
        assert_eq!(status(|_| one(None, 0.3, 3), &[]), Status::Pass);
        assert_eq!(status(|_| Readings::default(), &[]), Status::Skipped);
        // The strictest of several counts, and one that needs no baseline does without.
        let both = [Limit::Times(3.0), Limit::Most(0.35)];
        assert_eq!(status(|_| one(None, 0.4, 10), &both), Status::Fail);
        assert_eq!(status(|_| one(None, 0.35, 10), &both), Status::Pass);
        assert_eq!(status(|_| one(Some("new"), 0.0, 10), &[]), Status::Unknown);
        assert_eq!(status(|_| one(Some("new"), 0.5, 10), &both), Status::Fail);
    }

    #[test]
    fn a_breach_counts_before_what_is_not_known() {
        let unsure = |_: &Facts<'_>| Readings {
            unknown: vec!["denied".to_owned()],
            ..one(None, 0.4, 10)
        };
        let breach = check(unsure, &[]);
        assert_eq!(
            (breach.status, breach.reason.as_deref()),
            (Status::Fail, Some("denied"))
        );
        let quiet = check(unsure, &[Limit::Most(1.0)]);
        assert_eq!(
            (quiet.status, quiet.reason.as_deref()),
            (Status::Unknown, Some("denied"))
        );
    }

    #[test]
    fn what_counts_up_counts_since_the_baseline() {
        let at = Timestamp::UNIX_EPOCH;
        let counted = |count, started: i64| Seen {
            started: Timestamp::from_second(started).ok(),
            ..Seen::count(count, String::new())
        };
        let then = Reading {
            sample: 4,
            ..Reading::default()
        };
        let increase = |seen: Seen, then| seen.increase(then, at).map(|it| it.sample);
        assert_eq!(increase(counted(6, -9), Some(&then)), Some(2));
        // It started again since: in time, or by a count that went down.
        assert_eq!(increase(counted(6, 9), Some(&then)), Some(6));
        assert_eq!(increase(counted(3, -9), Some(&then)), Some(3));
        // It started before the baseline, which had the number of the process before.
        let of_before = Reading {
            started_at: Timestamp::from_second(-60).ok(),
            ..then.clone()
        };
        assert_eq!(increase(counted(6, -9), Some(&of_before)), Some(6));
        assert_eq!(increase(counted(6, -59), Some(&of_before)), Some(2));
        assert_eq!(increase(counted(6, 9), None), Some(6));
        assert_eq!(increase(counted(6, -9), None), None);
    }

    #[test]
    fn latency_is_that_of_attempts_since_the_baseline() {
        let at = Timestamp::UNIX_EPOCH;
        let of = |fast, all| Seen {
            sample: all,
            buckets: BTreeMap::from([(1_000_000, fast), (2_000_000, all), (u64::MAX, all)]),
            ..Seen::default()
        };
        let then = Reading {
            sample: 100,
            buckets: BTreeMap::from([(1_000_000, 100), (2_000_000, 100), (u64::MAX, 100)]),
            ..Reading::default()
        };
        // Of all most were fast; of those since then none was.
        let seen = of(100, 110).since(Some(&then), at).expect("some attempts");
        assert_eq!(seen.sample, 10);
        assert!(seen.value > 1.9, "{seen:?}");
        assert!(of(100, 100).since(Some(&then), at).is_none());
    }

    #[test]
    fn a_breach_tells_its_numbers() {
        let check = check(|_| one(None, 0.4, 10), &[]);
        let [finding] = check.findings.as_slice() else {
            panic!("one finding: {check:?}");
        };
        let measured = finding.measurement.as_ref().expect("a number");
        assert_eq!((measured.baseline, measured.sample), (Some(0.2), Some(10)));
        let due = "c_share is 0.4, the threshold 0.3, the baseline 0.2";
        assert_eq!(finding.message, due);
    }
}
