//! The answer for a terminal or a pipe, in kubectl's look: plain columns, upper-case headers, no borders.
//!
//! Names are never cut, and no word is split: a table that is too wide becomes one paragraph a row. Colour repeats
//! what the words say and never says anything alone. Columns: `get`; headings and pairs: `describe`
//! (kubernetes/kubectl 1.32: `pkg/cmd/get`, `pkg/describe`).

use std::io::{self, Write};

use anstyle::{AnsiColor, Style as Look};
use jiff::Timestamp;

use super::Style;
use super::wrap::{Span, trim_end, wrap};
use crate::block::{Block, Column, CoverageLine, Finding, Moment, Role, Text};

/// Spaces between columns, as kubectl's.
const GAP: usize = 3;
/// Indent of what stands under a heading or a title, and of a paragraph's further lines.
const INDENT: usize = 2;
/// kubectl's words for nothing there and for a time that is not known.
const NONE: &str = "<none>";
const UNKNOWN: &str = "<unknown>";

pub(crate) fn render(blocks: &[Block], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page {
        style,
        out,
        indent: 0,
        started: false,
    };
    for section in sections(blocks, style.wide) {
        page.section(&section)?;
    }
    Ok(())
}

/// A heading with all that stands under it, up to the next.
#[derive(Default)]
struct Section<'a> {
    heading: Option<&'a Text>,
    blocks: Vec<&'a Block>,
    /// Something is kept for `-o wide`.
    hides: bool,
}

fn sections(blocks: &[Block], wide: bool) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut section = Section::default();
    for block in blocks {
        match shown(block, wide) {
            Some(Block::Heading(text)) => {
                sections.push(std::mem::take(&mut section));
                section.heading = Some(text);
            }
            Some(block) => section.blocks.push(block),
            None if is_heading(block) => {
                sections.push(std::mem::take(&mut section));
            }
            None => section.hides = true,
        }
    }
    sections.push(section);
    sections
}

/// The block itself, or the one inside if it is wide and shows.
fn shown(block: &Block, wide: bool) -> Option<&Block> {
    match block {
        Block::Wide(inner) => shown(inner, wide).filter(|_| wide),
        Block::Table { columns, .. } | Block::Rows { columns, .. }
            if !columns.iter().any(|column| wide || !column.wide) =>
        {
            None
        }
        _ => Some(block),
    }
}

fn is_heading(block: &Block) -> bool {
    match block {
        Block::Heading(_) => true,
        Block::Wide(inner) => is_heading(inner),
        _ => false,
    }
}

fn is_empty(block: &Block) -> bool {
    match block {
        Block::Heading(_) => false,
        Block::KeyValues(pairs) => pairs.is_empty(),
        Block::Table { rows, .. } | Block::Rows { rows, .. } => rows.is_empty(),
        Block::Timeline(moments) => moments.is_empty(),
        Block::Findings(findings) => findings.is_empty(),
        Block::Notes(notes) => notes.is_empty(),
        Block::Coverage(lines) => lines.is_empty(),
        Block::Wide(inner) => is_empty(inner),
    }
}

struct Page<'a> {
    style: &'a Style,
    out: &'a mut dyn Write,
    indent: usize,
    started: bool,
}

