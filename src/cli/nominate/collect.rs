//! `kubectl nominate collect`: what `explain` would read, kept in a file for somebody without the cluster.

use super::explain::connect;
use crate::analysis::select::{self, Request, Selection};
use crate::analysis::{access, explain};
use crate::answer::access_report;
use crate::cli::arguments::{ConnectionArgs, LookArgs};
use crate::cli::keeping::{KeepingArgs, code_of_review, review, warn};
use crate::cli::runtime::Runtime;
use crate::cli::selection::{SelectionArgs, not_there, nothing};
use crate::cli::{say, tell};
use crate::env::Env;
use crate::error::{Error, exit};
use crate::model::coverage::State;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::bundle::{self, Heading, Question};
use crate::source::gather::gather;

const EXAMPLES: &str = "
Examples:
  # Collect what the explanation of a Pod rests on, in a file of the current folder
  kubectl nominate collect web-0 -n shop

  # Explain it elsewhere, without the cluster
  kubectl nominate explain web-0 -n shop --from nomination-shop-web-0-20261130T080500Z.tar.zst

  # Collect the Pods of a Deployment, or of all namespaces, into a file of your choice
  kubectl nominate collect deploy/web -n shop -o web.tar.zst
  kubectl nominate collect -A -o all.tar.zst

  # Take names out before anything is written
  kubectl nominate collect web-0 -n shop --redact acme --redact '10\\.\\d+\\.\\d+\\.\\d+'

  # List what would be read, and whether you may
  kubectl nominate collect web-0 -n shop --dry-run

";

/// Collect what an explanation rests on, to explain it without the cluster
///
/// Reads what explain would read and keeps it in one file (a tar, compressed by zstd): of each object only the fields
/// that an explanation needs, never environments, commands, volumes' contents or data. The file is yours alone to read;
/// look into it before you pass it on.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct CollectArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    keeping: KeepingArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    look: LookArgs,
}

pub(super) fn run(args: &CollectArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.look.start_logging();
    let runtime = Runtime::start()?;
    let (live, request) = connect(&args.selection, &args.connection, &runtime, env)?;
    if args.keeping.dry_run {
        let questions = access::questions(&request, false);
        let answer = review(&live, &questions, &runtime, env)?;
        args.look.draw(&access_report::view(&answer), env)?;
        return Ok(code_of_review(&answer));
    }
    args.keeping.check(env)?;

    // Gather.
    let origin = Origin::Live(Box::new(live.taped()));
    let mut world = World::default();
    let origins = std::slice::from_ref(&origin);
    runtime.block_on(gather(&mut world, origins, |world| {
        explain::wants(world, &request)
    }))?;
    let chosen = select::choose(&world, &request);
    let errors: Vec<Error> = chosen
        .missing
        .iter()
        .map(|missing| not_there(missing, &world, &request))
        .collect();
    if chosen.pods.is_empty() && !errors.is_empty() {
        return Ok(tell(&errors, env));
    }

    // Keep.
    let now = world.now().unwrap_or((env.now)());
    let heading = Heading {
        kind: bundle::NOMINATION,
        tool: "kubectl-nominate",
        server: origin.source().name,
        context: request.context.clone(),
        now,
        request: Question {
            selection: request.words(),
            namespace: request.namespace.clone(),
        },
    };
    args.keeping
        .keep(&origin, heading, &name(&request), &runtime, env)?;
    if chosen.pods.is_empty() {
        say(&nothing(&request), env);
    }
    warn(&world, |state| state != State::Complete, env);
    Ok(exit::first([tell(&errors, env)]))
}

/// `nomination-NAMESPACE-NAME`.
fn name(request: &Request) -> String {
    let namespace = request.namespace.as_deref().unwrap_or("all");
    match &request.selection {
        Selection::Named(targets) if targets.len() == 1 => {
            let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
            format!("nomination-{namespace}-{}", names.join("-"))
        }
        _ => format!("nomination-{namespace}"),
    }
}
