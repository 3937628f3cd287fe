//! What rules say of themselves: for a terminal, and as `docs/checks.md`.

use super::{RULES, Rule};
use crate::answer::gate_skew::Severity;
use crate::answer::parts::{column, heading};
use crate::block::{Block, Text};

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// A row a rule.
pub(crate) fn list() -> Vec<Block> {
    let rows = RULES.iter().map(|rule| {
        vec![
            Text::name(rule.id),
            Text::plain(severity(rule.severity)),
            Text::plain(rule.title),
        ]
    });
    vec![Block::Rows {
        columns: ["CHECK", "SEVERITY", "WHAT"].map(column).into(),
        rows: rows.collect(),
    }]
}

/// The texts of a rule under their headings.
pub(crate) fn one(rule: &Rule) -> Vec<Block> {
    let mut blocks = vec![Block::KeyValues(vec![
        ("Check", Text::name(rule.id)),
        ("Severity", Text::plain(severity(rule.severity))),
        ("Title", Text::plain(rule.title)),
    ])];
    for (title, text) in texts(rule) {
        blocks.push(heading(title));
        blocks.push(Block::Notes(vec![text.to_owned()]));
    }
    blocks
}

fn texts(rule: &Rule) -> [(&'static str, &'static str); 4] {
    let docs = &rule.docs;
    [
        ("What it does", docs.what),
        ("Why it matters", docs.why),
        ("What it cannot see", docs.cannot_see),
        ("Example", docs.example),
    ]
}

/// `docs/checks.md`.
#[cfg(feature = "internals")]
pub(crate) fn markdown() -> String {
    use std::fmt::Write;

    let mut text = "# Checks of `kubectl features preflight`\n\n\
        Written by `SNAPSHOTS=overwrite cargo test --test it checks_are_documented`; do not edit.\n"
        .to_owned();
    for rule in RULES {
        let word = severity(rule.severity);
        // Writing to a String cannot fail.
        write!(text, "\n## {}\n\n{} ({word}).\n", rule.id, rule.title).unwrap_or_default();
        for (title, words) in texts(rule) {
            write!(text, "\n**{title}.** {words}\n").unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_missing() {
        for rule in RULES {
            for (title, words) in texts(rule) {
                assert!(
                    words.ends_with(|end: char| end == '.' || title == "Example"),
                    "{title} of {}",
                    rule.id
                );
                assert!(!words.is_empty(), "{title} of {}", rule.id);
            }
        }
    }
}
