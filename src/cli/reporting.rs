//! What commands share that answer with a report of checks: formats for CI beside the others, and reports into files.
//!
//! The verdict stands before anything is written, so no format changes an exit code. It must not look at what was checked.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;

use super::arguments::{LookArgs, OutputArgs, internal};
use crate::answer::check_report::{self, CheckReport};
use crate::answer::gate_skew::Severity;
use crate::check::RULES;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::render::report::{self, Described, Report};
use crate::render::{self, Draw, FORMATS, Format, Style};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output options")]
pub(super) struct ReportingArgs {
    /// Output format; github prints annotations, plan the steps alone
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|format| format.name)))]
    output: String,
    /// Write the report to this file, too; may be repeated
    #[arg(long, value_name = "FORMAT=PATH", value_parser = target)]
    report: Vec<Target>,
    #[command(flatten)]
    look: LookArgs,
}

/// A format and the file for it.
#[derive(Debug, Clone)]
struct Target {
    format: &'static str,
    path: PathBuf,
}

fn target(text: &str) -> Result<Target, String> {
    let (format, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or("give FORMAT=PATH, e.g. junit=preflight.xml")?;
    let Some(format) = render::find(format) else {
        let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        return Err(format!(
            "there is no format {format:?}; there are {}",
            known.join(", ")
        ));
    };
    let path = PathBuf::from(path);
    // Told before anything is asked or made, not after it.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(format!("there is no folder {}", folder.display()));
    }
    Ok(Target {
        format: format.name,
        path,
    })
}

/// What is said of the checks of `preflight`.
pub(super) fn rules() -> Vec<Described> {
    let described = RULES.iter().map(|rule| Described {
        id: rule.id.to_owned(),
        title: rule.title.to_owned(),
        what: rule.docs.what.to_owned(),
        why: rule.docs.why.to_owned(),
        severity: match rule.severity {
            Severity::Error => report::Severity::Error,
            Severity::Warning => report::Severity::Warning,
            Severity::Info => report::Severity::Info,
        },
    });
    described.collect()
}

impl ReportingArgs {
    pub(super) fn start_logging(&self) {
        self.look.start_logging();
    }

    /// How an answer is shown that is no report of checks.
    pub(super) fn of_others(&self) -> Result<OutputArgs, Error> {
        let is_of_checks = |format: &Format| matches!(format.draw, Draw::Checks(_));
        if render::find(&self.output).is_some_and(is_of_checks) || !self.report.is_empty() {
            let sentence = "this is no report of checks: junit, sarif, github, plan and --report are for those alone";
            return Err(Error::new(Kind::Usage, sentence));
        }
        Ok(OutputArgs {
            output: self.output.clone(),
            look: self.look.clone(),
        })
    }

    /// Writes each report that is asked for, then shows the answer. Checks that `described` leaves out describe themselves.
    pub(super) fn show(
        &self,
        answer: &CheckReport,
        described: Vec<Described>,
        env: &mut Env,
    ) -> Result<(), Error> {
        let value = serde_json::to_value(answer).map_err(|error| internal(&error))?;
        let report = Report::new(&value, described).map_err(|error| internal(&error))?;
        let draw = |name: &str, style: &Style, out: &mut dyn Write| {
            match render::find(name).map(|format| &format.draw) {
                Some(Draw::People(render)) => render(&check_report::view(answer), style, out),
                Some(Draw::Data(render)) => render(&value, out),
                Some(Draw::Checks(render)) => render(&report, out),
                // The parser knows formats alone.
                None => Ok(()),
            }
        };
        let style = self.look.style(env);
        for target in &self.report {
            let plain = Style {
                color: false,
                ..style
            };
            let mut text = Vec::new();
            draw(target.format, &plain, &mut text)?;
            std::fs::write(&target.path, text).map_err(|error| {
                let sentence = format!("cannot write {}", target.path.display());
                Error::new(Kind::Internal, sentence).because(&error)
            })?;
        }
        Ok(draw(&self.output, &style, &mut env.stdout)?)
    }
}
