//! A report of checks as workflow commands, which GitHub shows as annotations; the step summary is `markdown`.
//!
//! Syntax and escapes: GitHub's "Workflow commands for GitHub Actions" (`::error title=T::M`, `%25`, `%0D`, `%0A`, in properties also
//! `%3A` and `%2C`). It must not let text of others begin a line, where it would be a command.

use std::io::{self, Write};

use super::escape;
use super::report::{Finding, Report, Severity, Status};

pub(crate) fn render(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    // First: GitHub shows ten of a step, and every check may be unknown for one of these.
    for unread in report.unread() {
        annotation("warning", "not read", &unread, out)?;
    }
    for check in &report.checks {
        match check.status {
            Status::Fail => {
                let command = match check.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Info => "notice",
                };
                let found = check.found();
                for finding in found.iter().filter(|it| it.suppressed.is_none()) {
                    annotation(command, &check.id, finding, out)?;
                }
            }
            Status::Unknown => {
                let unknown = Finding::of(format!("could not be checked: {}", check.reason()));
                annotation("warning", &check.id, &unknown, out)?;
            }
            Status::Pass | Status::Skipped => {}
        }
    }
    // Not a command, whatever the text is: it does not begin with colons.
    writeln!(out, "Checked: {}", escape::terminal(&report.verdict()))
}

fn annotation(command: &str, id: &str, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "::{command} ")?;
    if let Some(location) = &finding.location {
        write!(out, "file={},", property(&location.path))?;
        let numbers = [("line", location.line), ("col", location.column)];
        for (name, number) in numbers {
            if let Some(number) = number {
                write!(out, "{name}={number},")?;
            }
        }
    }
    let title = if finding.subject.is_empty() {
        id.to_owned()
    } else {
        format!("{id}: {}", finding.subject)
    };
    write!(
        out,
        "title={}::{}",
        property(&title),
        message(&finding.message)
    )?;
    for line in finding.lines() {
        write!(out, "%0A{}", message(&line))?;
    }
    writeln!(out)
}

fn message(text: &str) -> String {
    escape::terminal(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::drawn;
    use super::*;

    #[test]
    fn an_annotation_a_finding_that_counts() {
        let drawn = drawn(render);
        let of = |command: &str| {
            let lines = drawn.lines();
            lines.filter(|line| line.starts_with(command)).count()
        };
        assert_eq!(
            (
                of("::error "),
                of("::warning "),
                of("::notice "),
                drawn.lines().count()
            ),
            (3, 3, 1, 8),
            "{drawn}"
        );
        assert!(
            drawn.contains(
                "::error file=a b/kubelet.yaml,line=3,col=7,title=a-fail%3A kubelet/n1::"
            )
        );
        assert!(drawn.starts_with(
            "::warning file=a b/broken.yaml,line=5,col=2,title=not read%3A broken.yaml::"
        ));
        assert!(
            !drawn.contains("n2"),
            "a suppressed finding is no annotation"
        );
    }

    #[test]
    fn nothing_hostile_begins_a_line_or_ends_a_property() {
        let drawn = drawn(render);
        assert!(
            !drawn.lines().any(|line| line.starts_with("::error::")),
            "{drawn}"
        );
        assert!(drawn.contains("%250A"), "a percent sign is itself: {drawn}");
        assert!(!drawn.contains(|letter| letter != '\n' && escape::steers(letter)));
    }
}
