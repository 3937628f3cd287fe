//! Which feature gates really run where, by what is known of each process.
//!
//! Observed beats configured beats derived from the version; what none of them tells is unknown. A contradiction between them
//! is shown and never settled. What a gate is comes from the catalogue, what a cluster runs never does.

pub(crate) mod apis;
mod contradiction;
mod difference;
mod effective;
mod fingerprint;
pub(crate) mod hazard;
pub(crate) mod intention;
pub(crate) mod kubelet;
pub(crate) mod mending;
pub(crate) mod minors;
pub(crate) mod pool;
mod process;
mod replicas;
pub(crate) mod skew;
pub(crate) mod snapshot;
pub(crate) mod start;
pub(crate) mod version_skew;
pub(crate) mod wants;
