//! Real control planes for tests: unmodified upstream components of one Kubernetes minor, started as plain processes
//! on one Linux machine, and scenarios that bring Pods into known situations.
//!
//! - [`Binaries`] builds the components of a minor, once, into a cache outside the source tree.
//! - [`Cluster`] starts them in namespaces of their own, so that nothing is left behind, however the test ends.
//! - [`Client`] speaks plain JSON with the API server; it waits by watching, never by sleeping.
//! - [`scenario`] drives a cluster and stops at named moments.
//! - [`standstill`] keeps a scenario at such a moment.
//! - [`fake_server`] is no cluster at all: it answers from a script and keeps what it was asked.
//! - [`crowd`] fills a cluster with copies of what it holds.
//! - [`network`] gives a thread, and the cluster that it starts, addresses of its own.
//! - [`proxy`] stands between a client and a server and counts who comes through, or leads to several servers in turn.
//! - [`prometheus`] starts a real Prometheus that scrapes a cluster.
//! - [`wrong_binder`] binds for a scheduler as none may.
//! - [`copies`] makes a large cluster's answer of a small one's.
//! - [`collect`] writes down what the servers answer at such a moment; [`normalise`] takes the machine out of it.
//! - [`gates`] lists the feature gates that a minor's modules register; [`proposals`] reads which components a KEP names, [`readers`]
//!   which ones read a gate that no KEP gives components.
//! - [`requirements`] asks upstream's library of declared features what Pods require.
//! - [`layouts`] lays it out as the tools do that people collect support data with.
//!
//! Every program that starts a cluster calls [`supervise_if_asked`] first thing in `main`.
//!
//! Nothing here may judge a nomination or a gate: that is the product's work, and a test must not share its mistakes.

mod access;
mod availability;
mod binaries;
mod certificates;
mod client;
mod cluster;
pub mod collect;
mod component;
pub mod copies;
pub mod crowd;
pub mod fake_server;
mod hold;
mod keys;
pub mod layouts;
pub mod network;
pub mod normalise;
pub mod prometheus;
pub mod proposals;
pub mod proxy;
mod readers;
mod registered;
mod requirements;
pub mod scenario;
pub mod standstill;
mod supervisor;
pub mod wrong_binder;

pub use availability::{Unavailable, available};
pub use binaries::{Binaries, BuildError, minors};
pub use certificates::{Authority, Fault, Identity};
pub use client::{Client, ClientError};
pub use cluster::{Cluster, ClusterError, ClusterOptions};
pub use component::Configured;
pub use readers::readers;
pub use registered::{apis, gates};
pub use requirements::requirements;
pub use supervisor::supervise_if_asked;
