//! `--suppressions`: the list of findings that somebody accepts, as it lies here or as another revision has it.
//!
//! It must not decide what a finding counts.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::answer::check_report::Check;
use crate::check::suppression::{self, Suppression};
use crate::cli::runtime::Runtime;
use crate::cli::say;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::source::revision::{self, RevisionError};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Suppressions")]
pub(super) struct SuppressionArgs {
    /// Findings that are accepted, in YAML: of each the check, the subject, a reason and the day on which it expires
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,
    /// Read that file from this revision of git, e.g. a pull request's base, so that a change cannot silence its own findings
    #[arg(long, value_name = "REVISION", requires = "suppressions")]
    suppressions_ref: Option<String>,
}

impl SuppressionArgs {
    /// What of the list is for these checks.
    pub(super) fn accepted(
        &self,
        ids: &[&str],
        runtime: &Runtime,
        env: &mut Env,
    ) -> Result<Accepted, Error> {
        let mut entries = self.entries(runtime, env)?;
        if let Some(entries) = &mut entries {
            entries.retain(|entry| entry.is_of(ids));
        }
        Ok(Accepted(entries))
    }

    /// The list; null where none was asked for.
    fn entries(&self, runtime: &Runtime, env: &mut Env) -> Result<Option<Vec<Suppression>>, Error> {
        let Some(path) = &self.suppressions else {
            return Ok(None);
        };
        let text = match &self.suppressions_ref {
            Some(name) => runtime
                .block_on(revision::read_at(name, path))?
                .map_err(|error| unread(&error))?,
            None => Some(revision::read(path).map_err(|error| unread(&error))?),
        };
        let (Some(text), name) = (text, path.display()) else {
            let revision = self.suppressions_ref.as_deref().unwrap_or_default();
            say(
                &format!(
                    "note: {revision} has no {}: nothing is suppressed",
                    path.display()
                ),
                env,
            );
            return Ok(Some(Vec::new()));
        };
        let entries = suppression::parse(&text).map_err(|what| {
            Error::new(
                Kind::BadData,
                format!("{name} is no list of suppressions: {what}"),
            )
            .hint("each has check, subject, reason and expires (YYYY-MM-DD), below suppressions:")
        })?;
        Ok(Some(entries))
    }
}

/// Findings that are accepted; null where nobody asked for any.
pub(super) struct Accepted(Option<Vec<Suppression>>);

impl Accepted {
    /// Marks what is accepted. Whether an entry has expired is asked of today, unless another time is given.
    pub(super) fn apply(&self, checks: &mut Vec<Check>, now: Option<Timestamp>, env: &Env) {
        if let Some(entries) = &self.0 {
            let today = now.unwrap_or_else(env.now).to_zoned(TimeZone::UTC).date();
            suppression::apply(checks, entries, today);
        }
    }
}

/// Why a file that people write was not read.
pub(super) fn unread(error: &RevisionError) -> Error {
    let kind = match error {
        RevisionError::Name(_) => Kind::Usage,
        _ => Kind::BadData,
    };
    let base = Error::new(kind, error.to_string());
    let base = std::error::Error::source(error)
        .into_iter()
        .fold(base, Error::because);
    error.hint().into_iter().fold(base, Error::hint)
}
