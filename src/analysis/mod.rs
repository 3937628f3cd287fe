//! Plain functions of World and "now": what happened, and what it means.
//!
//! No client, no clock, no environment, nothing async. The order of facts never matters here.

pub(crate) mod access;
mod account;
mod attempts;
pub(crate) mod conformance;
mod deadline;
pub(crate) mod declared;
pub(crate) mod explain;
pub(crate) mod fulfilment;
pub(crate) mod gates;
pub(crate) mod guard;
mod index;
pub(crate) mod lookup;
pub(crate) mod message;
mod nominations;
pub(crate) mod preempted_note;
pub(crate) mod probe;
#[cfg(test)]
mod properties;
pub(crate) mod reader;
pub(crate) mod requirement;
mod room;
pub(crate) mod select;
mod story;
mod timeline;
mod tiny_pod;
mod verdict;
mod victims;
