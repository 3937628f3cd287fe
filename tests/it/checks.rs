//! `docs/checks.md` is what the rules of preflight say of themselves; and each rule has its cases.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes a file")]

use std::collections::BTreeSet;
use std::fs;

use kube_placement::internals;

use super::plugin::root;

#[test]
fn checks_are_documented() {
    let path = root().join("docs/checks.md");
    let due = internals::checks_markdown();
    if std::env::var_os("SNAPSHOTS").is_some_and(|word| word == "overwrite") {
        fs::write(&path, &due).expect("docs can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, due, "docs/checks.md is not current");
}

/// Every check has a case in which it finds something, one in which it finds nothing, and one in which it cannot know.
#[test]
fn every_check_has_its_three_cases() {
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    let cases = root().join("tests/cases/features-preflight");
    for case in fs::read_dir(cases).expect("there are cases") {
        let table = case.expect("it can be listed").path().join("out.table");
        let table = fs::read_to_string(table).unwrap_or_default();
        for row in table.lines().filter_map(|line| line.strip_prefix("  ")) {
            let mut words = row.split_whitespace().map(str::to_owned);
            seen.extend(words.next().zip(words.next()));
        }
    }
    let docs = internals::checks_markdown();
    let ids: Vec<&str> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert!(!ids.is_empty(), "no check is documented");
    for id in ids {
        let is = |status: &str| seen.contains(&(id.to_owned(), status.to_owned()));
        assert!(is("Fail") || is("Warning"), "no case in which {id} finds");
        assert!(is("Pass"), "no case in which {id} passes");
        assert!(is("Unknown"), "no case in which {id} is unknown");
    }
}
