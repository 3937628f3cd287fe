//! `kubectl features lookup`: what Kubernetes itself says of feature gates. It asks no server and reads no file.

use std::io::Write;

use clap::builder::PossibleValuesParser;

use crate::analysis::lookup::{self, NoAnswer, Request};
use crate::answer::gate_history;
use crate::catalogue::{COMPONENTS, Catalogue};
use crate::cli::arguments::OutputArgs;
use crate::cli::{say, tell};
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::model::version::Minor;

const EXAMPLES: &str = "
Examples:
  # Tell a gate's history, its default, and what it needs and what needs it
  kubectl features lookup NodeDeclaredFeatures

  # The same as 1.36 has it
  kubectl features lookup NodeDeclaredFeatures --version 1.36

  # List what changed in 1.37, and what it removed
  kubectl features lookup --since 1.37
  kubectl features lookup --removed-in 1.37

  # List the gates of a component, and those that need another one
  kubectl features lookup --component kubelet --version 1.36 -o wide
  kubectl features lookup --depends-on DynamicResourceAllocation

";

/// Look feature gates up: history, default, lock, dependencies, removal
///
/// Tells what the components of each minor register, from a catalogue made of their sources, and which components a
/// gate's KEP names. It works without a cluster, and says nothing of what a cluster runs.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct LookupArgs {
    /// Gates to tell all of; without one, a row for each gate that the options select
    #[arg(value_name = "GATE", conflicts_with_all = ["since", "until", "depends_on", "removed_in", "component"])]
    gates: Vec<String>,
    /// Tell what holds in this minor, e.g. 1.36, instead of the newest that has the gate
    #[arg(long, value_name = "VERSION", value_parser = minor)]
    version: Option<Minor>,
    /// Only gates that changed in this minor or later
    #[arg(long, value_name = "VERSION", value_parser = minor)]
    since: Option<Minor>,
    /// Only gates that changed in this minor or earlier
    #[arg(long, value_name = "VERSION", value_parser = minor)]
    until: Option<Minor>,
    /// Only gates that need this one, also through others
    #[arg(long, value_name = "GATE")]
    depends_on: Option<String>,
    /// Only gates that this minor removed
    #[arg(long, value_name = "VERSION", value_parser = minor, conflicts_with = "version")]
    removed_in: Option<Minor>,
    /// Only gates whose KEP names this component
    #[arg(long, value_name = "COMPONENT", value_parser = PossibleValuesParser::new(COMPONENTS))]
    component: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Reads `1.37`, also as `v1.37.2`: a gate does not change within a minor.
fn minor(text: &str) -> Result<Minor, String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    let mut parts = bare.splitn(3, '.');
    let minor = match (parts.next(), parts.next()) {
        (Some("1"), Some(minor)) => Minor::parse(minor),
        _ => None,
    };
    minor.ok_or_else(|| "give a minor version, e.g. 1.37".to_owned())
}

pub(super) fn run(args: &LookupArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let request = Request {
        names: args.gates.clone(),
        version: args.version,
        since: args.since,
        until: args.until,
        depends_on: args.depends_on.clone(),
        removed_in: args.removed_in,
        component: args.component.clone(),
    };

    // Analyse.
    let (answer, missing) = lookup::lookup(Catalogue::known(), &request, (env.now)())
        .map_err(|no_answer| error(&no_answer))?;
    let errors: Vec<Error> = missing.iter().map(error).collect();

    // Show.
    if !answer.gates.is_empty() || errors.is_empty() {
        args.output.show(&answer, gate_history::view, env)?;
        env.stdout.flush()?;
    }
    if answer.gates.is_empty() && errors.is_empty() && args.output.is_for_people() {
        say("No feature gates found", env);
    }
    Ok(tell(&errors, env))
}

fn error(no_answer: &NoAnswer) -> Error {
    let base = Error::new(Kind::BadData, no_answer.to_string());
    match no_answer {
        NoAnswer::Minor { .. } | NoAnswer::RemovedInOldest { .. } => base,
        NoAnswer::Gate {
            nearest: Some(nearest),
            ..
        } => base.hint(format!("did you mean {nearest}?")),
        NoAnswer::Gate { .. } => base.hint("list all gates with: kubectl features lookup"),
        NoAnswer::OnlyProposed { known, .. } => base.hint(format!(
            "it was removed before {}, is newer than {}, or is another program's",
            known.oldest, known.newest
        )),
    }
}
