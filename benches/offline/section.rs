//! A section of docs/benchmarks.md: rows of commands with what they cost. What others wrote there stays.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::cost::Cost;

pub(crate) struct Section {
    heading: &'static str,
    pub(crate) text: String,
    /// MiB that each command goes through.
    size: f64,
}

impl Section {
    /// One whose rows are of another kind.
    pub(crate) fn titled(heading: &'static str, about: &str) -> Self {
        Self {
            heading,
            text: format!("{heading}\n{about}\n\n"),
            size: 0.0,
        }
    }

    pub(crate) fn new(heading: &'static str, about: &str, size: u64) -> Result<Self> {
        let mut text = format!("{heading}\n{about}\n\n");
        text.push_str(
            "| command | time | MiB/s | peak memory | ratio | goal |\n|---|---|---|---|---|---|\n",
        );
        let size = f64::from(u32::try_from(size >> 20)?);
        Ok(Self {
            heading,
            text,
            size,
        })
    }

    pub(crate) fn row(
        &mut self,
        what: &str,
        cost: Option<Cost>,
        ratio: Option<f64>,
        goal: &str,
    ) -> Result<()> {
        let Some(cost) = cost else {
            return Ok(writeln!(self.text, "| {what} | not installed | | | | |")?);
        };
        let seconds = cost.wall.as_secs_f64();
        let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        Ok(writeln!(
            self.text,
            "| {what} | {seconds:.2} s | {:.0} | {} MiB | {ratio} | {goal} |",
            self.size / seconds,
            cost.memory >> 20
        )?)
    }

    pub(crate) fn line(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.text, "\n{line}")?)
    }

    /// Puts the section in the place of the last one.
    pub(crate) fn put(&self, path: &Path) -> Result<()> {
        let known = match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                "# Benchmarks\n".to_owned()
            }
            known => known?,
        };
        let (before, rest) = match known.split_once(self.heading) {
            Some((before, ours)) => {
                let after = ours.find("\n## ").map_or("", |at| ours.split_at(at).1);
                (before, after)
            }
            None => (known.as_str(), ""),
        };
        let text = format!("{}\n\n{}{rest}", before.trim_end(), self.text);
        Ok(fs::write(path, text)?)
    }
}
