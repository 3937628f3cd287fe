//! Styled text on lines: measuring it and breaking it between words.
//!
//! The only way to make a [`Span`] escapes its text, so that nothing raw reaches a terminal. A word is never split.

use anstyle::Style as Look;
use unicode_width::UnicodeWidthStr;

use super::escape;

/// A run of escaped text with one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    look: Look,
    /// One line, without anything that steers a terminal.
    text: String,
}

impl Span {
    pub(crate) fn new(look: Look, text: &str) -> Self {
        Self {
            look,
            text: escape::terminal(text).into_owned(),
        }
    }

    pub(crate) fn plain(text: &str) -> Self {
        Self::new(Look::new(), text)
    }

    pub(crate) fn spaces(count: usize) -> Self {
        Self {
            look: Look::new(),
            text: " ".repeat(count),
        }
    }

    pub(crate) fn look(&self) -> Look {
        self.look
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Columns on a terminal.
    pub(crate) fn width(&self) -> usize {
        self.text.width()
    }

    /// Columns of each word.
    pub(crate) fn word_widths(&self) -> impl Iterator<Item = usize> {
        self.text.split(' ').map(UnicodeWidthStr::width)
    }
}

/// Drops spaces from a line's end.
pub(crate) fn trim_end(line: &mut Vec<Span>) {
    while let Some(last) = line.last_mut() {
        last.text.truncate(last.text.trim_end_matches(' ').len());
        if !last.text.is_empty() {
            break;
        }
        line.pop();
    }
}

/// Breaks spans, which stand `gap` spaces apart, into lines of at most `first` columns, then `rest`.
///
/// A word that is wider than a line has the line for itself. There is always one line, which may be empty: it also
/// stays empty if only the following lines have room for the first word.
pub(crate) fn wrap(spans: &[Span], gap: usize, first: usize, rest: usize) -> Vec<Vec<Span>> {
    let mut done = Vec::new();
    let mut line: Vec<Span> = Vec::new();
    let mut used = 0;
    for (index, span) in spans.iter().enumerate() {
        let mut spaces = if index > 0 { gap } else { 0 };
        for (nth, word) in span.text.split(' ').enumerate() {
            spaces += usize::from(nth > 0);
            if word.is_empty() {
                continue;
            }
            let limit = if done.is_empty() { first } else { rest };
            let width = word.width();
            let fits = used + spaces + width <= limit;
            if !fits && (!line.is_empty() || (limit < rest && width <= rest)) {
                done.push(std::mem::take(&mut line));
                used = 0;
            }
            if line.is_empty() {
                spaces = 0;
            }
            used += spaces + width;
            put(&mut line, spaces, word, span.look);
            spaces = 0;
        }
    }
    done.push(line);
    done
}

fn put(line: &mut Vec<Span>, spaces: usize, word: &str, look: Look) {
    match line.last_mut() {
        Some(last) if last.look == look => {
            last.text.extend(std::iter::repeat_n(' ', spaces));
            last.text.push_str(word);
        }
        _ => {
            if spaces > 0 {
                line.push(Span::spaces(spaces));
            }
            line.push(Span {
                look,
                text: word.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, first: usize, rest: usize) -> Vec<String> {
        let joined = |line: &Vec<Span>| line.iter().map(Span::text).collect();
        wrap(&[Span::plain(text)], 1, first, rest)
            .iter()
            .map(joined)
            .collect()
    }

    #[test]
    fn breaks_between_words_only() {
        assert_eq!(lines("one two three", 7, 7), ["one two", "three"]);
        assert_eq!(lines("one two three", 5, 9), ["one", "two three"]);
        assert_eq!(lines("a-very-long-name b", 4, 4), ["a-very-long-name", "b"]);
        assert_eq!(lines("", 4, 4), [""]);
        assert_eq!(lines("a b", 0, 0), ["a", "b"]);
    }

    #[test]
    fn first_line_stays_empty_where_the_next_has_room() {
        assert_eq!(lines("abcdef", 3, 8), ["", "abcdef"]);
        assert_eq!(lines("abcdefghij", 3, 8), ["abcdefghij"]);
        assert_eq!(lines("abcdefghij", 8, 3), ["abcdefghij"]);
    }

    #[test]
    fn spaces_are_kept_inside_a_line_and_dropped_at_its_ends() {
        assert_eq!(lines("  a   b  ", 9, 9), ["a   b"]);
        assert_eq!(lines("a      b", 4, 4), ["a", "b"]);
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(Span::plain("世界").width(), 4);
        assert_eq!(lines("世界 世界", 8, 8), ["世界", "世界"]);
        assert_eq!(lines("世界 世界", 9, 9), ["世界 世界"]);
    }

    #[test]
    fn spans_keep_their_look_and_stand_apart() {
        let bold = Look::new().bold();
        let drawn = wrap(&[Span::new(bold, "a b"), Span::plain("c")], 3, 6, 6);
        assert_eq!(
            drawn,
            [vec![Span::new(bold, "a b")], vec![Span::plain("c")]]
        );
        let drawn = wrap(&[Span::new(bold, "a b"), Span::plain("c")], 3, 7, 7);
        assert_eq!(
            drawn,
            [vec![
                Span::new(bold, "a b"),
                Span::spaces(3),
                Span::plain("c")
            ]]
        );
    }

    #[test]
    fn ends_are_trimmed() {
        let mut line = vec![Span::plain("a "), Span::spaces(4), Span::plain(" ")];
        trim_end(&mut line);
        assert_eq!(line, [Span::plain("a")]);
    }

    proptest! {
        #[test]
        fn words_stay_whole_and_lines_keep_their_width(
            text in "([a-z世\u{1b}\u{301}-]{0,12} {0,3}){0,12}", first in 0_usize..50, rest in 0_usize..50,
        ) {
            let span = Span::plain(&text);
            let drawn = lines(&text, first, rest);
            let words: Vec<&str> = span.text().split_whitespace().collect();
            prop_assert_eq!(drawn.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>(), words);
            for (nth, line) in drawn.iter().enumerate() {
                let limit = if nth == 0 { first } else { rest };
                prop_assert!(line.width() <= limit || !line.contains(' '), "{:?} in {}", line, limit);
            }
        }
    }
}
