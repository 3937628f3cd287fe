//! `kubectl nominate explain` against `kubectl describe pod`, on a real API server that holds few and many Pods.
//!
//! Writes docs/benchmarks.md and the part of README.md that is taken from it. The ratios are the result; times are
//! those of one machine at one moment. It must not measure a debug build.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a command of its own"
)]

mod counting;
mod measure;
mod report;
mod stage;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use counting::Counting;
use measure::{Cost, MEASURE, Tool};
use stage::{Kind, Stage};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Pods of the cluster at each step.
const SIZES: &[usize] = &[1_000, 10_000, 100_000];

/// Paired runs for each comparison: one of each command by turns.
const PAIRS: usize = 15;

/// Pairs for a list, where a run takes seconds.
const PAIRS_OF_LISTS: usize = 3;

/// Pods for which kubectl's list is measured too; with more it takes many gigabytes.
const COMPARED_LIST: usize = 10_000;

/// What one comparison showed.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) pods: usize,
    /// Events that were copied with the Pods.
    pub(crate) events: usize,
    pub(crate) what: String,
    pub(crate) ours: Figures,
    /// Null where only ours was run.
    pub(crate) theirs: Option<Figures>,
}

/// Medians of one command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) wall: Duration,
    pub(crate) processor: Duration,
    pub(crate) memory: u64,
    /// From the start of the process until it opens its connection.
    pub(crate) until_connected: Duration,
    pub(crate) connections: usize,
    pub(crate) requests: usize,
    pub(crate) received: u64,
}

fn main() -> ExitCode {
    testkit::supervise_if_asked();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == MEASURE => {
            measure::run(rest).map(|told| println!("{told}"))
        }
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

/// `quick` tries everything on the smallest size and writes nothing.
fn bench(quick: bool) -> Result<()> {
    if cfg!(debug_assertions) && !quick {
        return Err("this is a debug build; run `make bench`".into());
    }
    testkit::available().map_err(|reason| reason.to_string())?;
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let minor = testkit::minors().pop().ok_or("testkit has no minor")?;
    let cluster = testkit::Cluster::start(&stage::options(&minor))?;
    let stage = runtime.block_on(Stage::set(&cluster))?;
    let (sizes, pairs) = if quick {
        (&SIZES[..1], 3)
    } else {
        (SIZES, PAIRS)
    };
    let mut all = Vec::new();
    for &pods in sizes {
        runtime.block_on(stage.grow(pods))?;
        eprintln!("{pods} Pods after {:?}", begun.elapsed());
        each_kind(&stage, pods, 0, pairs, &mut all)?;
        let (ours, theirs) = stage.lists();
        let theirs = Some(&theirs).filter(|_| pods <= COMPARED_LIST);
        let what = "all Pods";
        all.push(compare(
            &stage,
            pods,
            0,
            what,
            &ours,
            theirs,
            PAIRS_OF_LISTS,
        )?);
        eprintln!("{}", report::line(&all[all.len() - 1]));
    }
    let most = *sizes.last().ok_or("no sizes")?;
    runtime.block_on(stage.tell(most))?;
    eprintln!("{most} events after {:?}", begun.elapsed());
    each_kind(&stage, most, most, pairs, &mut all)?;
    let document = report::document(&all, cluster.version(), begun.elapsed());
    if quick {
        println!("{document}");
        return Ok(());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::write(root.join("docs/benchmarks.md"), &document)?;
    let readme = root.join("README.md");
    let text = std::fs::read_to_string(&readme)?;
    std::fs::write(&readme, report::into_readme(&text, &all)?)?;
    Ok(())
}

/// Compares `explain` and `describe` of each kind of Pod.
fn each_kind(
    stage: &Stage<'_>,
    pods: usize,
    events: usize,
    pairs: usize,
    all: &mut Vec<Compared>,
) -> Result<()> {
    for kind in Kind::ALL {
        let (ours, theirs) = stage.tools(kind);
        let compared = compare(
            stage,
            pods,
            events,
            kind.title(),
            &ours,
            Some(&theirs),
            pairs,
        )?;
        eprintln!("{}", report::line(&compared));
        all.push(compared);
    }
    Ok(())
}

/// Runs both by turns, so that a slow moment of the machine meets both.
fn compare(
    stage: &Stage<'_>,
    pods: usize,
    events: usize,
    what: &str,
    ours: &Tool,
    theirs: Option<&Tool>,
    pairs: usize,
) -> Result<Compared> {
    let tools: Vec<&Tool> = std::iter::once(ours).chain(theirs).collect();
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); tools.len()];
    // The first run of each fills caches and does not count.
    for round in 0..=pairs {
        for (tool, costs) in tools.iter().zip(&mut costs) {
            let cost = tool.cost(&stage.kubeconfig)?;
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let mut figures = Vec::new();
    for (tool, costs) in tools.iter().zip(&costs) {
        let mut of_tool = conversation(stage, tool, if pairs > PAIRS_OF_LISTS { 9 } else { 1 })?;
        of_tool.wall = median(costs.iter().map(|cost| cost.wall));
        of_tool.processor = median(costs.iter().map(|cost| cost.processor));
        of_tool.memory = median(costs.iter().map(|cost| cost.memory));
        figures.push(of_tool);
    }
    Ok(Compared {
        pods,
        events,
        what: what.to_owned(),
        ours: figures.first().copied().unwrap_or_default(),
        theirs: figures.get(1).copied(),
    })
}

/// What it says to the server: runs of their own, since counting costs time.
fn conversation(stage: &Stage<'_>, tool: &Tool, runs: usize) -> Result<Figures> {
    let mut waits = Vec::new();
    let mut last = Figures::default();
    for _ in 0..runs {
        stage.counting.take();
        let begun = Instant::now();
        let output = tool.command(&stage.counted_kubeconfig, &[]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let counted = stage.counting.take();
        let first = counted.first.ok_or("it did not connect")?;
        waits.push(first.duration_since(begun));
        last.connections = counted.connections;
        last.received = counted.received;
    }
    last.until_connected = median(waits.into_iter());
    // Each command's own log says what it asked for.
    let output = tool.command(&stage.kubeconfig, &["-v=6"]).output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    let is_request =
        |line: &&str| line.contains("\"Response\" verb=") || line.contains(": GET path=");
    last.requests = log.lines().filter(is_request).count();
    Ok(last)
}

fn median<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> T {
    let mut sorted: Vec<T> = values.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
