//! The outside world as a value: streams, colour, width, clock, variables.
//!
//! Nothing else may name `std::env`, the clock or the standard streams; a test builds an `Env` with fixed values.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place where the outside world is named"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use jiff::Timestamp;

/// Columns when the terminal does not tell.
const DEFAULT_WIDTH: usize = 100;

pub(crate) struct Env {
    pub(crate) stdin: Box<dyn Read>,
    pub(crate) stdout: Box<dyn Write>,
    pub(crate) stderr: Box<dyn Write>,
    pub(crate) stdin_is_terminal: bool,
    pub(crate) stdout_is_terminal: bool,
    pub(crate) stderr_is_terminal: bool,
    /// Columns of the terminal.
    pub(crate) width: usize,
    pub(crate) now: fn() -> Timestamp,
    args: Vec<OsString>,
    variables: BTreeMap<String, String>,
}

/// Standard error for log lines, which outlive any `Env`.
pub(crate) fn raw_stderr() -> std::io::Stderr {
    std::io::stderr()
}

impl Env {
    /// The process's own world.
    pub(crate) fn of_process() -> Self {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let width = variables
            .get("COLUMNS")
            .and_then(|columns| columns.parse().ok())
            .filter(|columns| *columns > 0)
            .unwrap_or(DEFAULT_WIDTH);
        Self {
            stdin: Box::new(std::io::stdin()),
            stdout: Box::new(std::io::BufWriter::new(std::io::stdout())),
            stderr: Box::new(std::io::stderr()),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            width,
            now: Timestamp::now,
            args: std::env::args_os().collect(),
            variables,
        }
    }

    /// Arguments, the program's own name first.
    pub(crate) fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Whether kubectl's way of calling plugins applies: the file is named `kubectl-…`.
    pub(crate) fn is_plugin(&self) -> bool {
        let program = self.args.first().map(PathBuf::from);
        program
            .as_deref()
            .and_then(std::path::Path::file_name)
            .is_some_and(|name| name.to_string_lossy().starts_with("kubectl-"))
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from)
    }

    /// Colour for standard output when the user did not say: NO_COLOR, CLICOLOR_FORCE, then the terminal.
    pub(crate) fn wants_color(&self) -> bool {
        if self.variable("NO_COLOR").is_some() {
            return false;
        }
        let forced = self
            .variable("CLICOLOR_FORCE")
            .is_some_and(|value| value != "0");
        let allowed = self.variable("CLICOLOR").is_none_or(|value| value != "0");
        let dumb = self.variable("TERM") == Some("dumb");
        forced || (self.stdout_is_terminal && allowed && !dumb)
    }
}
