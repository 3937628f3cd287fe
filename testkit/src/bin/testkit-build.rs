//! Builds the components of the named minors into the cache, or of all of them, and lists their gates, so that tests start at once.
//!
//! It must not start anything.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program's main talks to its caller"
)]

use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.is_empty() {
        wanted = testkit::minors();
    }
    for minor in wanted {
        let built = testkit::Binaries::of(&minor)
            .and_then(|binaries| testkit::gates(&minor).map(|_| binaries))
            .and_then(|binaries| testkit::apis(&minor).map(|_| binaries));
        match built {
            Ok(binaries) => println!(
                "{minor} {} {}",
                binaries.version(),
                binaries.folder().display()
            ),
            Err(error) => {
                eprintln!("error: {error}");
                let mut cause = error.source();
                while let Some(inner) = cause {
                    eprintln!("caused by: {inner}");
                    cause = inner.source();
                }
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
