//! Output formats: blocks drawn for people, answers written as data, reports of checks written for CI.
//!
//! A renderer computes nothing and never sees where the text came from; each escapes every string for its own
//! medium. A new format is a file with a `render` function, its `mod` line and its line in [`FORMATS`].

pub(crate) mod escape;
mod github;
mod json;
mod junit;
mod markdown;
mod plan;
pub(crate) mod report;
mod sarif;
mod table;
mod wide;
mod wrap;
mod yaml;

use std::io::{self, Write};

use serde_json::Value;

use crate::block::Block;
use report::Report;

/// What the reader's side asks of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) color: bool,
    /// Columns to keep to, as far as whole words allow.
    pub(crate) width: usize,
    /// Whether wide columns and blocks show.
    pub(crate) wide: bool,
}

/// From what a format is made.
pub(crate) enum Draw {
    People(fn(&[Block], &Style, &mut dyn Write) -> io::Result<()>),
    Data(fn(&Value, &mut dyn Write) -> io::Result<()>),
    /// Of reports of checks alone.
    Checks(fn(&Report, &mut dyn Write) -> io::Result<()>),
}

pub(crate) struct Format {
    /// The word after `-o`; also the name of its file.
    pub(crate) name: &'static str,
    pub(crate) draw: Draw,
}

impl Format {
    const fn new(name: &'static str, draw: Draw) -> Self {
        Self { name, draw }
    }

    /// What stands between two answers. JSON needs nothing; people get an empty line.
    pub(crate) fn between(&self) -> &'static str {
        match (&self.draw, self.name) {
            (Draw::People(_), _) => "\n",
            (Draw::Data(_), "yaml") => "---\n",
            (Draw::Data(_) | Draw::Checks(_), _) => "",
        }
    }
}

/// Every format, by name.
pub(crate) const FORMATS: &[Format] = &[
    Format::new("github", Draw::Checks(github::render)),
    Format::new("json", Draw::Data(json::render)),
    Format::new("junit", Draw::Checks(junit::render)),
    Format::new("markdown", Draw::People(markdown::render)),
    Format::new("plan", Draw::Checks(plan::render)),
    Format::new("sarif", Draw::Checks(sarif::render)),
    Format::new("table", Draw::People(table::render)),
    Format::new("wide", Draw::People(wide::render)),
    Format::new("yaml", Draw::Data(yaml::render)),
];

pub(crate) fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// Files of the folder that are no format.
    const PARTS: [&str; 4] = ["escape", "mod", "report", "wrap"];

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("render", &PARTS);
        assert_eq!(
            files,
            registry::names(FORMATS.iter().map(|format| format.name))
        );
        assert!(FORMATS.is_sorted_by_key(|format| format.name));
    }

    #[test]
    fn formats_are_found_by_name_only() {
        for format in FORMATS {
            assert_eq!(find(format.name).map(|found| found.name), Some(format.name));
        }
        assert!(find("").is_none());
        assert!(find("JSON").is_none());
        assert!(find("kyaml").is_none());
    }
}
