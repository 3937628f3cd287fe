//! What the `collect` commands share: where a bundle goes, how it is saved, and what was not read.
//!
//! It must not know what a bundle holds.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use regex::Regex;

use super::runtime::Runtime;
use super::say;
use crate::analysis::access::{self, Question};
use crate::answer::access_report::AccessReport;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::access::{Permission, Right};
use crate::model::coverage::State;
use crate::model::world::World;
use crate::render::escape;
use crate::source::Origin;
use crate::source::bundle::redact::{self, Redactor};
use crate::source::bundle::write::{self, SaveError};
use crate::source::bundle::{Bundle, Heading};
use crate::source::live::Live;

/// The file that stands for standard output.
const STDOUT: &str = "-";

/// Letters of a file's name that tell of what is in it; a name of a Pod may have 253.
const MAX_NAME: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct KeepingArgs {
    /// File to write, - for standard output; else one of the current folder, named after what is in it and the server's time
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
    pub(super) dry_run: bool,
}

impl KeepingArgs {
    fn to_stdout(&self) -> bool {
        self.output.as_deref() == Some(Path::new(STDOUT))
    }

    /// Whether the bundle could be written: asked before anything is read.
    pub(super) fn check(&self, env: &Env) -> Result<(), Error> {
        match &self.output {
            Some(_) if self.to_stdout() && env.stdout_is_terminal => {
                let sentence = "a bundle is not written to a terminal";
                Err(Error::new(Kind::Usage, sentence).hint("give a file with -o, or redirect it"))
            }
            Some(path) if !self.to_stdout() => {
                write::check(path, self.force).map_err(|error| save_error(&error))
            }
            _ => Ok(()),
        }
    }

    /// Makes the bundle of what an origin was asked, and saves it.
    pub(super) fn keep(
        &self,
        origin: &Origin,
        heading: Heading,
        what: &str,
        runtime: &Runtime,
        env: &mut Env,
    ) -> Result<(), Error> {
        let mut redactor = Redactor::new(self.redact.clone());
        let path = self
            .output
            .clone()
            .unwrap_or_else(|| default_name(what, heading.now, &mut redactor));
        let bundle = bundle(origin, heading, &mut redactor)?;
        if self.to_stdout() {
            runtime.block_on(write::pack(&bundle, &mut env.stdout))??;
            return Ok(());
        }
        let saved = runtime.block_on(write::save(&bundle, &path, self.force))?;
        saved.map_err(|error| save_error(&error))?;
        writeln!(
            env.stdout,
            "{} written ({} reads)",
            escape::terminal(&path.display().to_string()),
            bundle.reads
        )?;
        Ok(env.stdout.flush()?)
    }
}

fn bundle(origin: &Origin, heading: Heading, redactor: &mut Redactor) -> Result<Bundle, Error> {
    let tape = match origin {
        Origin::Live(live) => live.tape(),
        Origin::Offline(_) | Origin::Prometheus(_) => None,
    };
    let tape = tape.ok_or_else(|| Error::new(Kind::Internal, "nothing was kept"))?;
    Ok(tape.bundle(heading, redactor))
}

/// `WHAT-TIME.tar.zst`; nothing in it can lead elsewhere.
fn default_name(what: &str, now: Timestamp, redactor: &mut Redactor) -> PathBuf {
    let mut what = what.to_owned();
    redactor.redact(&mut what);
    let what: String = what
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.'))
        .take(MAX_NAME)
        .collect();
    let time = now.strftime("%Y%m%dT%H%M%SZ");
    PathBuf::from(format!("{what}-{time}.tar.zst"))
}

/// Says what a bundle lacks, by what counts as a loss.
pub(super) fn warn(world: &World, is_loss: fn(State) -> bool, env: &mut Env) {
    for line in world.coverage().filter(|line| is_loss(line.state)) {
        let detail = line.detail.as_deref().unwrap_or_default();
        let warning = format!("warning: {}: {:?}: {detail}", line.subject, line.state);
        say(&warning, env);
    }
}

/// The report of a review of each right; nothing else is sent.
pub(super) fn review(
    live: &Live,
    questions: &[Question],
    runtime: &Runtime,
    env: &Env,
) -> Result<AccessReport, Error> {
    let rights: Vec<Right> = questions
        .iter()
        .flat_map(|question| question.rights.clone())
        .collect();
    let permissions: BTreeMap<Right, Permission> = runtime
        .block_on(live.review(&rights))?
        .map_err(|sentence| Error::new(Kind::Unreachable, sentence))?;
    let generated_at = (env.now)();
    Ok(access::report(
        questions,
        &permissions,
        live.source(),
        generated_at,
    ))
}

pub(super) fn code_of_review(answer: &AccessReport) -> u8 {
    if answer.is_unanswered() {
        exit::INCOMPLETE
    } else {
        exit::DONE
    }
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
