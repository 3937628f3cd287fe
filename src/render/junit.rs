//! A report of checks as `JUnit` XML, as GitLab and Jenkins read it: a test case a check.
//!
//! Elements and attributes of Jenkins' `junit-10.xsd` (tests/schema). A failure is a check that fails the report; one that could not
//! be made is skipped, with the reason; files that could not be read are output of the suite. Warnings do not fail the report, so they are output of a test that passes.
//! It must not count anew: the suite's numbers are the report's.

use std::io::{self, Write};

use super::escape;
use super::report::{Check, Report, Severity, Status};

pub(crate) fn render(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let summary = report.summary;
    let skipped = summary.unknown + summary.skipped;
    let tests = summary.pass + summary.error + summary.warning + skipped;
    let counts = format!(
        "tests=\"{tests}\" failures=\"{}\" errors=\"0\"",
        summary.error
    );
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"kube-placement\" {counts}>")?;
    writeln!(
        out,
        "  <testsuite name=\"{}\" {counts} skipped=\"{skipped}\">",
        xml(&report.intention),
    )?;
    for check in &report.checks {
        write!(
            out,
            "    <testcase classname=\"kube-placement\" name=\"{}\">",
            xml(&format!("{}: {}", check.id, check.title)),
        )?;
        outcome(check, out)?;
        writeln!(out, "</testcase>")?;
    }
    let unread: Vec<String> = report.unread().map(|it| xml(&it.sentence())).collect();
    if !unread.is_empty() {
        let text = unread.join("\nnot read: ");
        writeln!(out, "    <system-out>not read: {text}</system-out>")?;
    }
    writeln!(out, "  </testsuite>")?;
    writeln!(out, "</testsuites>")
}

fn outcome(check: &Check, out: &mut dyn Write) -> io::Result<()> {
    let lines = lines(check);
    match (check.status, check.severity) {
        (Status::Fail, Severity::Error) => {
            let message = xml(lines.first().map_or("", String::as_str));
            let text: Vec<String> = lines.iter().map(|line| xml(line)).collect();
            let text = text.join("\n");
            write!(
                out,
                "<failure type=\"{}\" message=\"{message}\">{text}</failure>",
                xml(&check.id)
            )
        }
        (Status::Unknown, _) => {
            let reason = xml(&format!("could not be checked: {}", check.reason()));
            write!(out, "<skipped message=\"{reason}\"/>")
        }
        (Status::Skipped, _) => write!(out, "<skipped message=\"{}\"/>", xml(check.reason())),
        (Status::Fail, _) => {
            let word = if check.severity == Severity::Warning {
                "warning"
            } else {
                "note"
            };
            let text: Vec<String> = lines.iter().map(|line| xml(line)).collect();
            write!(out, "<system-out>{word}: {}</system-out>", text.join("\n"))
        }
        (Status::Pass, _) => Ok(()),
    }
}

/// What was found and counts, each with its evidence below it.
fn lines(check: &Check) -> Vec<String> {
    let found = check.found();
    let counted = found.iter().filter(|finding| finding.suppressed.is_none());
    counted
        .flat_map(|finding| {
            let below = finding.lines().map(|line| format!("  {line}"));
            std::iter::once(finding.sentence()).chain(below)
        })
        .collect()
}

/// One line of text for an element or an attribute. XML 1.0 knows no escape for controls and for U+FFFE and U+FFFF.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in escape::terminal(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => safe.extend(character.escape_unicode()),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::drawn;
    use super::*;

    #[test]
    fn a_test_case_a_check_and_the_counts_of_the_report() {
        let drawn = drawn(render);
        assert_eq!(drawn.matches("<testcase ").count(), 7, "{drawn}");
        assert_eq!(drawn.matches("<failure ").count(), 2, "{drawn}");
        assert_eq!(drawn.matches("<skipped ").count(), 2, "{drawn}");
        assert_eq!(drawn.matches("<system-out>").count(), 3, "{drawn}");
        assert!(drawn.contains("<system-out>not read: broken.yaml: "));
        assert_eq!(
            drawn
                .matches("tests=\"7\" failures=\"2\" errors=\"0\"")
                .count(),
            2,
            "{drawn}"
        );
        assert!(!drawn.contains("n2"), "a suppressed finding is no failure");
    }

    #[test]
    fn nothing_hostile_gets_out() {
        let drawn = drawn(render);
        assert!(!drawn.contains("<b>") && !drawn.contains("]]>"), "{drawn}");
        let bad = |letter: char| letter != '\n' && escape::steers(letter) || letter == '\u{fffe}';
        assert!(!drawn.contains(bad), "{drawn}");
    }
}
