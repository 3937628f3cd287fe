//! What a command costs: wall time and peak memory of its process. What it prints is thrown away.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use crate::Result;

/// First argument of the small process that starts a command, so that the command's peak is its own.
pub(crate) const MEASURE: &str = "--measure";

/// Runs of each command, of which the fastest counts: what else the machine does only adds.
pub(crate) const RUNS: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// Bytes.
    pub(crate) memory: u64,
}

/// Runs a command and prints its wall time in nanoseconds and its peak memory in bytes.
pub(crate) fn measure(command: &[OsString]) -> Result<()> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let begun = Instant::now();
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let used = child.wait4()?;
    let wall = begun.elapsed();
    // 5: something of the input is missing, which a log alone always lacks.
    if !matches!(used.status.code(), Some(0 | 5)) {
        return Err(format!("{} ended with {}", program.display(), used.status).into());
    }
    println!("{} {}", wall.as_nanos(), used.rusage.maxrss);
    Ok(())
}

/// Commands in turns, so that what else the machine does meets all of them.
pub(crate) fn costs<const N: usize>(
    commands: [&[&str]; N],
    path: &[&Path; N],
) -> Result<[Option<Cost>; N]> {
    let mut best = [None::<Cost>; N];
    for _ in 0..RUNS {
        for ((command, path), best) in commands.iter().zip(path).zip(&mut best) {
            let is_there = Command::new(command[0]).arg("--version").output().is_ok();
            if is_there {
                let cost = once(command, path)?;
                *best = Some(best.map_or(cost, |best| Cost {
                    wall: best.wall.min(cost.wall),
                    memory: best.memory.max(cost.memory),
                }));
            }
        }
    }
    Ok(best)
}

fn once(command: &[&str], path: &Path) -> Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg(MEASURE)
        .args(command)
        .arg(path)
        .output()?;
    let told = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = told
        .split_whitespace()
        .map(str::parse)
        .collect::<std::result::Result<_, _>>()?;
    let [wall, memory] = numbers.as_slice() else {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    };
    Ok(Cost {
        wall: Duration::from_nanos(*wall),
        memory: *memory,
    })
}

/// How often the first one's time holds the second's.
pub(crate) fn ratio(theirs: Option<Cost>, ours: Option<Cost>) -> Option<f64> {
    Some(theirs?.wall.as_secs_f64() / ours?.wall.as_secs_f64())
}
