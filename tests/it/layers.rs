//! Guards over the source tree: which layer may import which, and that every file says what it is for.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::plugin::root;

/// What each module of `src/` may name by `crate::`, beside itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("analysis", &["answer", "catalogue", "model", "registry"]),
    ("answer", &["block", "model"]),
    ("apply", &["model", "source"]),
    ("block", &[]),
    ("catalogue", &["model"]),
    (
        "check",
        &[
            "analysis",
            "answer",
            "block",
            "catalogue",
            "model",
            "registry",
        ],
    ),
    (
        "cli",
        &[
            "analysis",
            "answer",
            "apply",
            "block",
            "catalogue",
            "check",
            "env",
            "error",
            "model",
            "render",
            "signal",
            "source",
        ],
    ),
    ("env", &[]),
    ("error", &[]),
    (
        "internals",
        &["analysis", "catalogue", "check", "model", "source"],
    ),
    ("lib", &[]),
    ("model", &[]),
    // Only tests name it.
    ("registry", &[]),
    ("render", &["block", "registry"]),
    ("signal", &[]),
    ("source", &["model", "registry"]),
];

/// Words that only some modules may use at all.
const RESERVED: &[(&str, &[&str])] = &[
    ("kube::", &["source"]),
    ("k8s_openapi", &["source"]),
    ("async fn", &["apply", "source", "cli"]),
    ("http::", &["apply", "source"]),
    ("signal_hook", &["signal"]),
    ("std::env", &["env"]),
    ("tokio::signal", &["signal"]),
    ("colored::", &[]),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
}

fn sources() -> Vec<(String, PathBuf, String)> {
    let mut found = Vec::new();
    files(&root().join("src"), &mut found);
    found
        .into_iter()
        .filter(|path| !path.starts_with(root().join("src/bin")))
        .map(|path| {
            let inside = path
                .strip_prefix(root().join("src"))
                .expect("it was found there");
            let module = inside
                .iter()
                .next()
                .expect("a file has a name")
                .to_string_lossy()
                .replace(".rs", "");
            let text = fs::read_to_string(&path).expect("a source file is text");
            (module, path, text)
        })
        .collect()
}

/// Code without comments, strings left in: a path in a string would be a fault worth seeing too.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn arrows_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut seen = BTreeSet::new();
    for (module, path, text) in sources() {
        let may = allowed
            .get(module.as_str())
            .unwrap_or_else(|| panic!("{module:?} has no line in ARROWS"));
        seen.insert(module.clone());
        for line in code(&text) {
            for (_, rest) in line
                .match_indices("crate::")
                .map(|(at, word)| line.split_at(at + word.len()))
            {
                let names = rest.trim_start_matches('{');
                let target: String = names
                    .chars()
                    .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                    .collect();
                assert!(
                    target == module || may.contains(&target.as_str()),
                    "{} names crate::{target}; {module} may name only {may:?}",
                    path.display()
                );
            }
        }
    }
    let listed: BTreeSet<String> = ARROWS
        .iter()
        .map(|(module, _)| (*module).to_owned())
        .collect();
    assert_eq!(seen, listed, "ARROWS names modules that are not there");
}

#[test]
fn reserved_words_stay_at_the_rim() {
    for (module, path, text) in sources() {
        for (word, owners) in RESERVED {
            if !owners.contains(&module.as_str()) {
                let line = code(&text).find(|line| line.contains(word));
                assert!(line.is_none(), "{} uses {word:?}: {line:?}", path.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    let mut found = Vec::new();
    for folder in ["src", "tests", "testkit/src"] {
        files(&root().join(folder), &mut found);
    }
    assert!(found.len() > 60, "only {} files were found", found.len());
    for path in found {
        let text = fs::read_to_string(&path).expect("a source file is text");
        assert!(
            text.starts_with("//! "),
            "{} does not start with //!",
            path.display()
        );
    }
}

#[test]
fn no_file_grows_without_end() {
    for (_, path, text) in sources() {
        let lines = text.lines().count();
        assert!(
            lines <= 1000,
            "{} has {lines} lines; does it still have one reason to change?",
            path.display()
        );
    }
}

/// Causes are a promise to scripts: each word that a rule may answer is in docs/verdicts.md.
#[test]
fn every_cause_is_documented() {
    let documented =
        fs::read_to_string(root().join("docs/verdicts.md")).expect("docs/verdicts.md is there");
    let mut found = BTreeSet::new();
    for (_, path, text) in sources() {
        let judges = path.starts_with(root().join("src/analysis/verdict"))
            || path.ends_with("analysis/victims.rs");
        for line in code(&text).filter(|_| judges) {
            // Words in quotes: every second part of a line split at them.
            for word in line.split('"').skip(1).step_by(2) {
                let kebab = word.contains('-')
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
                if kebab {
                    found.insert(word.to_owned());
                }
            }
        }
    }
    assert!(found.len() > 30, "only {} causes were found", found.len());
    for cause in found {
        assert!(
            documented.contains(&format!("`{cause}`")),
            "{cause:?} is not in docs/verdicts.md"
        );
    }
}
