//! `docs/checks.md` is what the rules of preflight say of themselves.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes a file")]

use kube_placement::internals;

use super::plugin::root;

#[test]
fn checks_are_documented() {
    let path = root().join("docs/checks.md");
    let due = internals::checks_markdown();
    if std::env::var_os("SNAPSHOTS").is_some_and(|word| word == "overwrite") {
        std::fs::write(&path, &due).expect("docs can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, due, "docs/checks.md is not current");
}
