//! `kubectl features skew`, `declared`, `explain` and `preflight` on thousands of nodes behind a real API server, against a plain client that fetches the same
//! documents, and `kubectl get nodes -o json`.
//!
//! Writes its section of docs/benchmarks.md. `KUBE_PLACEMENT_NODES` says how many nodes there are. The ratios are the result;
//! times are those of one machine at one moment. It must not measure a debug build.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a command of its own"
)]

#[path = "../explain/counting.rs"]
mod counting;
mod report;
mod stage;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use wait4::Wait4;

use stage::Stage;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// First argument of the small process that starts a command, so that the command's peak is its own.
const MEASURE: &str = "--measure";

/// Pods of each node.
const PODS_EACH: usize = 20;

/// Runs of each command, of which the fastest counts: what else the machine does only adds.
const RUNS: usize = 3;

/// Requests under way at a time, as ours.
const AT_ONCE: usize = 50;

/// How often the text of metrics is decoded for a measure.
const ROUNDS: u32 = 5_000;

/// Of what was written some time ago nobody is silent by this time: the kubelets that are measured are none.
const DECLARED: [&str; 5] = ["declared", "-o", "json", "--now", "2000-01-01T00:00:00Z"];

/// A Pod that requires a feature, held against all nodes.
const EXPLAIN: [&str; 5] = [
    "explain",
    "-f",
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cases/features-explain/nodes-not-observed/in/pod.yaml"
    ),
    "-o",
    "json",
];

const NODES: [&str; 4] = ["get", "nodes", "-o", "json"];

/// All Nodes and Pods, and one kubelet of each group.
const PREFLIGHT: [&str; 7] = [
    "preflight",
    "--to-version",
    "1.37",
    "--fail-on",
    "never",
    "-o",
    "json",
];

const SKEW: [&str; 5] = ["skew", "--component", "kubelet", "-o", "json"];

/// What was measured.
pub(crate) struct Measured {
    pub(crate) nodes: usize,
    pub(crate) scan: Cost,
    pub(crate) exact: Cost,
    /// A plain client that fetches what `--exact` asks for, whole.
    pub(crate) raw: Cost,
    pub(crate) lookup: Cost,
    pub(crate) declared: Cost,
    pub(crate) explain: Cost,
    pub(crate) pods: usize,
    pub(crate) preflight: Cost,
    /// `kubectl get nodes -o json`.
    pub(crate) kubectl: Cost,
    /// Of one text, in bytes.
    pub(crate) metrics: usize,
    /// To decode it `ROUNDS` times.
    pub(crate) decoding: Duration,
    pub(crate) is_alike: bool,
}

/// The cost of one command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// User and system time together.
    pub(crate) processor: Duration,
    /// Peak, in bytes.
    pub(crate) memory: u64,
    /// Bytes from the API server.
    pub(crate) received: u64,
}

impl Measured {
    /// Bytes a second.
    pub(crate) fn decoded(&self) -> f64 {
        let bytes = u32::try_from(self.metrics).map_or(0.0, f64::from);
        bytes * f64::from(ROUNDS) / self.decoding.as_secs_f64()
    }
}

