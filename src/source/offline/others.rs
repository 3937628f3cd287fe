//! Files of a folder that are something else: what a repository has beside its objects.
//!
//! They are passed over in one line, except where they might say what is asked: broken configuration, and templates that nobody has
//! rendered. Which a file is, its name and its text say. It must not read any.

use std::collections::BTreeSet;

use super::Collected;
use super::input::Foreign;
use super::layout::named;
use crate::model::coverage::{Location, State};

/// Names that end so hold objects or configuration, if they hold anything.
const OBJECTS: [&str; 4] = [".conf", ".json", ".yaml", ".yml"];

/// Texts for people and of programs, in which gates are only spoken of.
const PROSE: [&str; 4] = [".adoc", ".md", ".rst", ".txt"];

pub(super) struct Others<'l> {
    names: &'l BTreeSet<String>,
    /// How many hold nothing.
    empty: usize,
    templates: Vec<String>,
    /// Those that mention gates and are in no form that is known.
    unknown_forms: Vec<String>,
    unread_templates: Vec<String>,
    broken: Vec<(String, String, Option<Location>)>,
}

impl<'l> Others<'l> {
    pub(super) fn of(names: &'l BTreeSet<String>) -> Self {
        Self {
            names,
            empty: 0,
            templates: Vec::new(),
            unknown_forms: Vec::new(),
            unread_templates: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Takes a file in that holds no objects. Returns whether nobody knows what it is, which is told as of other trees.
    pub(super) fn take(&mut self, name: &str, found: &Foreign) -> bool {
        let ends = |all: &[&str]| all.iter().any(|end| name.ends_with(end));
        let Foreign::Other {
            fault,
            is_broken,
            location,
            mentions_settings,
        } = found
        else {
            return true;
        };
        let list = match (is_broken, mentions_settings) {
            (true, true) if self.is_template(name) => &mut self.unread_templates,
            (true, false) if self.is_template(name) => &mut self.templates,
            (true, _) if ends(&OBJECTS) => {
                let broken = (name.to_owned(), fault.clone(), location.clone());
                self.broken.push(broken);
                return false;
            }
            (_, true) if !ends(&PROSE) => &mut self.unknown_forms,
            _ => {
                self.empty += 1;
                return false;
            }
        };
        list.push(name.to_owned());
        false
    }

    /// Helm's: in `templates/` beside a `Chart.yaml` (helm.sh/docs/topics/charts, "The Chart File Structure").
    fn is_template(&self, name: &str) -> bool {
        let ends = name.match_indices("templates/");
        ends.into_iter().any(|(at, _)| {
            let chart = name.get(..at).unwrap_or_default();
            (chart.is_empty() || chart.ends_with('/'))
                && self.names.contains(&format!("{chart}Chart.yaml"))
        })
    }

    pub(super) fn tell(self, collected: &mut Collected) {
        for (name, fault, location) in self.broken {
            collected.missing(&name, &fault, location);
        }
        let subject = |count: usize| match count {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let lines = [
            (
                self.unread_templates,
                State::Unreadable,
                "templates of Helm that mention feature gates; render them first: helm template | … --from -",
            ),
            (
                self.unknown_forms,
                State::Complete,
                "they mention feature gates in a form that is not read",
            ),
            (
                self.templates,
                State::Complete,
                "templates of Helm, which are read when they are rendered",
            ),
        ];
        for (names, state, words) in lines {
            if !names.is_empty() {
                let detail = format!("{words}: {}", named(&names));
                collected.note(&subject(names.len()), state, detail);
            }
        }
        if self.empty > 0 {
            let detail = "nothing that is read here".to_owned();
            collected.note(&subject(self.empty), State::Complete, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_what_it_may_hide() {
        let names = ["c/Chart.yaml", "c/templates/a.yaml", "templates/b.yaml"];
        let names = names.map(str::to_owned).into();
        let mut others = Others::of(&names);
        let found = |is_broken, mentions_settings| Foreign::Other {
            fault: "x".to_owned(),
            is_broken,
            location: None,
            mentions_settings,
        };
        let broken = |mentions_settings| found(true, mentions_settings);
        let other = |mentions_settings| found(false, mentions_settings);
        for (name, found) in [
            ("c/templates/a.yaml", broken(false)),
            ("c/templates/_gates.tpl", broken(true)),
            ("templates/b.yaml", broken(true)),
            ("README.md", other(true)),
            ("kubelet.yaml.j2", other(true)),
            ("values.yaml", other(false)),
            ("logo.png", broken(false)),
        ] {
            assert!(!others.take(name, &found), "{name}");
        }
        assert_eq!(others.templates, ["c/templates/a.yaml"]);
        assert_eq!(others.unread_templates, ["c/templates/_gates.tpl"]);
        assert_eq!(others.broken[0].0, "templates/b.yaml");
        assert_eq!(others.unknown_forms, ["kubelet.yaml.j2"]);
        assert_eq!(others.empty, 3);
        assert!(others.take("metrics", &Foreign::Metrics));
    }
}