impl Page<'_> {
    fn section(&mut self, section: &Section<'_>) -> io::Result<()> {
        let filled: Vec<&Block> = section
            .blocks
            .iter()
            .copied()
            .filter(|block| !is_empty(block))
            .collect();
        let outer = self.indent;
        if let Some(heading) = section.heading {
            if section.hides && section.blocks.is_empty() {
                return Ok(());
            }
            self.blank()?;
            let text = Span::new(look(heading.role).bold(), &format!("{}:", heading.text));
            self.paragraph(Vec::new(), &[text], INDENT)?;
            self.indent += INDENT;
            if filled.is_empty() && !section.blocks.is_empty() {
                self.line(vec![Span::plain(NONE)])?;
            }
        }
        // Pairs in a row share their columns.
        let pairs = |block: &Block| matches!(block, Block::KeyValues(_));
        for (nth, group) in filled
            .chunk_by(|left, right| pairs(left) && pairs(right))
            .enumerate()
        {
            if nth > 0 || section.heading.is_none() {
                self.blank()?;
            }
            self.group(group)?;
        }
        self.indent = outer;
        Ok(())
    }

    /// Draws a block, or several of pairs as if they were one.
    fn group(&mut self, group: &[&Block]) -> io::Result<()> {
        let mut pairs = Vec::new();
        for block in group {
            match block {
                Block::KeyValues(some) => {
                    pairs.extend(some.iter().map(|(key, value)| (*key, cell(value))));
                }
                Block::Table { columns, rows } => self.table(columns, rows, self.width())?,
                Block::Rows { columns, rows } => self.table(columns, rows, usize::MAX)?,
                Block::Timeline(moments) => {
                    self.ledger(&moments.iter().map(moment).collect::<Vec<_>>())?;
                }
                Block::Findings(findings) => self.findings(findings)?,
                Block::Notes(notes) => self.notes(notes)?,
                Block::Coverage(lines) => {
                    self.ledger(&lines.iter().map(coverage).collect::<Vec<_>>())?;
                }
                // `sections` has taken both out.
                Block::Heading(_) | Block::Wide(_) => {}
            }
        }
        self.pairs(&pairs)
    }

    /// Columns, if they keep to the limit, else a paragraph a row.
    fn table(&mut self, columns: &[Column], rows: &[Vec<Text>], limit: usize) -> io::Result<()> {
        let wide = self.style.wide;
        let visible = || {
            columns
                .iter()
                .enumerate()
                .filter(|(_, column)| wide || !column.wide)
        };
        let cells: Vec<Vec<Span>> = rows
            .iter()
            .map(|row| {
                visible()
                    .map(|(index, _)| row.get(index).map_or_else(|| Span::plain(NONE), cell))
                    .collect()
            })
            .collect();
        let titles: Vec<&str> = visible().map(|(_, column)| column.title).collect();
        let header: Vec<Span> = titles.iter().map(|title| Span::plain(title)).collect();
        let widths =
            widths(std::iter::once(header.as_slice()).chain(cells.iter().map(Vec::as_slice)));
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        // A single column gains nothing from a label before each name.
        if total <= limit || titles.len() < 2 {
            // Rows that go on below others have no titles.
            let has_titles = titles.iter().any(|title| !title.is_empty());
            for row in has_titles.then_some(&header).into_iter().chain(&cells) {
                self.line(aligned(row, &widths))?;
            }
            return Ok(());
        }
        for (nth, row) in cells.into_iter().enumerate() {
            if nth > 0 {
                self.blank()?;
            }
            self.pairs(&titles.iter().copied().zip(row).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn findings(&mut self, findings: &[Finding]) -> io::Result<()> {
        for finding in findings {
            self.paragraph(Vec::new(), &[cell(&finding.title)], INDENT)?;
            self.indent += INDENT;
            if !finding.message.trim().is_empty() {
                self.paragraph(Vec::new(), &[Span::plain(&finding.message)], INDENT)?;
            }
            let extras: Vec<_> = finding
                .extras
                .iter()
                .map(|(key, value)| (*key, plain_cell(value)))
                .collect();
            self.pairs(&extras)?;
            self.indent -= INDENT;
        }
        Ok(())
    }

    fn notes(&mut self, notes: &[String]) -> io::Result<()> {
        for note in notes {
            self.paragraph(Vec::new(), &[plain_cell(note)], INDENT)?;
        }
        Ok(())
    }

    /// Keys and values, the values below each other.
    fn pairs(&mut self, pairs: &[(&str, Span)]) -> io::Result<()> {
        let keys: Vec<Span> = pairs
            .iter()
            .map(|(key, _)| Span::plain(&format!("{key}:")))
            .collect();
        let column = keys.iter().map(Span::width).max().unwrap_or(0) + INDENT;
        for (key, (_, value)) in keys.into_iter().zip(pairs) {
            let padding = Span::spaces(column - key.width());
            self.paragraph(
                vec![key, padding],
                std::slice::from_ref(value),
                self.hang(column, value),
            )?;
        }
        Ok(())
    }

    /// Lines of a few short cells, then a text that may run on.
    fn ledger(&mut self, lines: &[(Vec<Span>, Span)]) -> io::Result<()> {
        let widths = widths(lines.iter().map(|(cells, _)| cells.as_slice()));
        let column = widths
            .iter()
            .filter(|width| **width > 0)
            .map(|width| width + GAP)
            .sum();
        for (cells, text) in lines {
            if column <= self.width() {
                let mut lead = aligned(cells, &widths);
                lead.push(Span::spaces(GAP));
                self.paragraph(lead, std::slice::from_ref(text), self.hang(column, text))?;
            } else {
                let all = cells
                    .iter()
                    .chain([text])
                    .filter(|span| !span.text().is_empty());
                self.paragraph(Vec::new(), &all.cloned().collect::<Vec<_>>(), INDENT)?;
            }
        }
        Ok(())
    }

    /// Where further lines of a text start that itself starts at a column.
    ///
    /// Below its beginning, if that leaves half of the width and no word is better off further left.
    fn hang(&self, column: usize, text: &Span) -> usize {
        let beside = self.width().saturating_sub(column);
        let below = self.width().saturating_sub(INDENT);
        let squeezed = beside < self.width() / 2
            || text
                .word_widths()
                .any(|width| beside < width && width <= below);
        if squeezed { INDENT } else { column }
    }

    /// What must stay together, then text that is broken between words; further lines start at `hang`.
    fn paragraph(&mut self, lead: Vec<Span>, text: &[Span], hang: usize) -> io::Result<()> {
        let taken: usize = lead.iter().map(Span::width).sum();
        let first = self.width().saturating_sub(taken);
        let rest = self.width().saturating_sub(hang);
        let mut start = lead;
        for line in wrap(text, GAP, first, rest) {
            start.extend(line);
            self.line(std::mem::replace(&mut start, vec![Span::spaces(hang)]))?;
        }
        Ok(())
    }

    fn line(&mut self, mut line: Vec<Span>) -> io::Result<()> {
        trim_end(&mut line);
        if !line.is_empty() {
            write!(self.out, "{:1$}", "", self.indent)?;
        }
        for span in &line {
            let look = if self.style.color {
                span.look()
            } else {
                Look::new()
            };
            write!(self.out, "{look}{}{look:#}", span.text())?;
        }
        self.started = true;
        writeln!(self.out)
    }

    /// An empty line, but not at the top.
    fn blank(&mut self) -> io::Result<()> {
        if self.started {
            self.line(Vec::new())
        } else {
            Ok(())
        }
    }

    /// Columns right of the indent.
    fn width(&self) -> usize {
        self.style.width.saturating_sub(self.indent)
    }
}

fn look(role: Role) -> Look {
    let color = |color: AnsiColor| Look::new().fg_color(Some(color.into()));
    match role {
        Role::Plain => Look::new(),
        Role::Good => color(AnsiColor::Green),
        Role::Warning => color(AnsiColor::Yellow),
        Role::Bad => color(AnsiColor::Red),
        Role::Name => color(AnsiColor::Cyan),
        Role::Dim => Look::new().dimmed(),
    }
}

/// A text that must not be empty, since the eye would take its neighbour for it.
fn cell(text: &Text) -> Span {
    if text.text.trim().is_empty() {
        Span::plain(NONE)
    } else {
        Span::new(look(text.role), &text.text)
    }
}

fn plain_cell(text: &str) -> Span {
    Span::plain(if text.trim().is_empty() { NONE } else { text })
}

fn moment(moment: &Moment) -> (Vec<Span>, Span) {
    let cells = vec![
        Span::plain(&time(moment.at)),
        Span::plain(&moment.actor),
        Span::plain(&moment.what),
    ];
    (cells, Span::plain(&moment.detail))
}

fn coverage(line: &CoverageLine) -> (Vec<Span>, Span) {
    (
        vec![plain_cell(&line.subject), cell(&line.state)],
        Span::plain(&line.detail),
    )
}

/// RFC 3339 in UTC, down to milliseconds where there are any.
fn time(at: Option<Timestamp>) -> String {
    match at {
        None => UNKNOWN.to_owned(),
        Some(at) if at.subsec_millisecond() == 0 => format!("{at:.0}"),
        Some(at) => format!("{at:.3}"),
    }
}

/// The widest of each column.
fn widths<'a>(rows: impl Iterator<Item = &'a [Span]>) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    widths
}

