//! The steps of a report's plan alone, a line a step; where there is none, what would have to change, or why not.
//!
//! It must not say what was checked or found: that is for the other formats.

use std::io::{self, Write};

use super::escape;
use super::report::Report;

pub(crate) fn render(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |text: &str| writeln!(out, "{}", escape::terminal(text));
    if !report.plan.is_empty() {
        return report.plan.iter().try_for_each(|step| line(step));
    }
    line(&format!("There is no plan: {}", report.verdict()))?;
    for change in &report.smallest_change {
        line(&format!("To change first: {change}"))?;
    }
    Ok(())
}
