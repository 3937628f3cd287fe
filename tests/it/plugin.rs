//! Runs a plugin's binary with a clean environment, and gives back what it printed.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// `kubectl-nominate` with these arguments, no configuration and nothing on standard input.
pub(crate) fn nominate(arguments: &[&str]) -> Run {
    run(env!("CARGO_BIN_EXE_kubectl-nominate"), arguments, "")
}

pub(crate) fn run(binary: &str, arguments: &[&str], stdin: &str) -> Run {
    let mut child = command(binary, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built by this test run");
    // A command that does not read its input closes it; that is no fault.
    drop(
        child
            .stdin
            .take()
            .map(|mut pipe| pipe.write_all(stdin.as_bytes())),
    );
    let output = child.wait_with_output().expect("it ends");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("output is UTF-8"),
    }
}

/// A run with a clean environment, to be changed and started.
pub(crate) fn command(binary: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .current_dir(root())
        .env_clear()
        .env("HOME", "/nonexistent");
    command
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn both_plugins_tell_their_version() {
    let version = env!("CARGO_PKG_VERSION");
    let nominate = nominate(&["version"]);
    assert_eq!(
        (nominate.code, nominate.stdout),
        (Some(0), format!("kubectl-nominate v{version}\n"))
    );
    let features = run(env!("CARGO_BIN_EXE_kubectl-features"), &["version"], "");
    assert_eq!(
        (features.code, features.stdout),
        (Some(0), format!("kubectl-features v{version}\n"))
    );
}

#[test]
fn help_is_in_kubectls_order_and_names_the_exit_codes() {
    let help = nominate(&["explain", "--help"]);
    assert_eq!(help.code, Some(0));
    let at = |text: &str| {
        help.stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text:?} is not in:\n{}", help.stdout))
    };
    assert!(at("Examples:") < at("Options:"), "{}", help.stdout);
    assert!(at("Options:") < at("Usage:"), "{}", help.stdout);
    assert!(at("Usage:") < at("Exit codes:"), "{}", help.stdout);
    assert!(
        help.stdout
            .contains("kubectl nominate explain [OPTIONS] [POD|TYPE/NAME]..."),
        "{}",
        help.stdout
    );
    assert!(
        help.stdout.lines().all(|line| line.chars().count() <= 120),
        "{}",
        help.stdout
    );
}
