//! `kubectl features skew`: which gates really run where, and what differs.

use regex::Regex;

use super::fail_on::FailOn;
use super::observation::{ObservationArgs, Observed, observe, observe_context, take};
use crate::analysis::gates::skew::{self, Request};
use crate::answer::gate_skew;
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs};
use crate::cli::runtime::Runtime;
use crate::cli::tell;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::source::offline::Place;

const EXAMPLES: &str = "
Examples:
  # Compare the gates of API servers, schedulers and kubelets
  kubectl features skew

  # Show where one gate is on, and what makes it so
  kubectl features skew --gate InPlacePodVerticalScaling

  # Compare a second scheduler, too, which is reached through its Pod
  kubectl features skew --component kube-scheduler=pod:batch/batch-scheduler-0

  # Compare what was saved before
  kubectl features snapshot -o json > before.json
  kubectl features skew --from before.json

  # See what an upgrade changed, and how two clusters differ
  kubectl features skew --against before.json
  kubectl features skew --context blue --context green

";

/// Compare the feature gates that API servers, schedulers and kubelets really run
///
/// Reads the gates of each process, groups what is alike, and names what differs, why, and whether a component uses it. Each
/// value says how it is known; what could not be seen is unknown and ends with 5.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct SkewArgs {
    /// Show this gate, alike or not; may be repeated
    #[arg(long, value_name = "GATE")]
    gate: Vec<String>,
    /// Show also what differs by version alone, or where no component uses it
    #[arg(long)]
    all: bool,
    /// Only gates that somebody set
    #[arg(long)]
    only_set: bool,
    /// Exit with 4 if there are warnings, too
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "error")]
    fail_on: FailOn,
    /// Compare with these files: a snapshot, a bundle, documents; may be repeated
    #[arg(long, value_name = "PATH")]
    against: Vec<Place>,
    /// Compare all clusters of the kubeconfig
    #[arg(long, conflicts_with_all = ["from", "against", "context"])]
    all_contexts: bool,
    /// Compare the clusters whose context matches this regular expression
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["from", "against", "context", "all_contexts"])]
    context_regex: Option<Regex>,
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &SkewArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let runtime = Runtime::start()?;
    let mut request = args.observation.request();
    request.gates = args.gate.iter().cloned().collect();
    request.all = args.all;
    request.only_set = args.only_set;

    // Gather.
    let mut errors = Vec::new();
    let sides = sides(args, &request, &runtime, env, &mut errors)?;
    if sides.is_empty() {
        return Ok(tell(&errors, env));
    }

    // Analyse.
    let interrupted = sides.iter().find_map(|(_, side)| side.interrupted);
    let sides: Vec<skew::Side<'_>> = sides.iter().map(|(label, side)| side.side(label)).collect();
    let answer = skew::skew(&sides, &request, (env.now)());

    // Show.
    args.output.show(&answer, gate_skew::view, env)?;
    let code = exit::first([
        args.fail_on.code(answer.worst(), answer.is_incomplete),
        tell(&errors, env),
    ]);
    Ok(interrupted.unwrap_or(code))
}

/// What is compared: one cluster in itself, two moments, or several clusters. A cluster that fails does not lose the others.
fn sides(
    args: &SkewArgs,
    request: &Request,
    runtime: &Runtime,
    env: &mut Env,
    errors: &mut Vec<Error>,
) -> Result<Vec<(String, Observed)>, Error> {
    let contexts = contexts(args, env)?;
    if contexts.len() > 1 {
        let mut sides = Vec::new();
        for context in contexts {
            let (observation, connection) = (&args.observation, &args.connection);
            match observe_context(observation, connection, &context, request, runtime, env) {
                Ok(observed) => {
                    let is_interrupted = observed.interrupted.is_some();
                    sides.push((context, observed));
                    if is_interrupted {
                        break;
                    }
                }
                Err(error) if matches!(error.kind, Kind::Interrupted(_)) => return Err(error),
                Err(error) => errors.push(error.of(&context)),
            }
        }
        return Ok(sides);
    }
    let (observation, connection) = (&args.observation, &args.connection);
    let one = observe(observation, connection, &args.input, request, runtime, env)?;
    if args.against.is_empty() {
        return Ok(vec![(String::new(), one)]);
    }
    let other = take(&args.against, args.input.now, env)?;
    let label = |from: &[Place], otherwise: &str| {
        let name = from.first().and_then(|place| place.path.file_name());
        name.map_or_else(
            || otherwise.to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    };
    let (mut first, mut second) = (
        label(&args.input.from, "now"),
        label(&args.against, "against"),
    );
    if first == second {
        (first, second) = (format!("from/{first}"), format!("against/{second}"));
    }
    Ok(vec![(first, one), (second, other)])
}

/// The contexts that are compared; at most one is no comparison.
fn contexts(args: &SkewArgs, env: &Env) -> Result<Vec<String>, Error> {
    if !args.all_contexts && args.context_regex.is_none() {
        return Ok(args.connection.context.clone());
    }
    let mut known = args.connection.contexts(env)?;
    if let Some(pattern) = &args.context_regex {
        known.retain(|name| pattern.is_match(name));
    }
    if known.len() < 2 {
        let sentence = format!(
            "{} contexts are meant; two are needed to compare",
            known.len()
        );
        return Err(Error::new(Kind::Usage, sentence)
            .hint("list the contexts with: kubectl config get-contexts"));
    }
    Ok(known)
}
