//! `kubectl features`: which feature gates really run, what Nodes declare, what Pods need.

mod collect;
mod conformance;
mod declared;
mod explain;
mod fail_on;
mod guard;
mod lookup;
mod observation;
mod preflight;
mod probe;
mod prometheus;
mod rbac;
mod skew;
mod snapshot;
mod suppressions;
mod trying;

use std::process::ExitCode;

use super::version::{self, VersionArgs};
use crate::env::Env;

/// Feature gates, declared features and upgrades, judged by what was observed
#[derive(Debug, clap::Parser)]
#[command(name = "kubectl-features", version, arg_required_else_help = true)]
struct Features {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Collect(Box<collect::CollectArgs>),
    Conformance(Box<conformance::ConformanceArgs>),
    Declared(Box<declared::DeclaredArgs>),
    Explain(Box<explain::ExplainArgs>),
    Guard(Box<guard::GuardArgs>),
    Lookup(Box<lookup::LookupArgs>),
    Preflight(Box<preflight::PreflightArgs>),
    Probe(Box<probe::ProbeArgs>),
    Rbac(Box<rbac::RbacArgs>),
    Skew(Box<skew::SkewArgs>),
    Snapshot(Box<snapshot::SnapshotArgs>),
    Version(VersionArgs),
}

pub(crate) fn main(env: Env) -> ExitCode {
    super::main::<Features>(env, "features", |features, env| match features.command {
        Command::Collect(args) => collect::run(&args, env),
        Command::Conformance(args) => conformance::run(&args, env),
        Command::Declared(args) => declared::run(&args, env),
        Command::Explain(args) => explain::run(&args, env),
        Command::Guard(args) => guard::run(&args, env),
        Command::Lookup(args) => lookup::run(&args, env),
        Command::Preflight(args) => preflight::run(&args, env),
        Command::Probe(args) => probe::run(&args, env),
        Command::Rbac(args) => rbac::run(&args, env),
        Command::Skew(args) => skew::run(&args, env),
        Command::Snapshot(args) => snapshot::run(&args, env),
        Command::Version(args) => version::run("features", &args, env),
    })
}
