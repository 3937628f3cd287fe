//! README's commands are run, and what they print is compared with what README shows.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::fs;

use super::plugin::{nominate, root, run};

/// Command lines (`$ …`) of README with the lines that follow them in the same block.
fn shown() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md is there");
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push((command.to_owned(), String::new()));
        } else if let Some((_, output)) = found.last_mut().filter(|_| inside) {
            output.push_str(line);
            output.push('\n');
        }
    }
    found
}

#[test]
fn what_readme_shows_is_what_is_printed() {
    let mut checked = 0;
    for (command, output) in shown() {
        let words: Vec<&str> = command.split_whitespace().collect();
        let run = match words.split_at_checked(2) {
            Some((["kubectl", "nominate"], arguments)) => nominate(arguments),
            Some((["kubectl", "features"], arguments)) => {
                run(env!("CARGO_BIN_EXE_kubectl-features"), arguments, "")
            }
            _ => continue,
        };
        assert_eq!(run.stdout, output, "of {command}: {}", run.stderr);
        checked += 1;
    }
    assert!(checked >= 5, "README shows {checked} answers");
}

#[test]
fn every_make_target_that_is_named_exists() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile is there");
    for file in ["README.md", "CONTRIBUTING.md", ".ci/run"] {
        let text = fs::read_to_string(root().join(file)).expect("it is there");
        let named: Vec<&str> = text
            .split("make ")
            .skip(1)
            .filter_map(|rest| {
                rest.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-')
                    .next()
            })
            .filter(|target| !target.is_empty())
            .collect();
        for target in named {
            let exists = makefile
                .lines()
                .any(|line| line.starts_with(&format!("{target}:")));
            assert!(exists, "{file} names `make {target}`");
        }
    }
}

#[test]
fn the_demo_is_the_first_answer_of_readme() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile is there");
    let (command, _) = shown()
        .into_iter()
        .find(|(command, _)| command.starts_with("kubectl nominate"))
        .expect("README shows one");
    let demo = command
        .strip_prefix("kubectl nominate ")
        .expect("it was chosen by this");
    assert!(
        makefile.contains(&format!("-- {demo}")),
        "make demo does not run {command:?}"
    );
}
