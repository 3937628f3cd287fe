//! Writes the catalogue's data (`data/gates/`, `data/apis/`): of the named minors, with `--enhancements FOLDER` which components the
//! KEPs of that checkout name, and which ones read what no KEP gives components.
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
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let keep = |name: String, text: String| {
        fs::write(data.join(&name), text)?;
        println!("data/{name}");
        Ok::<_, Box<dyn Error>>(())
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--enhancements" {
            let checkout = arguments
                .next()
                .ok_or("--enhancements needs a checkout of kubernetes/enhancements")?;
            let text = testkit::proposals::read(Path::new(&checkout))?;
            keep("gates/components.jsonl".to_owned(), text)?;
        } else {
            keep(
                format!("gates/{argument}.jsonl"),
                testkit::gates(&argument)?,
            )?;
            keep(format!("apis/{argument}.jsonl"), testkit::apis(&argument)?)?;
        }
    }
    let proposals = fs::read_to_string(data.join("gates/components.jsonl"))?;
    let text = testkit::readers(&testkit::minors(), &proposals)?;
    keep("gates/readers.jsonl".to_owned(), text)
}
