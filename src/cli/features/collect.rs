//! `kubectl features collect`: what `skew` and `declared` would read, kept in a file for somebody without the cluster.

use std::collections::BTreeSet;

use super::observation::{ObservationArgs, read};
use crate::analysis::access;
use crate::analysis::gates::skew::Request;
use crate::analysis::gates::wants;
use crate::answer::access_report;
use crate::cli::arguments::{ConnectionArgs, LookArgs};
use crate::cli::keeping::{KeepingArgs, code_of_review, review, warn};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, exit};
use crate::model::coverage::State;
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::bundle::{self, Heading, Question};

const EXAMPLES: &str = "
Examples:
  # Collect what tells of gates, in a file of the current folder
  kubectl features collect

  # Compare it elsewhere, without the cluster
  kubectl features skew --from gates-20261130T080500Z.tar.zst

  # List what would be read, and whether you may
  kubectl features collect --dry-run

";

/// What the question of a bundle of gates is called.
const SELECTION: &str = "gates";

/// Collect what a comparison of gates rests on, to compare without the cluster
///
/// Reads what skew and declared would read and keeps it in one file (a tar, compressed by zstd): of each document only the gates, versions
/// and start times that it tells, of each object only the fields that are used. The file is yours alone to read; look into it
/// before you pass it on.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct CollectArgs {
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    keeping: KeepingArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    look: LookArgs,
}

/// What `skew` reads, and what `declared` reads beside it.
fn wanted(world: &World, request: &Request) -> BTreeSet<Want> {
    let mut wants = wants::wants(world, request);
    wants.insert(Want::NodeLeases);
    wants
}

pub(super) fn run(args: &CollectArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.look.start_logging();
    let runtime = Runtime::start()?;
    let request = args.observation.request();
    let live = runtime.block_on(args.observation.connect(&args.connection, env))??;
    if args.keeping.dry_run {
        let mut possible = wants::possible(&request);
        possible.push(Want::NodeLeases);
        let questions = access::of_wants(&possible, false);
        let answer = review(&live, &questions, &runtime, env)?;
        args.look.draw(&access_report::view(&answer), env)?;
        return Ok(code_of_review(&answer));
    }
    args.keeping.check(env)?;
    let context = live.context().map(str::to_owned);

    // Gather.
    let origin = Origin::Live(Box::new(live.taped()));
    let mut world = World::default();
    let origins = std::slice::from_ref(&origin);
    read(
        &mut world,
        origins,
        |world| wanted(world, &request),
        &runtime,
        env,
    )?;

    // Keep.
    let heading = Heading {
        kind: bundle::GATES,
        tool: "kubectl-features",
        server: origin.source().name,
        context,
        now: world.now().unwrap_or((env.now)()),
        request: Question {
            selection: SELECTION.to_owned(),
            namespace: None,
        },
    };
    args.keeping
        .keep(&origin, heading, SELECTION, &runtime, env)?;
    // What a component does not serve, or nobody configured, is no loss.
    let is_loss = |state| !matches!(state, State::Complete | State::Absent);
    warn(&world, is_loss, env);
    Ok(exit::DONE)
}
