//! Cases as folders: `tests/cases/<command>/<case>/` with `cmd`, `in/`, `out.<format>` and `exit`.
//!
//! Each `out.<format>` is one run of the command line in `cmd` with `-o <format>`, in the case's folder. A case without
//! an expected output fails. `SNAPSHOTS=overwrite` writes what is printed; read it before you commit it.
#![expect(
    clippy::disallowed_methods,
    reason = "a test runs processes and reads files"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let trials = folders(&root)
        .into_iter()
        .flat_map(|command| folders(&command))
        .map(|case| {
            let name = case
                .strip_prefix(&root)
                .unwrap_or(&case)
                .display()
                .to_string();
            Trial::test(name, move || run(&case))
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = root
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn run(case: &Path) -> Result<(), Failed> {
    let command = fs::read_to_string(case.join("cmd"))?;
    let mut words = command.split_whitespace();
    let binary = match words.next() {
        Some("nominate") => env!("CARGO_BIN_EXE_kubectl-nominate"),
        Some("features") => env!("CARGO_BIN_EXE_kubectl-features"),
        other => {
            return Err(format!("cmd begins with {other:?}, not with nominate or features").into());
        }
    };
    let words: Vec<&str> = words.collect();
    let outputs: Vec<PathBuf> = case
        .read_dir()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_stem().is_some_and(|stem| stem == "out"))
        .collect();
    if outputs.is_empty() {
        return Err("there is no out.<format> to compare with".into());
    }
    let assert = Assert::new().action_env("SNAPSHOTS");
    for expected in outputs {
        let format = expected
            .extension()
            .and_then(|format| format.to_str())
            .unwrap_or_default();
        let run = Command::new(binary)
            .args(&words)
            .args(["-o", format])
            .current_dir(case)
            .env_clear()
            .env("HOME", "/nonexistent")
            .output()?;
        let code = run
            .status
            .code()
            .map_or_else(|| "killed by a signal".to_owned(), |code| code.to_string());
        let stdout = String::from_utf8(run.stdout)?;
        let stderr = String::from_utf8(run.stderr)?;
        assert
            .try_eq(
                Some(&"exit"),
                Data::text(format!("{code}\n")),
                Data::read_from(&case.join("exit"), Some(DataFormat::Text)),
            )
            .map_err(|error| format!("{error}{stderr}"))?;
        let printed = format!("{}{stderr}", without_generation_time(&stdout));
        assert
            .try_eq(
                Some(&format!("out.{format}")),
                Data::text(printed),
                Data::read_from(&expected, Some(DataFormat::Text)),
            )
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The one value that differs from run to run, and `now` where it is the same.
fn without_generation_time(text: &str) -> String {
    let made = text
        .split_once("generatedAt")
        .and_then(|(_, rest)| rest.lines().next())
        .map(|value| value.trim_matches([' ', ':', '"', ',']))
        .filter(|value| !value.is_empty());
    let text = made.map_or_else(|| text.to_owned(), |made| text.replace(made, "…"));
    text.lines()
        .map(|line| match line.split_once("generatedAt") {
            Some((before, _)) => format!("{before}generatedAt: …\n"),
            None => format!("{line}\n"),
        })
        .collect()
}
