//! `kubectl features skew`: which gates really run where, and what differs.

use clap::ValueEnum;

use super::observation::{ObservationArgs, observe};
use crate::analysis::gates::skew;
use crate::answer::gate_skew::{self, GateSkew, Severity};
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, exit};

const EXAMPLES: &str = "
Examples:
  # Compare the gates of API servers, schedulers and kubelets
  kubectl features skew

  # Show where one gate is on, and what makes it so
  kubectl features skew --gate InPlacePodVerticalScaling

  # Reach a scheduler through a port that is forwarded to it
  kubectl features skew --component kube-scheduler=https://127.0.0.1:10259

  # Compare what was saved before
  kubectl features snapshot -o json > before.json
  kubectl features skew --from before.json

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
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Never,
    Error,
    Warning,
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
    let observed = observe(
        &args.observation,
        &args.connection,
        &args.input,
        &mut request,
        &runtime,
        env,
    )?;

    // Analyse.
    let answer = skew::skew(
        &observed.world,
        &request,
        observed.now,
        observed.generated_at,
    );

    // Show.
    args.output.show(&answer, gate_skew::view, env)?;
    Ok(exit_code(&answer, args.fail_on))
}

fn exit_code(answer: &GateSkew, fail_on: FailOn) -> u8 {
    let incomplete = answer.is_incomplete.then_some(exit::INCOMPLETE);
    let found = match (answer.worst(), fail_on) {
        (Some(Severity::Error), FailOn::Error | FailOn::Warning) => exit::FINDING,
        (Some(Severity::Warning), FailOn::Warning) => exit::WARNING,
        _ => exit::DONE,
    };
    exit::first([found].into_iter().chain(incomplete))
}
