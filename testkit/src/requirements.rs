//! Asks upstream's library of declared features (KEP-5328) of a minor what Pods require and what kubelets declare.
//!
//! The Go program of a minor (`go/<minor>/requirements`) imports that library and answers a question a line; it is built once, in a
//! second, into the cache. It must not interpret.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::binaries::{self, BuildError, file, go};

/// Answers to questions, a JSON object a line each, as a release of this minor gives them.
pub fn requirements(minor: &str, release: &str, questions: &str) -> Result<String, BuildError> {
    let source = binaries::source(minor)?;
    let cache = binaries::cache()?;
    let hash = binaries::fingerprint(&source, "requirements/main.go")?;
    let program = cache.join(format!("requirements-{minor}-{hash}"));
    if !program.is_file() {
        fs::create_dir_all(&cache).map_err(file("create", &cache))?;
        // It appears by one rename, so its presence means that it is whole; two at once write the same.
        let rough = program.with_extension(format!("unfinished-{}", std::process::id()));
        let output = rough.display().to_string();
        let build = [
            "-trimpath",
            "-buildvcs=false",
            "-o",
            &output,
            "./requirements",
        ];
        go(&source, "build", &build)?;
        fs::rename(&rough, &program).map_err(file("rename", &rough))?;
    }
    let mut child = Command::new(&program)
        .arg(release)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(file("run", &program))?;
    let input = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A pipe holds little: it is filled while the answers are taken out.
        scope.spawn(move || input.map(|mut input| input.write_all(questions.as_bytes())));
        child.wait_with_output()
    });
    let output = output.map_err(file("run", &program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(BuildError::Go {
        command: "requirements",
        folder: source,
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
