//! Makes text from a cluster or a file safe for its medium.
//!
//! Text is hostile: an event's message may carry escape sequences, forge a line of ours or turn the reading order
//! round (as kubectl's `printers.EscapeTerminal` guards against; bidi controls: CVE-2021-42574). Nothing readable
//! may be dropped or changed here.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character steers a terminal or a reader instead of being read.
///
/// C0, DEL and C1 controls, the characters of Unicode's `Bidi_Control`, line and paragraph separators, and the
/// invisible byte-order mark.
pub(crate) fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
                | '\u{FEFF}'
        )
}

/// Escapes text for a terminal: what steers is shown as `\n`, `\t`, `\r` or `\u{..}`.
///
/// The result is one line. It can't be turned back, since a backslash stays as it is.
pub(crate) fn terminal(text: &str) -> Cow<'_, str> {
    replace(text, |out, character| match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.extend(other.escape_unicode()),
    })
}

/// Escapes what stands inside double quotes of JSON or YAML and was left raw there, as `\u` and four digits.
///
/// Readers get the same value back. Line breaks stay: in a finished document they are layout.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    replace(text, |out, character| match character {
        '\n' => out.push('\n'),
        // No such character is above U+FFFF, so four digits always do; writing to a String can't fail.
        other => drop(write!(out, "\\u{:04x}", u32::from(other))),
    })
}

fn replace(text: &str, put: fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if steers(character) {
            put(&mut out, character);
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(terminal("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(terminal("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(terminal("\0"), "\\u{0}");
    }

    #[test]
    fn a_line_cannot_be_forged() {
        assert_eq!(terminal("ok\nVerdict:\r\tx"), "ok\\nVerdict:\\r\\tx");
        assert_eq!(
            terminal("a\u{85}b\u{2028}c\u{2029}d\u{b}"),
            "a\\u{85}b\\u{2028}c\\u{2029}d\\u{b}"
        );
    }

    #[test]
    fn reading_order_cannot_be_turned() {
        let controls: String = ('\u{202A}'..='\u{202E}')
            .chain('\u{2066}'..='\u{2069}')
            .collect();
        for character in controls.chars().chain(['\u{200E}', '\u{200F}', '\u{061C}']) {
            assert_eq!(
                terminal(&format!("a{character}b")),
                format!("a\\u{{{:x}}}b", u32::from(character))
            );
        }
    }

    #[test]
    fn ordinary_text_is_not_touched() {
        for text in [
            "",
            "web-0",
            "Grüße, 世界 👩‍👩‍👧 שלום مرحبا",
            "a\\b",
            "0/3 nodes are available: 3 Insufficient cpu.",
        ] {
            assert!(matches!(terminal(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn inside_quotes_the_value_is_kept() {
        let hostile = "a\u{9b}\u{7f}\u{202e}\u{feff}\u{2028}b";
        let json = format!("\"{}\"", quoted(hostile));
        assert_eq!(json, r#""a\u009b\u007f\u202e\ufeff\u2028b""#);
        assert_eq!(
            serde_json::from_str::<String>(&json).ok().as_deref(),
            Some(hostile)
        );
    }

    proptest! {
        #[test]
        fn nothing_that_steers_gets_out(text in any::<String>()) {
            prop_assert!(!terminal(&text).contains(steers));
            prop_assert!(!quoted(&text).contains(|character| character != '\n' && steers(character)));
        }

        #[test]
        fn what_can_be_read_stays_in_order(text in any::<String>()) {
            let readable: String = text.chars().filter(|character| !steers(*character)).collect();
            let escaped = terminal(&text);
            let mut rest = escaped.chars();
            prop_assert!(readable.chars().all(|wanted| rest.any(|found| found == wanted)));
        }
    }
}
