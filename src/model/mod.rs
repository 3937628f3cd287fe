//! Plain data that every layer shares: what was seen, where, and how completely.
//!
//! Nothing here reads, judges or prints. Names follow the Kubernetes API (v1, 1.37).

pub(crate) mod access;
pub(crate) mod baseline;
pub(crate) mod change;
pub(crate) mod claim;
pub(crate) mod component;
pub(crate) mod coverage;
pub(crate) mod event;
pub(crate) mod fact;
pub(crate) mod grant;
pub(crate) mod listing;
pub(crate) mod needs;
pub(crate) mod node;
pub(crate) mod node_choice;
pub(crate) mod pod;
pub(crate) mod quantity;
pub(crate) mod record;
pub(crate) mod replica;
pub(crate) mod scheduler_line;
pub(crate) mod selector;
pub(crate) mod version;
pub(crate) mod want;
pub(crate) mod workload;
pub(crate) mod world;
pub(crate) mod write;
pub(crate) mod written;
