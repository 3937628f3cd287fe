//! What a guard measured at a moment, as `features guard baseline` writes it and later runs read it.
//!
//! The form is a contract: old files stay readable, and what a newer version adds is passed over.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// All that was measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Baseline {
    /// The time of the measurement.
    pub(crate) now: Timestamp,
    pub(crate) readings: Vec<Reading>,
}

/// One number of one condition, and what it is a number of.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reading {
    /// Id of the condition.
    pub(crate) condition: String,
    #[serde(default)]
    pub(crate) of: Of,
    pub(crate) value: f64,
    /// How many it is a number of.
    pub(crate) sample: u64,
    /// What was counted, in a sentence.
    #[serde(default)]
    pub(crate) detail: String,
    /// When the process started that counts it; null of what is not counted up.
    #[serde(default)]
    pub(crate) started_at: Option<Timestamp>,
    /// Of times: how many took no longer than so many microseconds.
    #[serde(default)]
    pub(crate) buckets: BTreeMap<u64, u64>,
}

/// What a number is of; null where it is of all.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Of {
    /// The pool and version of nodes, where it is of nodes.
    pub(crate) nodes: Option<Nodes>,
    /// The pool alone, where it is of Pods that only its nodes may take: those have no version yet.
    pub(crate) pool: Option<String>,
    pub(crate) feature: Option<String>,
    /// The process that counted it.
    pub(crate) component: Option<String>,
}

/// Nodes of a pool and a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Nodes {
    pub(crate) pool: Option<String>,
    pub(crate) version: Option<String>,
}

impl std::fmt::Display for Of {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes = self.nodes.as_ref().map(|nodes| {
            let pool = nodes.pool.as_deref();
            let pool =
                pool.map_or_else(|| "nodes of no pool".to_owned(), |it| format!("pool {it}"));
            let version = nodes.version.as_deref().unwrap_or("of no known version");
            format!("{pool} {version}")
        });
        let pool = self.pool.as_ref().map(|pool| format!("pool {pool}"));
        let parts = nodes
            .into_iter()
            .chain(pool)
            .chain(self.component.clone())
            .chain(self.feature.clone());
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            return formatter.write_str("cluster");
        }
        formatter.write_str(&parts.join(" "))
    }
}

impl Baseline {
    /// The same number of then.
    pub(crate) fn reading(&self, condition: &str, of: &Of) -> Option<&Reading> {
        let mut own = self.readings.iter();
        own.find(|reading| reading.condition == condition && reading.of == *of)
    }

    /// The value of then. Nodes that have another version since are held against their pool as it was.
    pub(crate) fn before(&self, condition: &str, of: &Of) -> Option<f64> {
        let own = || {
            let all = self.readings.iter();
            all.filter(|reading| reading.condition == condition && reading.of.feature == of.feature)
        };
        if let Some(same) = self.reading(condition, of) {
            return Some(same.value);
        }
        let pool = &of.nodes.as_ref()?.pool;
        let of_pool = own().filter(|it| it.of.nodes.as_ref().is_some_and(|it| it.pool == *pool));
        let (sum, count) = of_pool.fold((0.0, 0.0), |(sum, count), reading| {
            #[expect(clippy::cast_precision_loss, reason = "no cluster has so many nodes")]
            let weight = reading.sample as f64;
            (reading.value.mul_add(weight, sum), count + weight)
        });
        (count > 0.0).then(|| sum / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(pool: &str, version: &str, value: f64, sample: u64) -> Reading {
        Reading {
            condition: "c".to_owned(),
            of: of(pool, version),
            value,
            sample,
            ..Reading::default()
        }
    }

    fn of(pool: &str, version: &str) -> Of {
        Of {
            nodes: Some(Nodes {
                pool: Some(pool.to_owned()),
                version: Some(version.to_owned()),
            }),
            ..Of::default()
        }
    }

    #[test]
    fn nodes_of_another_version_are_held_against_their_pool() {
        let baseline = Baseline {
            now: Timestamp::UNIX_EPOCH,
            readings: vec![
                reading("a", "v1", 0.0, 3),
                reading("a", "v2", 1.0, 1),
                reading("b", "v1", 1.0, 9),
            ],
        };
        assert_eq!(baseline.before("c", &of("a", "v2")), Some(1.0));
        assert_eq!(baseline.before("c", &of("a", "v3")), Some(0.25));
        assert_eq!(baseline.before("c", &of("x", "v1")), None);
        assert_eq!(baseline.before("d", &of("a", "v1")), None);
        assert_eq!(baseline.before("c", &Of::default()), None);
    }

    #[test]
    fn what_a_newer_version_adds_is_passed_over() {
        let text = r#"{"kind":"GuardBaseline","now":"2026-01-01T00:00:00Z","new":1,
            "readings":[{"condition":"c","value":2,"sample":5,"new":null}]}"#;
        let read: Baseline = serde_json::from_str(text).expect("it is one");
        assert_eq!(read.before("c", &Of::default()), Some(2.0));
    }
}
