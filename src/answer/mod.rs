//! One typed struct for each kind of answer: the JSON contract, and its view as blocks.
//!
//! An answer holds results; it must not compute them. Every key is always there.

pub(crate) mod access_report;
pub(crate) mod check_report;
pub(crate) mod declared_features;
pub(crate) mod feature_explanation;
pub(crate) mod feature_explanation_list;
pub(crate) mod feature_writers;
pub(crate) mod gate_history;
pub(crate) mod gate_skew;
pub(crate) mod gate_snapshot;
pub(crate) mod guard_baseline;
pub(crate) mod nomination_change;
pub(crate) mod nomination_explanation;
pub(crate) mod nomination_explanation_list;
pub(crate) mod parts;

use jiff::Timestamp;
use serde::Serialize;

use crate::model::coverage::{Coverage, Source};
use crate::model::world::World;

/// `apiVersion` of every document that we print.
pub(crate) const API_VERSION: &str = "kube-placement.dev/v1alpha1";

/// Keys that every answer carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) generated_at: Timestamp,
    /// The time that deadlines were judged by.
    pub(crate) now: Timestamp,
    pub(crate) sources: Vec<Source>,
    pub(crate) coverage: Vec<Coverage>,
}

impl Header {
    /// The header of an answer about all that one World holds.
    pub(crate) fn of(
        kind: &'static str,
        world: &World,
        now: Timestamp,
        generated_at: Timestamp,
    ) -> Self {
        Self {
            api_version: API_VERSION,
            kind,
            generated_at,
            now,
            sources: world.sources().cloned().collect(),
            coverage: world.coverage().cloned().collect(),
        }
    }
}
