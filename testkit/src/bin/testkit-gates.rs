//! Writes the gate catalogue's data (`data/gates/`): of the named minors, with `--enhancements FOLDER` which components the KEPs of that
//! checkout name, and which ones read what no KEP gives components.
//!
//! It must not start anything.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program's main talks to its caller and writes files"
)]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(inner) = cause {
                eprintln!("caused by: {inner}");
                cause = inner.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/gates");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let (name, text) = if argument == "--enhancements" {
            let checkout = arguments
                .next()
                .ok_or("--enhancements needs a checkout of kubernetes/enhancements")?;
            let text = testkit::proposals::read(Path::new(&checkout))?;
            ("components.jsonl".to_owned(), text)
        } else {
            (format!("{argument}.jsonl"), testkit::gates(&argument)?)
        };
        fs::write(folder.join(&name), text)?;
        println!("data/gates/{name}");
    }
    let proposals = fs::read_to_string(folder.join("components.jsonl"))?;
    let text = testkit::readers(&testkit::minors(), &proposals)?;
    fs::write(folder.join("readers.jsonl"), text)?;
    println!("data/gates/readers.jsonl");
    Ok(())
}
