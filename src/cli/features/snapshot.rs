//! `kubectl features snapshot`: what is known of gates at a moment, to be compared later.

use super::observation::{ObservationArgs, observe};
use crate::analysis::gates::snapshot;
use crate::answer::gate_snapshot;
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, exit};

const EXAMPLES: &str = "
Examples:
  # Save what runs before an upgrade
  kubectl features snapshot -o json > before.json

  # See it again, without the cluster
  kubectl features skew --from before.json

";

/// Save what is known of the feature gates of all components
///
/// Reads what skew reads and prints it before it is compared: for each component what each document told of it. The file is an
/// input of skew, in this and any later version, and holds no flag but those of gates.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct SnapshotArgs {
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &SnapshotArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let runtime = Runtime::start()?;
    let request = args.observation.request();

    // Gather.
    let observed = observe(
        &args.observation,
        &args.connection,
        &args.input,
        &request,
        &runtime,
        env,
    )?;

    // Analyse.
    let answer = snapshot::snapshot(
        &observed.world,
        request.pool_label.as_deref(),
        observed.now,
        (env.now)(),
    );

    // Show.
    args.output.show(&answer, gate_snapshot::view, env)?;
    Ok(observed.code(exit::DONE))
}
