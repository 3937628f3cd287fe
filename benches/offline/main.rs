//! What is read without a cluster, against the tools that only pass over the same bytes: audit logs against jq and zcat, a must-gather
//! against tar, a checkout of configuration against a parser. `KUBE_PLACEMENT_ONLY` names one of them: audit, gather, repository.
//!
//! Each part writes its section of docs/benchmarks.md. It must not measure a debug build.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a command of its own"
)]

mod audit;
mod cost;
mod gather;
mod repository;
mod section;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Measures below a folder.
type Part = fn(&Path, &Path) -> Result<section::Section>;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == cost::MEASURE => cost::measure(rest),
        _ => bench(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<()> {
    if cfg!(debug_assertions) {
        return Err("this is a debug build; run `make bench-offline`".into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parts: [(&str, Part); 3] = [
        ("audit", audit::run),
        ("gather", gather::run),
        ("repository", repository::run),
    ];
    let only = std::env::var("KUBE_PLACEMENT_ONLY").ok();
    let is_asked = |name: &str| only.as_deref().is_none_or(|only| only == name);
    for (_, part) in parts.into_iter().filter(|(name, _)| is_asked(name)) {
        // What was made goes away with the folder.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let section = part(root, folder.path())?;
        print!("{}", section.text);
        section.put(&root.join("docs/benchmarks.md"))?;
    }
    Ok(())
}

/// A size in MiB from the environment.
fn mebibytes(variable: &str, default: usize) -> Result<usize> {
    Ok(match std::env::var(variable) {
        Ok(text) => text.parse()?,
        Err(_) => default,
    })
}
