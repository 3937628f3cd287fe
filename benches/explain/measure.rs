//! What one run of a command costs: time, processor, peak memory.
//!
//! A process counts as its own peak what its parent had in memory when it started it. So this program starts itself
//! once more, small and fresh, and that one starts the command. It must not know what it measures.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

/// First argument of the small one.
pub(crate) const MEASURE: &str = "--measure";

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A command, and how to point it at a server.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<String>,
    /// kubectl finds the plugin there.
    pub(crate) path: OsString,
    /// kubectl keeps what it discovered there, so only its first run asks for it.
    pub(crate) home: OsString,
}

/// The cost of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// User and system time together.
    pub(crate) processor: Duration,
    /// In bytes.
    pub(crate) memory: u64,
}

impl Tool {
    /// The command with arguments before or after its own.
    pub(crate) fn command(&self, kubeconfig: &Path, more: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.prepare(&mut command, kubeconfig);
        command.args(&self.arguments).args(more);
        command
    }

    fn prepare(&self, command: &mut Command, kubeconfig: &Path) {
        command
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
    }

    /// Runs it once through the small program.
    pub(crate) fn cost(&self, kubeconfig: &Path) -> Result<Cost> {
        let mut command = Command::new(std::env::current_exe()?);
        self.prepare(&mut command, kubeconfig);
        command
            .arg(MEASURE)
            .arg(&self.program)
            .args(&self.arguments);
        let output = command.stdout(Stdio::piped()).output()?;
        let told = String::from_utf8(output.stdout)?;
        let numbers: Vec<u64> = told
            .split_whitespace()
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        let [wall, processor, memory] = numbers.as_slice() else {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} failed: {why}", self.program.display()).into());
        };
        Ok(Cost {
            wall: Duration::from_nanos(*wall),
            processor: Duration::from_nanos(*processor),
            memory: *memory,
        })
    }
}

/// The small program: runs the rest of its arguments and prints nanoseconds, nanoseconds of processor, bytes.
pub(crate) fn run(arguments: &[OsString]) -> Result<String> {
    let (program, rest) = arguments.split_first().ok_or("nothing to measure")?;
    let begun = Instant::now();
    let child = Command::new(program)
        .args(rest)
        .stdout(Stdio::null())
        .spawn()?;
    let used = child.wait4()?;
    let wall = begun.elapsed();
    if !used.status.success() {
        return Err(format!("it ended with {}", used.status).into());
    }
    let processor = used.rusage.utime + used.rusage.stime;
    Ok(format!(
        "{} {} {}",
        wall.as_nanos(),
        processor.as_nanos(),
        used.rusage.maxrss
    ))
}
