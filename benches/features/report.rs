//! The figures as a section of docs/benchmarks.md. It must not measure.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::{Cost, Measured, RUNS, Result};

/// The heading of our section.
const HEADING: &str = "## Feature gates\n";

pub(crate) fn section(measured: &Measured, version: &str) -> String {
    let Measured {
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
        ..
    } = measured;
    let mut section = format!(
        "{HEADING}\n`kubectl features skew --component kubelet` on {nodes} Nodes and {pods} Pods behind a real API server of {version}, whose kubelets are one stub \
         that says what a real one said ({} KiB of metrics). Written by `make bench-features`; the fastest of {RUNS} runs. *Plain client* is kube's \
         own, 50 requests at once, which fetches each document that `--exact` asks for, whole.\n\n\
         | command | time | CPU | peak memory | received |\n|---|---|---|---|---|\n",
        measured.metrics >> 10
    );
    let mut row = |what: &str, cost: &Cost| {
        let Cost {
            wall,
            processor,
            memory,
            received,
        } = cost;
        let figure = |is_known: bool, text: String| if is_known { text } else { "-".to_owned() };
        let processor = figure(
            !processor.is_zero(),
            format!("{:.2} s", processor.as_secs_f64()),
        );
        let memory = figure(*memory > 0, format!("{} MiB", memory >> 20));
        let received = figure(*received > 0, format!("{} KiB", received >> 10));
        // Writing to a String cannot fail.
        writeln!(
            section,
            "| {what} | {:.3} s | {processor} | {memory} | {received} |",
            wall.as_secs_f64()
        )
        .unwrap_or_default();
    };
    row("skew", scan);
    row("skew --exact", exact);
    row("plain client", raw);
    row("lookup of a gate", lookup);
    row("declared", declared);
    row("explain of a manifest", explain);
    row("preflight", preflight);
    row("kubectl get nodes -o json", kubectl);
    let time = |one: &Cost, other: &Cost| one.wall.as_secs_f64() / other.wall.as_secs_f64();
    let decoded = measured.decoded() / 1e9;
    let goals = [
        (
            "bytes of the default scan, as a part of `--exact`",
            format!("{:.3}", part(scan.received, exact.received)),
            "≤ 0.05",
            part(scan.received, exact.received) <= 0.05,
        ),
        (
            "its time",
            format!("{:.2}", time(scan, exact)),
            "≤ 0.2",
            time(scan, exact) <= 0.2,
        ),
        (
            "fingerprints of both",
            if measured.is_alike {
                "the same"
            } else {
                "others"
            }
            .to_owned(),
            "the same",
            measured.is_alike,
        ),
        (
            "throughput of `--exact`, as a part of the plain client's",
            format!("{:.2}", time(raw, exact)),
            "≥ 0.8",
            time(raw, exact) >= 0.8,
        ),
        (
            "memory of `--exact`",
            format!("{} MiB", exact.memory >> 20),
            "≤ 100 MB",
            exact.memory <= 100_000_000,
        ),
        (
            "decoding metrics",
            format!("{decoded:.1} GB/s"),
            "≥ 1 GB/s",
            decoded >= 1.0,
        ),
        (
            "lookup, from start to end",
            format!("{:.1} ms", lookup.wall.as_secs_f64() * 1e3),
            "≤ 10 ms",
            lookup.wall.as_millis() < 10,
        ),
        (
            "time of declared, as a part of kubectl's",
            format!("{:.2}", time(declared, kubectl)),
            "≤ 0.25",
            time(declared, kubectl) <= 0.25,
        ),
        (
            "memory of declared, as a part of kubectl's",
            format!("{:.2}", part(declared.memory, kubectl.memory)),
            "≤ 0.1",
            part(declared.memory, kubectl.memory) <= 0.1,
        ),
        (
            "time of explain, as a part of declared's",
            format!("{:.2}", time(explain, declared)),
            "≤ 1.3",
            time(explain, declared) <= 1.3,
        ),
        (
            "memory of preflight",
            format!("{} MiB", preflight.memory >> 20),
            "≤ 100 MB",
            preflight.memory <= 100_000_000,
        ),
    ];
    section.push_str("\n| what | measured | goal | |\n|---|---|---|---|\n");
    for (what, figure, goal, is_met) in goals {
        let met = if is_met { "met" } else { "missed" };
        writeln!(section, "| {what} | {figure} | {goal} | {met} |").unwrap_or_default();
    }
    section
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio is read, not reckoned with"
)]
fn part(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}

/// Puts the section in the place of the last one; what others wrote stays.
pub(crate) fn put(path: &Path, section: &str) -> Result<()> {
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