/// Cells padded to their columns; a column without any text takes no room.
fn aligned(cells: &[Span], widths: &[usize]) -> Vec<Span> {
    let mut line = Vec::new();
    for (cell, width) in cells.iter().zip(widths).filter(|(_, width)| **width > 0) {
        if !line.is_empty() {
            line.push(Span::spaces(GAP));
        }
        line.push(cell.clone());
        line.push(Span::spaces(width.saturating_sub(cell.width())));
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::escape;
    use super::*;

    fn draw_with(blocks: &[Block], width: usize, wide: bool, color: bool) -> String {
        let style = Style { color, width, wide };
        let mut out = Vec::new();
        render(blocks, &style, &mut out).expect("a Vec takes everything");
        String::from_utf8(out).expect("only text was written")
    }

    fn draw(blocks: &[Block], width: usize) -> String {
        draw_with(blocks, width, false, false)
    }

    fn heading(text: &str) -> Block {
        Block::Heading(Text::plain(text))
    }

    fn notes(texts: &[&str]) -> Block {
        Block::Notes(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    fn victims() -> Block {
        let column = |title, wide| Column { title, wide };
        let row = |name: &str, state| {
            vec![
                Text::plain("default"),
                Text::name(name),
                state,
                Text::plain("6a4f0f0e-6a0c-4c39-9a86-0e1b1a2f3c4d"),
            ]
        };
        Block::Table {
            columns: vec![
                column("NAMESPACE", false),
                column("NAME", false),
                column("STATE", false),
                column("UID", true),
            ],
            rows: vec![
                row("web-7d4b9c6f5d-x2x7q", Text::new(Role::Bad, "overdue")),
                row("db-0", Text::plain("terminating")),
            ],
        }
    }

    fn moment_at(at: Option<&str>, actor: &str, what: &str, detail: &str) -> Moment {
        Moment {
            at: at.map(|at| at.parse().expect("a time of this test")),
            actor: actor.to_owned(),
            what: what.to_owned(),
            detail: detail.to_owned(),
        }
    }

    const MESSAGE: &str = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint \
        {node-role.kubernetes.io/control-plane: }. preemption: not helpful.";

    fn everything() -> Vec<Block> {
        vec![
            Block::KeyValues(vec![
                ("Pod", Text::name("default/web-0")),
                ("Node", Text::plain("")),
            ]),
            Block::Wide(Box::new(Block::KeyValues(vec![(
                "Scheduler",
                Text::name("default-scheduler"),
            )]))),
            heading("Verdict"),
            Block::Findings(vec![Finding {
                title: Text::new(Role::Bad, "Stale"),
                message: MESSAGE.to_owned(),
                extras: vec![
                    ("Cause", "no-room".to_owned()),
                    ("Certainty", "proven: an object states it".to_owned()),
                ],
            }]),
            heading("Victims"),
            victims(),
            heading("Timeline"),
            Block::Timeline(vec![
                moment_at(None, "kubelet", "Started", ""),
                moment_at(
                    Some("2026-11-30T08:00:00Z"),
                    "default-scheduler",
                    "FailedScheduling",
                    MESSAGE,
                ),
                moment_at(
                    Some("2026-11-30T08:00:01.123456Z"),
                    "default-scheduler",
                    "Nominated",
                    "to n1",
                ),
            ]),
            heading("Not observed"),
            Block::Coverage(vec![CoverageLine {
                subject: "events in default".to_owned(),
                state: Text::new(Role::Warning, "Expired"),
                detail: "the oldest is 47 minutes old, so what came before is not known".to_owned(),
            }]),
            Block::Wide(Box::new(heading("Observed"))),
            Block::Wide(Box::new(notes(&["pods"]))),
        ]
    }

    #[test]
    fn everything_at_100_columns() {
        let expected = "\
Pod:   default/web-0
Node:  <none>

Verdict:
  Stale
    0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint
      {node-role.kubernetes.io/control-plane: }. preemption: not helpful.
    Cause:      no-room
    Certainty:  proven: an object states it

Victims:
  NAMESPACE   NAME                   STATE
  default     web-7d4b9c6f5d-x2x7q   overdue
  default     db-0                   terminating

Timeline:
  <unknown>                  kubelet             Started
  2026-11-30T08:00:00Z       default-scheduler   FailedScheduling   0/3 nodes are available: 1
    Insufficient cpu, 2 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.
    preemption: not helpful.
  2026-11-30T08:00:01.123Z   default-scheduler   Nominated          to n1

Not observed:
  events in default   Expired   the oldest is 47 minutes old, so what came before is not known
";
        assert_eq!(draw(&everything(), 100), expected);
    }

    #[test]
    fn everything_at_40_columns() {
        let expected = "\
Pod:   default/web-0
Node:  <none>

Verdict:
  Stale
    0/3 nodes are available: 1
      Insufficient cpu, 2 node(s) had
      untolerated taint
      {node-role.kubernetes.io/control-plane:
      }. preemption: not helpful.
    Cause:      no-room
    Certainty:  proven: an object states
                it

Victims:
  NAMESPACE:  default
  NAME:       web-7d4b9c6f5d-x2x7q
  STATE:      overdue

  NAMESPACE:  default
  NAME:       db-0
  STATE:      terminating

Timeline:
  <unknown>   kubelet   Started
  2026-11-30T08:00:00Z
    default-scheduler   FailedScheduling
    0/3 nodes are available: 1
    Insufficient cpu, 2 node(s) had
    untolerated taint
    {node-role.kubernetes.io/control-plane:
    }. preemption: not helpful.
  2026-11-30T08:00:01.123Z
    default-scheduler   Nominated   to
    n1

Not observed:
  events in default   Expired   the
    oldest is 47 minutes old, so what
    came before is not known
";
        assert_eq!(draw(&everything(), 40), expected);
    }

    #[test]
    fn wide_shows_wide_columns_and_blocks() {
        let drawn = draw_with(&everything(), 120, true, false);
        assert!(
            drawn.starts_with(
                "Pod:        default/web-0\nNode:       <none>\nScheduler:  default-scheduler\n\n"
            ),
            "{drawn}"
        );
        assert!(drawn.contains("STATE         UID\n"), "{drawn}");
        assert!(drawn.ends_with("\nObserved:\n  pods\n"), "{drawn}");
    }

    #[test]
    fn a_heading_with_nothing_under_it() {
        let empty_table = Block::Table {
            columns: vec![Column {
                title: "NAME",
                wide: false,
            }],
            rows: Vec::new(),
        };
        let empties = [
            empty_table.clone(),
            Block::KeyValues(Vec::new()),
            Block::Timeline(Vec::new()),
            Block::Findings(Vec::new()),
            Block::Notes(Vec::new()),
            Block::Coverage(Vec::new()),
        ];
        for empty in empties {
            assert_eq!(
                draw(&[heading("Victims"), empty.clone()], 40),
                "Victims:\n  <none>\n"
            );
            assert_eq!(draw(&[empty], 40), "");
        }
        assert_eq!(draw(&[], 40), "");
        assert_eq!(
            draw(&[heading("A"), heading("B"), empty_table], 40),
            "A:\n\nB:\n  <none>\n"
        );
    }

    #[test]
    fn a_heading_goes_with_what_wide_hides() {
        let hidden = |block| Block::Wide(Box::new(block));
        assert_eq!(
            draw(
                &[
                    heading("A"),
                    hidden(notes(&["x"])),
                    heading("B"),
                    notes(&["y"])
                ],
                40
            ),
            "B:\n  y\n"
        );
        assert_eq!(
            draw(
                &[notes(&["x"]), hidden(heading("A")), hidden(notes(&["y"]))],
                40
            ),
            "x\n"
        );
        let only_wide = Block::Table {
            columns: vec![Column {
                title: "UID",
                wide: true,
            }],
            rows: vec![vec![Text::plain("1")]],
        };
        assert_eq!(draw(&[heading("A"), only_wide], 40), "");
    }

    #[test]
    fn colour_is_added_to_the_same_text() {
        let colored = draw_with(&everything(), 100, false, true);
        assert!(
            colored.contains("\u{1b}[1mVerdict:\u{1b}[0m\n"),
            "{colored:?}"
        );
        assert!(
            colored.contains("\u{1b}[31mStale\u{1b}[0m\n"),
            "{colored:?}"
        );
        assert!(
            colored.contains("\u{1b}[36mdb-0\u{1b}[0m    "),
            "{colored:?}"
        );
        assert!(
            colored.contains("\u{1b}[33mExpired\u{1b}[0m   the"),
            "{colored:?}"
        );
        let plain = draw(&everything(), 100);
        assert!(!plain.contains('\u{1b}'));
        assert_eq!(strip(&colored), plain);
    }

    #[test]
    fn colour_does_not_run_over_a_line_break() {
        let blocks = [Block::KeyValues(vec![(
            "A",
            Text::new(Role::Good, "one two"),
        )])];
        assert_eq!(
            draw_with(&blocks, 8, false, true),
            "A:  \u{1b}[32mone\u{1b}[0m\n    \u{1b}[32mtwo\u{1b}[0m\n"
        );
    }

    #[test]
    fn wide_characters_keep_the_columns() {
        let column = |title| Column { title, wide: false };
        let table = Block::Table {
            columns: vec![column("NAME"), column("NODE")],
            rows: vec![
                vec![Text::plain("世界"), Text::plain("a")],
                vec![Text::plain("e\u{301}te\u{301}"), Text::plain("b")],
                vec![Text::plain("abcdef")],
                vec![Text::plain("x"), Text::plain("y"), Text::plain("no column")],
            ],
        };
        let expected = "\
NAME     NODE
世界     a
e\u{301}te\u{301}      b
abcdef   <none>
x        y
";
        assert_eq!(draw(std::slice::from_ref(&table), 15), expected);
        assert!(draw(&[table], 14).starts_with("NAME:  世界\nNODE:  a\n\nNAME:  "));
    }

    #[test]
    fn hostile_text_stays_in_its_place() {
        let hostile = "x\u{1b}[2J\nVictims:\r\u{9b}31m\u{202e}\u{2028}y";
        let shown = "x\\u{1b}[2J\\nVictims:\\r\\u{9b}31m\\u{202e}\\u{2028}y";
        let text = Text::name(hostile);
        let blocks = [
            Block::Heading(text.clone()),
            Block::KeyValues(vec![("Pod", text.clone())]),
            Block::Table {
                columns: vec![Column {
                    title: "NAME",
                    wide: false,
                }],
                rows: vec![vec![text.clone()]],
            },
            Block::Timeline(vec![moment_at(None, hostile, hostile, hostile)]),
            Block::Findings(vec![Finding {
                title: text.clone(),
                message: hostile.into(),
                extras: vec![("A", hostile.into())],
            }]),
            notes(&[hostile]),
            Block::Coverage(vec![CoverageLine {
                subject: hostile.into(),
                state: text,
                detail: hostile.into(),
            }]),
        ];
        let drawn = draw(&blocks, 200);
        assert_eq!(drawn.matches(shown).count(), 13, "{drawn}");
        assert!(!drawn.contains(|character| character != '\n' && escape::steers(character)));
        assert!(
            drawn
                .lines()
                .skip(1)
                .all(|line| line.is_empty() || line.starts_with("  ")),
            "{drawn}"
        );
    }

    #[test]
    fn times_are_utc_down_to_milliseconds() {
        let at = |text: &str| time(Some(text.parse().expect("a time of this test")));
        assert_eq!(at("2026-11-30T08:00:00Z"), "2026-11-30T08:00:00Z");
        assert_eq!(
            at("2026-11-30T09:00:00.5+01:00"),
            "2026-11-30T08:00:00.500Z"
        );
        assert_eq!(
            at("2026-11-30T08:00:00.999999Z"),
            "2026-11-30T08:00:00.999Z"
        );
        assert_eq!(at("2026-11-30T08:00:00.000999Z"), "2026-11-30T08:00:00Z");
        assert_eq!(time(None), "<unknown>");
    }

    #[test]
    fn a_closed_pipe_is_passed_on() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let style = Style {
            color: false,
            width: 40,
            wide: false,
        };
        let error = render(&everything(), &style, &mut Closed).expect_err("the pipe is closed");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    /// Takes out our own colours, and nothing else.
    fn strip(text: &str) -> String {
        let mut out = text.to_owned();
        for code in ["0", "1", "2", "31", "32", "33", "36"] {
            out = out.replace(&format!("\u{1b}[{code}m"), "");
        }
        out
    }

    fn any_text() -> impl Strategy<Value = Text> {
        let role = prop::sample::select(vec![
            Role::Plain,
            Role::Good,
            Role::Warning,
            Role::Bad,
            Role::Name,
            Role::Dim,
        ]);
        (role, any_string()).prop_map(|(role, text)| Text::new(role, text))
    }

    fn any_string() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[a \n\r\t\u{1b}\u{9b}\u{202e}\u{2028}:世-]{0,40}",
            "([a-z-]{1,30} ){0,9}"
        ]
    }

    fn any_block() -> impl Strategy<Value = Block> {
        let columns = vec![
            Column {
                title: "NAME",
                wide: false,
            },
            Column {
                title: "NODE",
                wide: false,
            },
            Column {
                title: "UID",
                wide: true,
            },
        ];
        let at = any::<Option<i32>>()
            .prop_map(|at| at.and_then(|at| Timestamp::from_second(at.into()).ok()));
        let block = prop_oneof![
            any_text().prop_map(Block::Heading),
            prop::collection::vec((Just("Key"), any_text()), 0..4).prop_map(Block::KeyValues),
            prop::collection::vec(prop::collection::vec(any_text(), 0..5), 0..4).prop_map(
                move |rows| Block::Table {
                    columns: columns.clone(),
                    rows
                }
            ),
            prop::collection::vec((at, any_string(), any_string(), any_string()), 0..4).prop_map(
                |moments| {
                    let moment = |(at, actor, what, detail)| Moment {
                        at,
                        actor,
                        what,
                        detail,
                    };
                    Block::Timeline(moments.into_iter().map(moment).collect())
                }
            ),
            (any_text(), any_string(), any_string()).prop_map(|(title, message, extra)| {
                Block::Findings(vec![Finding {
                    title,
                    message,
                    extras: vec![("Cause", extra)],
                }])
            }),
            prop::collection::vec(any_string(), 0..3).prop_map(Block::Notes),
            (any_string(), any_text(), any_string()).prop_map(|(subject, state, detail)| {
                Block::Coverage(vec![CoverageLine {
                    subject,
                    state,
                    detail,
                }])
            }),
        ];
        (block, any::<bool>()).prop_map(|(block, wide)| {
            if wide {
                Block::Wide(Box::new(block))
            } else {
                block
            }
        })
    }

    proptest! {
        #[test]
        fn nothing_steers_at_any_width(
            blocks in prop::collection::vec(any_block(), 0..6), width in 0_usize..130, wide in any::<bool>(),
        ) {
            let plain = draw_with(&blocks, width, wide, false);
            prop_assert!(!plain.contains(|character| character != '\n' && escape::steers(character)), "{:?}", plain);
            prop_assert!(plain.lines().all(|line| !line.ends_with(' ')), "{:?}", plain);
            prop_assert!(!plain.starts_with('\n') && !plain.contains("\n\n\n"), "{:?}", plain);
            prop_assert_eq!(strip(&draw_with(&blocks, width, wide, true)), plain);
        }

        #[test]
        fn lines_keep_the_width_where_words_allow(blocks in prop::collection::vec(any_block(), 0..6), width in 40_usize..130) {
            for line in draw(&blocks, width).lines() {
                let over = Span::plain(line).width() > width;
                let long = |word: &str| Span::plain(word).width() + 3 * INDENT > width;
                // Only for a word that fits on no line, at the deepest indent.
                prop_assert!(!over || line.split_whitespace().any(long), "{:?}", line);
            }
        }

        #[test]
        fn names_are_never_cut(name in "[a-z0-9.-]{1,253}", width in 0_usize..130) {
            let table = |title| Block::Table {
                columns: vec![Column { title, wide: false }, Column { title: "NODE", wide: false }],
                rows: vec![vec![Text::name(name.as_str()), Text::name("n1")]],
            };
            let blocks = [
                table("NAME"),
                Block::KeyValues(vec![("Pod", Text::name(name.as_str()))]),
                Block::Timeline(vec![moment_at(None, &name, &name, &name)]),
                notes(&[&name]),
            ];
            prop_assert!(draw(&blocks, width).matches(&name).count() >= 6);
        }
    }
}
