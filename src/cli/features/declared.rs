//! `kubectl features declared`: what nodes declare, and whether it can be believed.

use jiff::SignedDuration;

use super::fail_on::FailOn;
use super::observation::{ObservationArgs, Observed, observed, take};
use crate::analysis::access;
use crate::analysis::declared::{self, Request, wants, writers};
use crate::answer::access_report;
use crate::answer::declared_features;
use crate::answer::feature_writers;
use crate::answer::gate_skew::Severity;
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs};
use crate::cli::keeping::{code_of_review, review};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::Error;
use crate::model::world::World;
use crate::source::Origin;

const EXAMPLES: &str = "
Examples:
  # See what each pool declares, and whether it can be believed
  kubectl features declared

  # List the nodes whose list is left over from another version or gate
  kubectl features declared --stale

  # List the nodes of a pool that lack a feature
  kubectl features declared --missing RestartAllContainersOnContainerExits --pool blue

  # Take a kubelet that was not heard of for a minute for one that is gone
  kubectl features declared --max-age 1m -o wide

  # See who but kubelets may write such a list
  kubectl features declared --writers

  # Do the same without the cluster
  kubectl features declared --from gates-20261130T080500Z.tar.zst

";

/// List what nodes declare, and say whether it can be believed
///
/// Reads the Nodes and their Leases, and of kubelets that version and sign of life do not decide (1.35 and 1.36) what they run
/// with: 50 of each pool and version, or as many as --sample says. Each list is Fresh, Stale or Unknown, with what that rests on;
/// an Unknown one ends with 5.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct DeclaredArgs {
    /// Only nodes whose list is stale
    #[arg(long)]
    stale: bool,
    /// Only nodes that lack this feature
    #[arg(long, value_name = "FEATURE")]
    missing: Option<String>,
    /// Count a kubelet as unknown whose last sign of life is older, with a unit (40s, 5m)
    #[arg(long, value_name = "DURATION", value_parser = max_age)]
    max_age: Option<SignedDuration>,
    /// List who but kubelets may write what nodes declare, by the roles of the cluster and their bindings
    #[arg(long, conflicts_with_all = ["stale", "missing", "max_age"])]
    writers: bool,
    /// Exit with 3 if a list is stale, or with 4 if there is anything else that asks for attention
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "never")]
    fail_on: FailOn,
    /// Only list what would be read, why, and whether you may; asks the server, reads nothing
    #[arg(long, conflicts_with_all = ["from", "now"])]
    show_access: bool,
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

fn max_age(text: &str) -> Result<SignedDuration, String> {
    let age: SignedDuration = text
        .parse()
        .map_err(|_| "give a time with a unit, e.g. 40s, 5m".to_owned())?;
    if age.is_negative() {
        return Err("it must not be negative".to_owned());
    }
    Ok(age)
}

pub(super) fn run(args: &DeclaredArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let runtime = Runtime::start()?;
    let request = Request {
        observation: args.observation.request(),
        stale: args.stale,
        missing: args.missing.clone(),
        max_age: args.max_age,
    };
    if args.show_access {
        let live = runtime.block_on(args.observation.connect(&args.connection, env))??;
        let possible = if args.writers {
            writers::wants().into_iter().collect()
        } else {
            wants::possible(&request)
        };
        let questions = access::of_wants(&possible, false);
        let answer = review(&live, &questions, &runtime, env)?;
        args.output.show(&answer, access_report::view, env)?;
        return Ok(code_of_review(&answer));
    }

    // Gather.
    let observed = observe(args, &request, &runtime, env)?;

    // Analyse.
    if args.writers {
        let answer = writers::writers(&observed.world, observed.now, (env.now)());
        let is_odd = answer.writers.iter().any(|writer| !writer.expected);
        let worst = is_odd.then_some(Severity::Warning);
        args.output.show(&answer, feature_writers::view, env)?;
        let code = args.fail_on.code(worst, answer.is_incomplete);
        return Ok(observed.code(code));
    }
    let answer = declared::declared(&observed.world, &request, observed.now, (env.now)());
    let code = observed.code(args.fail_on.code(answer.worst(), answer.is_incomplete));
    // Of thousands of nodes the answer alone is much.
    drop(observed);

    // Show.
    args.output.show(&answer, declared_features::view, env)?;
    Ok(code)
}

fn observe(
    args: &DeclaredArgs,
    request: &Request,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<Observed, Error> {
    if !args.input.from.is_empty() {
        return take(&args.input.from, args.input.now, env);
    }
    let live = runtime.block_on(args.observation.connect(&args.connection, env))??;
    let origins = [Origin::Live(Box::new(live))];
    let (now, start) = (args.input.now, (env.now)());
    let wants = |world: &World| {
        if args.writers {
            return writers::wants();
        }
        let now = now.or(world.now()).unwrap_or(start);
        wants::wants(world, request, now)
    };
    observed(&origins, wants, now, runtime, env)
}
