//! The answer as GitHub's Markdown, for step summaries, issues and comments. It must not let text of others be markup.
//!
//! Wide blocks stay hidden, as in a table.

use std::io::{self, Write};

use super::{Style, escape};
use crate::block::{Block, Column, Text};

pub(crate) fn render(blocks: &[Block], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut is_first = true;
    for block in blocks {
        let text = drawn(block, style);
        if text.is_empty() {
            continue;
        }
        if !is_first {
            writeln!(out)?;
        }
        is_first = false;
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn drawn(block: &Block, style: &Style) -> String {
    match block {
        Block::Heading(text) => format!("## {}\n", markdown(&text.text)),
        Block::KeyValues(pairs) => lines(
            pairs
                .iter()
                .map(|(key, value)| format!("- **{}:** {}", markdown(key), markdown(&value.text))),
        ),
        Block::Table { columns, rows } | Block::Rows { columns, rows } => {
            table(columns, rows, style)
        }
        Block::Timeline(moments) => lines(moments.iter().map(|moment| {
            let at = moment
                .at
                .map_or_else(|| "time not known".to_owned(), |at| at.to_string());
            let words = [&moment.actor, &moment.what, &moment.detail];
            let words = words.iter().filter(|word| !word.is_empty());
            let words: Vec<String> = words.map(|word| markdown(word)).collect();
            format!("- {at}: {}", words.join(" · "))
        })),
        Block::Findings(findings) => lines(findings.iter().flat_map(|finding| {
            let first = format!(
                "- **{}** {}",
                markdown(&finding.title.text),
                markdown(&finding.message)
            );
            let below = finding
                .extras
                .iter()
                .map(|(key, value)| format!("  - {}: {}", markdown(key), markdown(value)));
            std::iter::once(first).chain(below)
        })),
        Block::Notes(notes) => lines(notes.iter().map(|note| format!("- {}", markdown(note)))),
        Block::Coverage(coverage) => lines(coverage.iter().map(|line| {
            let words = [&line.subject, &line.state.text, &line.detail];
            let words = words.iter().filter(|word| !word.is_empty());
            let words: Vec<String> = words.map(|word| markdown(word)).collect();
            format!("- {}", words.join(": "))
        })),
        Block::Wide(inner) if style.wide => drawn(inner, style),
        Block::Wide(_) => String::new(),
    }
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |mut text, line| {
        text.push_str(&line);
        text.push('\n');
        text
    })
}

fn table(columns: &[Column], rows: &[Vec<Text>], style: &Style) -> String {
    let is_shown = |at: &usize| {
        columns
            .get(*at)
            .is_some_and(|column| style.wide || !column.wide)
    };
    let shown: Vec<usize> = (0..columns.len()).filter(is_shown).collect();
    if shown.is_empty() || rows.is_empty() {
        return String::new();
    }
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let titles = shown.iter().filter_map(|at| columns.get(*at));
    let titles = row(titles.map(|column| markdown(column.title)).collect());
    let rule = row(shown.iter().map(|_| "---".to_owned()).collect());
    let rows = rows.iter().map(|cells| {
        let cell = |at: &usize| {
            cells
                .get(*at)
                .map_or_else(String::new, |cell| markdown(&cell.text))
        };
        row(shown.iter().map(cell).collect())
    });
    lines([titles, rule].into_iter().chain(rows))
}

/// One line of text that is nothing but text: no markup, no HTML, no mention, no link that a reader did not see.
fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in escape::terminal(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // Backslashes do not stop these two: @name, and a number of an issue.
            '@' => safe.push_str("&#64;"),
            '#' => safe.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' => {
                safe.push('\\');
                safe.push(character);
            }
            other => safe.push(other),
        }
    }
    // GitHub makes links of these by themselves.
    safe.replace("://", "&#58;//").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Finding;

    fn draw(blocks: &[Block]) -> String {
        let style = Style {
            color: false,
            width: 80,
            wide: false,
        };
        let mut out = Vec::new();
        render(blocks, &style, &mut out).expect("a Vec takes everything");
        String::from_utf8(out).expect("it is UTF-8")
    }

    #[test]
    fn blocks_become_lists_and_tables() {
        let column = |title, wide| Column { title, wide };
        let blocks = [
            Block::KeyValues(vec![("Result", Text::plain("fail"))]),
            Block::Heading(Text::plain("Checks")),
            Block::Rows {
                columns: vec![column("CHECK", false), column("MORE", true)],
                rows: vec![vec![Text::plain("a|b"), Text::plain("hidden")]],
            },
            Block::Findings(vec![Finding {
                title: Text::plain("x: y"),
                message: "it is".to_owned(),
                extras: vec![("Evidence", "z".to_owned())],
            }]),
        ];
        assert_eq!(
            draw(&blocks),
            "- **Result:** fail\n\n## Checks\n\n| CHECK |\n| --- |\n| a\\|b |\n\n- **x: y** it is\n  - Evidence: z\n"
        );
    }

    #[test]
    fn text_of_others_is_no_markup() {
        let hostile = "<img>\n# a\n@all [x](https://x) `y` ~z~ www.x |\u{202e}";
        assert_eq!(
            draw(&[Block::Notes(vec![hostile.to_owned()])]),
            "- &lt;img&gt;\\\\n&#35; a\\\\n&#64;all \\[x\\]\\(https&#58;//x\\) \\`y\\` \\~z\\~ www&#46;x \\|\\\\u\\{202e\\}\n"
        );
    }
}
