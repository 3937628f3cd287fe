//! `--suppressions`: the list of findings that somebody accepts, as it lies here or as another revision has it.
//!
//! It must not decide what a finding counts.

use std::path::PathBuf;

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
    /// The list; null where none was asked for.
    pub(super) fn read(
        &self,
        runtime: &Runtime,
        env: &mut Env,
    ) -> Result<Option<Vec<Suppression>>, Error> {
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

fn unread(error: &RevisionError) -> Error {
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
