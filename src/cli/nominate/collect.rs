//! `kubectl nominate collect`: what `explain` would read, kept in a file for somebody without the cluster.

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use regex::Regex;

use super::explain::{code_of_review, connect, review, say, tell};
use super::selection::{SelectionArgs, not_there, nothing};
use crate::analysis::explain;
use crate::analysis::select::{self, Request, Selection};
use crate::answer::access_report;
use crate::cli::arguments::{ConnectionArgs, LookArgs};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::coverage::State;
use crate::model::world::World;
use crate::render::escape;
use crate::source::Origin;
use crate::source::bundle::redact::{self, Redactor};
use crate::source::bundle::write::{self, SaveError};
use crate::source::bundle::{Bundle, Heading, Question};
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

/// The file that stands for standard output.
const STDOUT: &str = "-";

/// Letters of a file's name that tell of Pods; a name of a Pod may have 253.
const MAX_NAME: usize = 100;

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
    /// File to write, - for standard output; else one of the current folder, named after the Pods and the server's time
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it is there already
    #[arg(long)]
    force: bool,
    /// Replace what matches this regular expression by <redacted>, also in names and messages; may be repeated
    #[arg(long, value_name = "PATTERN", value_parser = redact::pattern)]
    redact: Vec<Regex>,
    /// Only list what would be read, why, and whether you may; asks the server, reads and writes nothing
    #[arg(long)]
    dry_run: bool,
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
    if args.dry_run {
        let answer = review(&live, &request, false, &runtime, env)?;
        args.look.draw(&access_report::view(&answer), env)?;
        return Ok(code_of_review(&answer));
    }
    let to_stdout = args.output.as_deref() == Some(Path::new(STDOUT));
    match &args.output {
        Some(_) if to_stdout && env.stdout_is_terminal => {
            let sentence = "a bundle is not written to a terminal";
            return Err(
                Error::new(Kind::Usage, sentence).hint("give a file with -o, or redirect it")
            );
        }
        Some(path) if !to_stdout => {
            write::check(path, args.force).map_err(|error| save_error(&error))?;
        }
        _ => {}
    }

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
    let mut redactor = Redactor::new(args.redact.clone());
    let bundle = bundle(&origin, &request, now, &mut redactor)?;
    if to_stdout {
        runtime.block_on(write::pack(&bundle, &mut env.stdout))??;
    } else {
        let path = args.output.clone();
        let path = path.unwrap_or_else(|| default_name(&request, now, &mut redactor));
        let saved = runtime.block_on(write::save(&bundle, &path, args.force))?;
        saved.map_err(|error| save_error(&error))?;
        writeln!(
            env.stdout,
            "{} written ({} reads)",
            escape::terminal(&path.display().to_string()),
            bundle.reads
        )?;
        env.stdout.flush()?;
    }
    if chosen.pods.is_empty() {
        say(&nothing(&request), env);
    }
    for line in world
        .coverage()
        .filter(|line| line.state != State::Complete)
    {
        let detail = line.detail.as_deref().unwrap_or_default();
        let warning = format!("warning: {}: {:?}: {detail}", line.subject, line.state);
        say(&warning, env);
    }
    Ok(exit::first([tell(&errors, env)]))
}

fn bundle(
    origin: &Origin,
    request: &Request,
    now: Timestamp,
    redactor: &mut Redactor,
) -> Result<Bundle, Error> {
    let tape = match origin {
        Origin::Live(live) => live.tape(),
        Origin::Offline(_) => None,
    };
    let tape = tape.ok_or_else(|| Error::new(Kind::Internal, "nothing was kept"))?;
    let heading = Heading {
        server: origin.source().name,
        context: request.context.clone(),
        now,
        request: Question {
            selection: request.words(),
            namespace: request.namespace.clone(),
        },
    };
    Ok(tape.bundle(heading, redactor))
}

/// `nomination-NAMESPACE-NAME-TIME.tar.zst`; nothing in it can lead elsewhere.
fn default_name(request: &Request, now: Timestamp, redactor: &mut Redactor) -> PathBuf {
    let mut what = request
        .namespace
        .clone()
        .unwrap_or_else(|| "all".to_owned());
    if let Selection::Named(targets) = &request.selection
        && let [target] = targets.as_slice()
    {
        what = format!("{what}-{}", target.name);
    }
    redactor.redact(&mut what);
    let what: String = what
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.'))
        .take(MAX_NAME)
        .collect();
    let time = now.strftime("%Y%m%dT%H%M%SZ");
    PathBuf::from(format!("nomination-{what}-{time}.tar.zst"))
}

fn save_error(error: &SaveError) -> Error {
    let kind = match error {
        SaveError::Exists(_) | SaveError::NoFile(_) => Kind::Usage,
        SaveError::Write { .. } => Kind::BadData,
    };
    let base = Error::new(kind, error.to_string());
    let base = std::error::Error::source(error)
        .into_iter()
        .fold(base, Error::because);
    match error {
        SaveError::Exists(_) => base.hint("replace it with --force, or choose another with -o"),
        _ => base,
    }
}
