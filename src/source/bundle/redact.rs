//! Replaces text that must not leave the house, wherever it stands.
//!
//! The same text is replaced the same way everywhere. The patterns may tell what they hide, so they are written nowhere.

use regex::Regex;

/// What stands for a text that was taken out.
const REDACTED: &str = "<redacted>";

/// Patterns, and how often they were found.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    patterns: Vec<Regex>,
    places: usize,
}

/// A pattern of the command line; one that matches nothing at all would be found between all letters.
pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    let pattern = Regex::new(text).map_err(|error| {
        let sentence = error.to_string();
        let last = sentence.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    })?;
    if pattern.is_match("") {
        return Err("it matches the empty text".to_owned());
    }
    Ok(pattern)
}

impl Redactor {
    pub(crate) fn new(patterns: Vec<Regex>) -> Self {
        Self {
            patterns,
            places: 0,
        }
    }

    /// Replaces each match in a text.
    pub(crate) fn redact(&mut self, text: &mut String) {
        for pattern in &self.patterns {
            let found = pattern
                .find_iter(text)
                .filter(|found| !found.is_empty())
                .count();
            if found > 0 {
                self.places += found;
                *text = pattern
                    .replace_all(text, regex::NoExpand(REDACTED))
                    .into_owned();
            }
        }
    }

    /// The same of a text that may be missing.
    pub(super) fn redact_any(&mut self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.redact(text);
        }
    }

    pub(super) fn patterns(&self) -> usize {
        self.patterns.len()
    }

    pub(super) fn places(&self) -> usize {
        self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_match_is_replaced_and_counted() {
        let patterns = ["acme", r"10\.\d+\.\d+\.\d+"].map(|text| pattern(text).expect("a pattern"));
        let mut redactor = Redactor::new(patterns.to_vec());
        let mut text = "acme-web on 10.0.0.7 of acme, not 10.0.0".to_owned();
        redactor.redact(&mut text);
        assert_eq!(
            text,
            "<redacted>-web on <redacted> of <redacted>, not 10.0.0"
        );
        assert_eq!((redactor.patterns(), redactor.places()), (2, 3));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused() {
        for wrong in ["(", "a*", ""] {
            assert!(pattern(wrong).is_err(), "{wrong:?}");
        }
    }
}
