//! The reader of audit logs against jq and zcat, on a log that is made of recorded lines with other Pods' names.
//!
//! Writes its section of docs/benchmarks.md. `KUBE_PLACEMENT_AUDIT_MIB` says how large the log is. It must not measure a debug build.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a command of its own"
)]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// First argument of the small process that starts a command, so that the command's peak is its own.
const MEASURE: &str = "--measure";

/// Runs of each command, of which the fastest counts: what else the machine does only adds.
const RUNS: usize = 3;

/// The heading of our section.
const HEADING: &str = "## Audit logs\n";

/// The Pod that is asked for; its lines stand once in the middle.
const RECORDED: &str = "tests/audited/1.37/4-outsider-overwrite/2-bound.jsonl.gz";
const POD: [&str; 2] = ["hi", "s4"];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == MEASURE => measure(rest),
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

/// Runs a command and prints its wall time in nanoseconds and its peak memory in bytes.
fn measure(command: &[OsString]) -> Result<()> {
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

#[derive(Debug, Clone, Copy)]
struct Cost {
    wall: Duration,
    memory: u64,
}

fn cost(command: &[&str]) -> Result<Cost> {
    let mut best: Option<Cost> = None;
    for _ in 0..RUNS {
        let output = Command::new(std::env::current_exe()?)
            .arg(MEASURE)
            .args(command)
            .output()?;
        let told = String::from_utf8(output.stdout)?;
        let numbers: Vec<u64> = told
            .split_whitespace()
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        let [wall, memory] = numbers.as_slice() else {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        };
        let cost = Cost {
            wall: Duration::from_nanos(*wall),
            memory: *memory,
        };
        let wall = best.map_or(cost.wall, |best| best.wall.min(cost.wall));
        let memory = best.map_or(cost.memory, |best| best.memory.max(cost.memory));
        best = Some(Cost { wall, memory });
    }
    best.ok_or_else(|| "no run".into())
}

fn bench() -> Result<()> {
    if cfg!(debug_assertions) {
        return Err("this is a debug build; run `make bench-audit`".into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mebibytes: u32 = match std::env::var("KUBE_PLACEMENT_AUDIT_MIB") {
        Ok(text) => text.parse()?,
        Err(_) => 256,
    };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let plain = folder.path().join("audit.log");
    let small = folder.path().join("small.log");
    let bytes = usize::try_from(mebibytes)? << 20;
    generate(root, &plain, bytes)?;
    generate(root, &small, bytes / 8)?;
    let packed = pack(&plain)?;
    let size = u32::try_from(fs::metadata(&plain)?.len() >> 20)?;
    let ours = |path: &Path| -> Result<Cost> {
        let path = path.to_str().ok_or("the path is no text")?;
        let explain = env!("CARGO_BIN_EXE_kubectl-nominate");
        cost(&[explain, "explain", POD[0], "-n", POD[1], "--from", path])
    };
    let (story, eighth, unpacked) = (ours(&plain)?, ours(&small)?, ours(&packed)?);
    let tool = |command: &[&str], path: &Path| -> Result<Option<Cost>> {
        let is_there = Command::new(command[0]).arg("--version").output().is_ok();
        let mut command = command.to_vec();
        command.push(path.to_str().ok_or("the path is no text")?);
        Ok(if is_there {
            Some(cost(&command)?)
        } else {
            None
        })
    };
    let select = format!(
        "select(.objectRef.resource == \"pods\" and .objectRef.namespace == \"{}\" and .objectRef.name == \"{}\")",
        POD[1], POD[0]
    );
    let jq = tool(&["jq", "-c", &select], &plain)?;
    let zcat = tool(&["zcat"], &packed)?;

    let mut section = format!(
        "{HEADING}\nOne Pod's story from a log of {size} MiB, made of recorded lines. Written by `make bench-audit`; the fastest of {RUNS} runs.\n\n"
    );
    section.push_str(
        "| command | time | MiB/s | peak memory | ratio | goal |\n|---|---|---|---|---|---|\n",
    );
    let mut row = |what: &str, cost: Cost, ratio: Option<f64>, goal: &str| -> Result<()> {
        let seconds = cost.wall.as_secs_f64();
        let speed = f64::from(size) / seconds;
        let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        writeln!(
            section,
            "| {what} | {seconds:.2} s | {speed:.0} | {} MiB | {ratio} | {goal} |",
            cost.memory >> 20
        )?;
        Ok(())
    };
    let ratio = |theirs: Option<Cost>, ours: Cost| {
        theirs.map(|theirs| theirs.wall.as_secs_f64() / ours.wall.as_secs_f64())
    };
    row(
        "explain",
        story,
        ratio(jq, story),
        "10 times as fast as jq, below 50 MiB",
    )?;
    row(
        "explain, gzip",
        unpacked,
        ratio(zcat, unpacked),
        "0.8 times as fast as zcat",
    )?;
    for (name, cost) in [("jq -c select", jq), ("zcat to nowhere", zcat)] {
        match cost {
            Some(cost) => row(name, cost, None, "")?,
            None => eprintln!("note: {name} is not installed"),
        }
    }
    writeln!(
        section,
        "\nOf a log an eighth as long the peak is {} MiB.",
        eighth.memory >> 20
    )?;
    print!("{section}");
    put(&root.join("docs/benchmarks.md"), &section)
}

/// Lines of other Pods, with the Pod's own once in the middle.
fn generate(root: &Path, path: &Path, size: usize) -> Result<()> {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(File::open(root.join(RECORDED))?)
        .read_to_string(&mut text)?;
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut round, mut is_told) = (0, 0_usize, false);
    while written < size {
        if !is_told && written >= size / 2 {
            file.write_all(text.as_bytes())?;
            is_told = true;
        }
        let other = text
            .replace("/s4/", &format!("/team-{}/", round % 50))
            .replace("\"s4\"", &format!("\"team-{}\"", round % 50))
            .replace("/hi", &format!("/web-{round}"))
            .replace("\"hi\"", &format!("\"web-{round}\""))
            .replace("PreemptionByScheduler", "EvictionByEvictionAPI")
            .replace("\"auditID\":\"", &format!("\"auditID\":\"{round}-"));
        file.write_all(other.as_bytes())?;
        written += other.len();
        round += 1;
    }
    file.flush()?;
    Ok(())
}

fn pack(path: &Path) -> Result<PathBuf> {
    let packed = path.with_extension("log.gz");
    let file = BufWriter::new(File::create(&packed)?);
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    std::io::copy(&mut File::open(path)?, &mut writer)?;
    writer.finish()?.flush()?;
    Ok(packed)
}

/// Puts the section in the place of the last one; what others wrote stays.
fn put(path: &Path, section: &str) -> Result<()> {
    let known = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "# Benchmarks\n".to_owned(),
        known => known?,
    };
    let (before, rest) = match known.split_once(HEADING) {
        Some((before, ours)) => {
            let after = ours.find("\n## ").map_or("", |at| ours.split_at(at).1);
            (before, after)
        }
        None => (known.as_str(), ""),
    };
    let text = format!("{}\n\n{section}{rest}", before.trim_end());
    Ok(fs::write(path, text)?)
}
