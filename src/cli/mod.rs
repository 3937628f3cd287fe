//! Subcommands: each parses, gathers, analyses and shows, in steps that read the same in every file.
//!
//! Anything longer belongs to a lower layer. A new subcommand is a file, a `mod` line, a variant and an arm.

mod arguments;
pub(crate) mod features;
mod keeping;
pub(crate) mod nominate;
mod progress;
mod reporting;
mod runtime;
mod selection;
mod version;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::render::escape;
use crate::signal;

/// kubectl's order: what it is, examples, options, usage.
const HELP_TEMPLATE: &str = "\
{about-section}{before-help}{all-args}

Usage:
  {usage}{after-help}
";

/// Parses the arguments as `T`, runs it, and turns every outcome into an exit code.
fn main<T: CommandFactory + FromArgMatches>(
    mut env: Env,
    plugin: &'static str,
    run: fn(T, &mut Env) -> Result<u8, Error>,
) -> ExitCode {
    // kubectl's prefix where kubectl could have called it (krew's naming rules).
    let name = if env.is_plugin() {
        format!("kubectl {plugin}")
    } else {
        format!("kubectl-{plugin}")
    };
    let command = template(T::command().bin_name(name));
    let parsed = command
        .try_get_matches_from(env.args())
        .and_then(|matches| T::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(parsed) => signal::end_the_process()
            .map_err(|error| Error::new(Kind::Internal, "signals cannot be taken").because(&error))
            .and_then(|()| run(parsed, &mut env))
            .and_then(|code| env.stdout.flush().map_err(Error::from).map(|()| code)),
        Err(usage) => show_usage(&usage, &mut env),
    };
    let code = outcome.unwrap_or_else(|error| {
        for line in error.lines() {
            say(&line, &mut env);
        }
        error.exit_code()
    });
    ExitCode::from(code)
}

/// Tells of all that was not there, as kubectl does: a line each, after what was.
fn tell(errors: &[Error], env: &mut Env) -> u8 {
    for line in errors.iter().flat_map(Error::lines) {
        say(&line, env);
    }
    exit::first(errors.iter().map(Error::exit_code))
}

fn say(line: &str, env: &mut Env) {
    // If stderr is closed there is nobody left to tell.
    drop(writeln!(env.stderr, "{}", escape::terminal(line)));
}

fn template(command: clap::Command) -> clap::Command {
    command
        .help_template(HELP_TEMPLATE)
        .after_help(format!("\n{}", exit::HELP))
        .mut_subcommands(|sub| {
            sub.help_template(HELP_TEMPLATE)
                .after_help(format!("\n{}", exit::HELP))
        })
}

/// Help goes to stdout with 0, a usage error to stderr with 2: as clap decides.
fn show_usage(error: &clap::Error, env: &mut Env) -> Result<u8, Error> {
    let text = error.render().to_string();
    if error.use_stderr() {
        write!(env.stderr, "{text}")?;
        Ok(exit::USAGE)
    } else {
        write!(env.stdout, "{text}")?;
        env.stdout.flush()?;
        Ok(exit::DONE)
    }
}
