//! `kubectl nominate`: a Pod's nomination, its history and its outcome.

mod collect;
mod explain;
mod watch;

use std::process::ExitCode;

use super::version::{self, VersionArgs};
use crate::env::Env;

/// Nominations of Pods to nodes: by whom, when, why, and what became of them
#[derive(Debug, clap::Parser)]
#[command(name = "kubectl-nominate", version, arg_required_else_help = true)]
struct Nominate {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Collect(Box<collect::CollectArgs>),
    Explain(Box<explain::ExplainArgs>),
    Version(VersionArgs),
}

pub(crate) fn main(env: Env) -> ExitCode {
    super::main::<Nominate>(env, "nominate", |nominate, env| match nominate.command {
        Command::Collect(args) => collect::run(&args, env),
        Command::Explain(args) => explain::run(&args, env),
        Command::Version(args) => version::run("nominate", &args, env),
    })
}
