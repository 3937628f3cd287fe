//! Every verdict and cause that is documented is produced: by a live scenario, or by a fixture that says why not live.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::collections::BTreeSet;
use std::fs;

use super::plugin::root;

/// Verdict and cause; an empty cause is none.
type Pair = (String, String);

/// What no scenario can bring about on these control planes, and why. Each has a case in tests/cases/explain.
const ONLY_FIXTURES: &[(&str, &str, &str)] = &[
    (
        "NotNominated",
        "autoscaler-only",
        "no autoscaler runs here; its event's text is from public reports",
    ),
    (
        "NotNominated",
        "bind-unconfirmed",
        "it takes a binding that is reported and lost",
    ),
    (
        "Unknown",
        "managed-fields-stripped",
        "the server always tells managedFields; files may lack them",
    ),
    (
        "Unknown",
        "objects-not-logged",
        "the clusters here log requests with their answers",
    ),
    (
        "Unknown",
        "trace-wiped",
        "servers before 1.35 are not run here",
    ),
    (
        "WaitingForScheduler",
        "outside-hint-tried",
        "it takes objects that are older than the log; the scheduler writes its outcome at once",
    ),
];

/// Rows of docs/verdicts.md.
fn documented() -> BTreeSet<Pair> {
    let text =
        fs::read_to_string(root().join("docs/verdicts.md")).expect("docs/verdicts.md is there");
    let mut pairs = BTreeSet::new();
    for line in text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| verdict"))
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(kind), Some(causes)) = (cells.get(1), cells.get(2)) else {
            continue;
        };
        if causes.contains("none") {
            pairs.insert(((*kind).to_owned(), String::new()));
        }
        for cause in causes.split('`').skip(1).step_by(2) {
            pairs.insert(((*kind).to_owned(), cause.to_owned()));
        }
    }
    pairs
}

/// Rows of the live trials, as they stand in the source.
fn live() -> BTreeSet<Pair> {
    let text: String = [
        "tests/live/rows.rs",
        "tests/live/audited.rs",
        "tests/live/logged.rs",
        "tests/live/matrix.rs",
    ]
    .map(|file| fs::read_to_string(root().join(file)).expect("the rows are there"))
    .concat();
    let words: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(str::chars)
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let mut pairs = BTreeSet::new();
    for (kind, _) in documented() {
        for (at, found) in words.match_indices(&format!("\"{kind}\",")) {
            let (_, rest) = words.split_at(at + found.len());
            let cause = rest
                .strip_prefix("Some(\"")
                .or(rest.strip_prefix('"'))
                .and_then(|rest| rest.split('"').next());
            if let Some(cause) = cause {
                pairs.insert((kind.clone(), cause.to_owned()));
            } else if rest.starts_with("None") {
                pairs.insert((kind.clone(), String::new()));
            }
        }
    }
    pairs
}

/// What the cases answer, from their tables.
fn cases() -> BTreeSet<Pair> {
    let mut pairs = BTreeSet::new();
    for case in root()
        .join("tests/cases/explain")
        .read_dir()
        .expect("it is there")
    {
        let table = case.expect("it can be listed").path().join("out.table");
        let Ok(text) = fs::read_to_string(&table) else {
            continue;
        };
        let mut lines = text.lines().skip_while(|line| *line != "Verdict:").skip(1);
        let Some(kind) = lines.next() else { continue };
        let cause = lines
            .take_while(|line| !line.is_empty())
            .find_map(|line| line.trim().strip_prefix("Cause:"));
        pairs.insert((
            kind.trim().to_owned(),
            cause.unwrap_or("").trim().to_owned(),
        ));
    }
    pairs
}

#[test]
fn every_verdict_and_cause_is_produced() {
    let documented = documented();
    assert!(
        documented.len() > 40,
        "only {} verdicts and causes were found",
        documented.len()
    );
    let (live, cases) = (live(), cases());
    let refusals = fs::read_to_string(root().join("tests/it/refusals.rs"))
        .expect("tests/it/refusals.rs is there");
    let excused: BTreeSet<Pair> = ONLY_FIXTURES
        .iter()
        .map(|(kind, cause, _)| ((*kind).to_owned(), (*cause).to_owned()))
        .collect();
    for pair in &documented {
        assert!(
            live.contains(pair) || excused.contains(pair),
            "{pair:?} is in no live row, and nothing says why"
        );
        // A list that is complete comes from a server only: the fake one answers where a real one would not.
        let served = !pair.1.is_empty() && refusals.contains(&format!("\"{}\".into()", pair.1));
        assert!(
            live.contains(pair) || cases.contains(pair) || served,
            "{pair:?} is in no live row and in no case"
        );
    }
    for pair in &excused {
        assert!(documented.contains(pair), "{pair:?} is not documented");
        assert!(
            !live.contains(pair),
            "{pair:?} is produced live; it needs no excuse"
        );
    }
    for pair in live.union(&cases) {
        assert!(
            documented.contains(pair),
            "{pair:?} is answered and not documented"
        );
    }
}
