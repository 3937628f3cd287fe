//! Two kubectl plugins, `kubectl nominate` and `kubectl features`, in one crate.
//!
//! Data walks one way:
//!
//! ```text
//! origin ─► document ─► fact ─► World ─► analysis ─► answer ─► blocks ─► table, wide
//!                                                       └────────────► json, yaml
//! ```
//!
//! - `source`: origins and decoders; beside `apply` the only place that names kube or is async.
//! - `apply`: the only writer; it carries out what an analysis planned.
//! - `catalogue`: the feature gates of each minor, as upstream registers them.
//! - `model`: plain data: Pod, Node, Event, Want, World, coverage.
//! - `analysis`: plain functions of World and "now"; `verdict/` has a rule a file, `requirement/` a declared feature a file.
//! - `check`: a rule of `features preflight` a file.
//! - `answer`: a kind a file, the JSON contract and its view as blocks (`block`).
//! - `render`: a format a file.
//! - `cli`: a subcommand a file: parse, gather, analyse, show.
//! - `internals`: decoders for fuzz targets, behind a cargo feature; no public API.
//! - `env`, `error`, `signal`: the outside world as a value; the one table of exit codes; SIGINT and SIGTERM.
//!
//! Where to add what: CONTRIBUTING.md. A test in `tests/it/layers.rs` fails on an arrow that points back.

mod analysis;
mod answer;
mod apply;
mod block;
mod catalogue;
mod check;
mod cli;
mod env;
mod error;
#[cfg(feature = "internals")]
pub mod internals;
mod model;
#[cfg(test)]
mod registry;
mod render;
mod signal;
mod source;

use std::process::ExitCode;

/// Runs `kubectl nominate` with the process's arguments and streams.
pub fn nominate() -> ExitCode {
    cli::nominate::main(env::Env::of_process())
}

/// Runs `kubectl features` with the process's arguments and streams.
pub fn features() -> ExitCode {
    cli::features::main(env::Env::of_process())
}
