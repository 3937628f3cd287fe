//! Thresholds in a file: what a team agreed on, beside the roll-out that it is for. Flags count before it.
//!
//! ```yaml
//! thresholds:
//! - condition: missing-declarations
//!   limit: +5%
//!   minSample: 3
//! ```
//!
//! It must not read files.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::{CONDITIONS, Limit};
use crate::analysis::lookup::nearest_of;
use crate::model::listing;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    thresholds: Vec<Threshold>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Threshold {
    condition: Id,
    #[serde(deserialize_with = "limit")]
    limit: Limit,
    #[serde(default)]
    min_sample: Option<std::num::NonZeroU64>,
}

/// Of a condition that there is.
#[derive(Debug)]
struct Id(&'static str);

/// What is agreed on, by condition.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Thresholds {
    /// Each counts.
    pub(crate) limits: BTreeMap<&'static str, Vec<Limit>>,
    /// A number of less than so many shows nothing.
    pub(crate) least: BTreeMap<&'static str, u64>,
}

/// The id of a condition, or what there is instead.
pub(crate) fn id(text: &str) -> Result<&'static str, String> {
    let ids = || CONDITIONS.iter().map(|it| it.id);
    if let Some(id) = ids().find(|id| *id == text) {
        return Ok(id);
    }
    Err(if let Some(near) = nearest_of(ids(), text) {
        format!("there is no condition {text:?}; did you mean {near}?")
    } else {
        let all: Vec<&str> = ids().collect();
        format!(
            "there is no condition {text:?}; there are {}",
            all.join(", ")
        )
    })
}

/// Reads the text of a file; what is wrong with it says where.
pub(crate) fn parse(text: &str) -> Result<Thresholds, String> {
    let file: File = listing::read(text)?;
    let mut read = Thresholds::default();
    for entry in file.thresholds {
        let limits = read.limits.entry(entry.condition.0).or_default();
        limits.push(entry.limit);
        if let Some(least) = entry.min_sample {
            let known = read.least.entry(entry.condition.0).or_default();
            *known = least.get().max(*known);
        }
    }
    Ok(read)
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let id = id(&String::deserialize(from)?);
        id.map(Self).map_err(D::Error::custom)
    }
}

fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Limit, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
thresholds:
- condition: missing-declarations
  limit: +5%
  minSample: 3
- condition: pending-pods
  limit: 10
- condition: attempt-latency
  limit: 2x
- condition: attempt-latency
  limit: 0.5
";

    #[test]
    fn a_file_is_read() {
        let read = parse(FILE).expect("it is one");
        let due = [
            ("attempt-latency", vec![Limit::Times(2.0), Limit::Most(0.5)]),
            ("missing-declarations", vec![Limit::Above(0.05)]),
            ("pending-pods", vec![Limit::Most(10.0)]),
        ];
        assert_eq!(read.limits, BTreeMap::from(due));
        assert_eq!(read.least, BTreeMap::from([("missing-declarations", 3)]));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (change, into, due) in [
            (
                "missing-declarations",
                "missing-declaration",
                "did you mean missing-declarations?",
            ),
            ("pending-pods", "x", "there are attempt-latency, "),
            ("+5%", "many", "line 3 column 10"),
            ("+5%", "many", "is no threshold"),
            ("minSample: 3", "minSample: 0", "line 4 column 3"),
            ("minSample: 3", "sample: 3", "minSample"),
            ("  limit: 10\n", "", "limit"),
            ("thresholds:", "thresholds: [", "line "),
        ] {
            let error = parse(&FILE.replace(change, into)).expect_err(into);
            assert!(error.contains(due), "{error:?} lacks {due:?}");
        }
    }
}
