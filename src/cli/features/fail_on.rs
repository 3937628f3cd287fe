//! `--fail-on`: which findings end a command that judges with a code of their own. It must not look at formats.

use clap::ValueEnum;

use crate::answer::check_report::{CheckReport, Outcome};
use crate::answer::gate_skew::Severity;
use crate::error::exit;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Never,
    Error,
    Warning,
}

impl FailOn {
    /// The exit code of the worst finding, and of an answer that is not complete.
    pub(super) fn code(self, worst: Option<Severity>, is_incomplete: bool) -> u8 {
        let incomplete = is_incomplete.then_some(exit::INCOMPLETE);
        let found = match (worst, self) {
            (Some(Severity::Error), Self::Error | Self::Warning) => exit::FINDING,
            (Some(Severity::Warning), Self::Warning) => exit::WARNING,
            _ => exit::DONE,
        };
        exit::first([found].into_iter().chain(incomplete))
    }

    pub(super) fn code_of(self, report: &CheckReport) -> u8 {
        let worst = match report.result {
            Outcome::Fail => Some(Severity::Error),
            _ if report.summary.warning > 0 => Some(Severity::Warning),
            _ => None,
        };
        self.code(worst, report.summary.unknown > 0)
    }
}
