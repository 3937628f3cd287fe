//! Writes a List of many Pods, made of a recorded moment, to standard output: `testkit-copies FOLDER PODS`.
//!
//! It is for measuring by hand what reads such a List.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it is a command of its own"
)]

use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use testkit::copies::Moment;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, pods] = arguments.as_slice() else {
        eprintln!("usage: testkit-copies FOLDER PODS");
        return ExitCode::from(2);
    };
    match write(Path::new(folder), pods) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path, pods: &str) -> Result<(), Box<dyn std::error::Error>> {
    let read = |name: &str| -> Result<Value, Box<dyn std::error::Error>> {
        Ok(serde_json::from_slice(&std::fs::read(folder.join(name))?)?)
    };
    let moment = Moment::of(
        &read("pods.json")?,
        &read("events.json")?,
        &read("nodes.json")?,
    );
    let mut out = BufWriter::new(std::io::stdout().lock());
    Ok(moment.write(pods.parse()?, &mut out)?)
}