fn main() -> ExitCode {
    testkit::supervise_if_asked();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == MEASURE => measure(rest),
        _ => bench(arguments.iter().any(|argument| argument == "quick")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command and prints nanoseconds, nanoseconds of processor, and bytes of memory at its peak.
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
    // 5: preflight is not shown schedulers, which have ended.
    if !matches!(used.status.code(), Some(0 | 5)) {
        return Err(format!("{} ended with {}", program.display(), used.status).into());
    }
    let processor = used.rusage.utime + used.rusage.stime;
    let memory = used.rusage.maxrss;
    println!("{} {} {memory}", wall.as_nanos(), processor.as_nanos());
    Ok(())
}

/// The fastest run of one of ours.
fn cost(kubeconfig: &Path, arguments: &[&str]) -> Result<Cost> {
    cost_of(
        kubeconfig,
        Path::new(env!("CARGO_BIN_EXE_kubectl-features")),
        arguments,
    )
}

/// The fastest run of a command.
fn cost_of(kubeconfig: &Path, program: &Path, arguments: &[&str]) -> Result<Cost> {
    let mut best = Cost::default();
    for run in 0..RUNS {
        let output = Command::new(std::env::current_exe()?)
            .env("KUBECONFIG", kubeconfig)
            .arg(MEASURE)
            .arg(program)
            .args(arguments)
            .output()?;
        let told = String::from_utf8(output.stdout)?;
        let numbers: Vec<u64> = told
            .split_whitespace()
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?;
        let [wall, processor, memory] = numbers.as_slice() else {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        };
        let wall = Duration::from_nanos(*wall);
        if run == 0 || wall < best.wall {
            best.wall = wall;
            best.processor = Duration::from_nanos(*processor);
        }
        best.memory = best.memory.max(*memory);
    }
    eprintln!("{arguments:?}: {best:?}");
    Ok(best)
}

/// `quick` tries everything on a few nodes and writes nothing.
fn bench(quick: bool) -> Result<()> {
    if cfg!(debug_assertions) && !quick {
        return Err("this is a debug build; run `make bench-features`".into());
    }
    testkit::available().map_err(|reason| reason.to_string())?;
    let nodes: usize = match std::env::var("KUBE_PLACEMENT_NODES") {
        Ok(text) => text.parse()?,
        Err(_) if quick => 60,
        Err(_) => 5_000,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let minor = testkit::minors().pop().ok_or("testkit has no minor")?;
    let cluster = testkit::Cluster::start(&stage::options(&minor))?;
    let pods = nodes * PODS_EACH;
    let stage = runtime.block_on(Stage::set(&cluster, nodes, pods))?;
    eprintln!("{nodes} nodes and {pods} Pods stand");

    let exactly = [&SKEW[..], &["--exact"]].concat();
    let mut scan = cost(&stage.kubeconfig, &SKEW)?;
    let mut exact = cost(&stage.kubeconfig, &exactly)?;
    let mut raw = Cost::default();
    for run in 0..RUNS {
        let begun = Instant::now();
        let received = runtime.block_on(raw_fetch(&stage))?;
        let wall = begun.elapsed();
        if run == 0 || wall < raw.wall {
            raw.wall = wall;
        }
        raw.received = received;
    }
    eprintln!("raw: {raw:?}");
    // Counting costs time: runs of their own.
    let (of_scan, received) = counted(&stage, &SKEW)?;
    scan.received = received;
    let (of_exact, received) = counted(&stage, &exactly)?;
    exact.received = received;
    let lookup = cost(&stage.kubeconfig, &["lookup", "InPlacePodVerticalScaling"])?;
    let declared = cost(&stage.kubeconfig, &DECLARED)?;
    let explain = cost(&stage.kubeconfig, &EXPLAIN)?;
    let mut preflight = cost(&stage.kubeconfig, &PREFLIGHT)?;
    preflight.received = passed(&stage, &PREFLIGHT)?;
    let kubectl = cost_of(&stage.kubeconfig, &cluster.kubectl(), &NODES)?;

    let mut decoding = Duration::MAX;
    for _ in 0..RUNS {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            kube_placement::internals::metrics(std::hint::black_box(&stage.metrics));
        }
        decoding = decoding.min(begun.elapsed());
    }
    let measured = Measured {
        nodes,
        scan,
        exact,
        raw,
        lookup,
        declared,
        explain,
        pods,
        preflight,
        kubectl,
        metrics: stage.metrics.len(),
        decoding,
        is_alike: of_scan == of_exact && of_scan.len() == nodes,
    };
    let section = report::section(&measured, cluster.version());
    print!("{section}");
    if quick {
        return Ok(());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    report::put(&root.join("docs/benchmarks.md"), &section)
}

/// Fetches each document that `--exact` asks for by a client of kube's, so many at a time; the bytes of all.
async fn raw_fetch(stage: &Stage<'_>) -> Result<u64> {
    let client = stage.plain_client().await?;
    let places = stage.names().flat_map(|name| {
        stage::DOCUMENTS.map(|document| format!("/api/v1/nodes/{name}/proxy/{document}"))
    });
    let mut answers = stream::iter(places)
        .map(|place| {
            let client = client.clone();
            async move {
                let request = http::Request::get(place).body(Vec::new())?;
                Ok::<_, Box<dyn std::error::Error>>(client.request_text(request).await?.len())
            }
        })
        .buffer_unordered(AT_ONCE);
    let mut bytes = 0;
    while let Some(answer) = answers.next().await {
        bytes += answer? as u64;
    }
    Ok(bytes)
}

/// The bytes that a command took.
fn passed(stage: &Stage<'_>, arguments: &[&str]) -> Result<u64> {
    stage.counting.take();
    Command::new(env!("CARGO_BIN_EXE_kubectl-features"))
        .env("KUBECONFIG", &stage.counted_kubeconfig)
        .args(arguments)
        .output()?;
    Ok(stage.counting.take().received)
}

/// The fingerprint of each component, and the bytes that it took.
fn counted(stage: &Stage<'_>, arguments: &[&str]) -> Result<(BTreeMap<String, String>, u64)> {
    stage.counting.take();
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-features"))
        .env("KUBECONFIG", &stage.counted_kubeconfig)
        .args(arguments)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let rows = answer["components"].as_array().ok_or("no components")?;
    let text = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
    let prints = rows
        .iter()
        .filter_map(|row| Some((text(row, "name")?, text(row, "fingerprintAll")?)));
    Ok((prints.collect(), stage.counting.take().received))
}
