//! The figures as Markdown: docs/benchmarks.md, and the part of README.md between its markers.

use std::fmt::Write;
use std::time::Duration;

use crate::{Compared, Figures, PAIRS, PAIRS_OF_LISTS, Result};

const BEGIN: &str = "<!-- speed: written by `make bench` -->\n";
const END: &str = "<!-- /speed -->\n";

/// Goals for a nominated and a bound Pod, as parts of what kubectl takes.
const WALL: f64 = 0.5;
const MEMORY: f64 = 0.4;
const UNTIL_CONNECTED: Duration = Duration::from_millis(5);

/// One comparison in a line, to follow the run by.
pub(crate) fn line(compared: &Compared) -> String {
    format!(
        "{} Pods, {}: {}",
        compared.pods,
        compared.what,
        row(compared)
    )
}

pub(crate) fn document(all: &[Compared], version: &str, took: Duration) -> String {
    let mut text = String::new();
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut add = |lines: &str| text.push_str(lines);
    add(&format!(
        "# Benchmarks

Written by `make bench`; do not edit. Run it again with `make bench` (Linux, root, Go; see control-plane.md).

`kubectl nominate explain POD` against `kubectl describe pod POD`, both {version} and for the same user, on one real API server.
{today}, Linux {}, {processors} processors, release build (thin LTO, stripped), {} s in all.

The **ratios** are the result: ours divided by kubectl's, medians of {PAIRS} paired runs (one of each by turns, after one that does not
count). Times in milliseconds are noise of one machine at one moment. Less is better.

- *CPU* is user and system time; *memory* is the peak resident set of the process.
- *Bytes* come from the server, TLS included, counted by a relay in between; *requests* are those that each command's own log names.
- *Connected after* is the time from the start of our process until its connection reaches the relay.
- The plugin is run itself. Called as `kubectl nominate`, kubectl's own start is added, which ends when it becomes the plugin.
- kubectl's discovery cache is warm.

## How the cluster is filled

Scenario `preemption-with-grace` brings one Pod to its nomination; one Pod is bound, one fits nowhere. Then kubelets, scheduler and
controller manager are ended, so that nothing changes any more. The other Pods are copies of a running Pod as the API server stored it, with
other names and UIDs, written to etcd: {} to a node, 105 of them on the node of the nomination.

## One Pod
",
        kernel.trim(),
        took.as_secs(),
        100,
    ));
    let single = |compared: &&Compared| compared.what != "all Pods";
    add("\n### Pods alone\n\n");
    table(
        &mut text,
        all.iter().filter(single).filter(|one| one.events == 0),
    );
    text.push_str("\n### With an event `Scheduled` of each Pod\n\nEvents lie in etcd without a cache or an index, so a server-side filter over those of all namespaces reads them all. A Pod that\nis or was nominated needs one such list (`reason=Preempted`): notes of victims may lie in any namespace.\n\n");
    table(&mut text, all.iter().filter(|one| one.events > 0));
    let _ = write!(
        text,
        "\n### Goals\n\nWall ≤ {WALL}, memory ≤ {MEMORY}, connected after ≤ {} ms, for nominated and bound Pods at every size.\n\n",
        UNTIL_CONNECTED.as_millis()
    );
    let mut missed = 0;
    for one in all.iter().filter(single) {
        for words in misses(one) {
            missed += 1;
            let _ = writeln!(
                text,
                "- missed: {} Pods, {} events, {}: {words}",
                one.pods, one.events, one.what
            );
        }
    }
    if missed == 0 {
        text.push_str("All are met.\n");
    }
    let _ = write!(
        text,
        "\n## All Pods\n\n`kubectl nominate explain -A` against `kubectl get pods -A -o json`, medians of {PAIRS_OF_LISTS} pairs. At the last size only ours is run: kubectl keeps every object.\n\n"
    );
    table(&mut text, all.iter().filter(|one| !single(one)));
    text
}

/// Puts the short table between the markers of README.md.
pub(crate) fn into_readme(readme: &str, all: &[Compared]) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).ok_or("README.md has no marker")?;
    let (_, after) = rest.split_once(END).ok_or("README.md has no end marker")?;
    let mut text = String::from(
        "| Pods in the cluster | with events | Pod | time | CPU | memory |\n|---|---|---|---|---|---|\n",
    );
    for one in all.iter().filter(|one| one.what != "all Pods") {
        if let Some(theirs) = one.theirs {
            let [wall, processor, memory, _] = ratios(&one.ours, &theirs);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {wall:.2} | {processor:.2} | {memory:.2} |",
                one.pods, one.events, one.what
            );
        }
    }
    Ok(format!("{before}{BEGIN}{text}{END}{after}"))
}

fn table<'a>(text: &mut String, all: impl Iterator<Item = &'a Compared>) {
    text.push_str("| Pods | Pod | wall | CPU | memory | bytes | requests | connections | connected after |\n|---|---|---|---|---|---|---|---|---|\n");
    for one in all {
        let _ = writeln!(text, "| {} | {} {}", one.pods, one.what, row(one));
    }
}

fn row(one: &Compared) -> String {
    let ours = one.ours;
    let cells = match one.theirs {
        Some(theirs) => {
            let [wall, processor, memory, bytes] = ratios(&ours, &theirs);
            [
                format!("**{wall:.2}** ({} : {} ms)", ms(ours.wall), ms(theirs.wall)),
                format!(
                    "**{processor:.2}** ({} : {} ms)",
                    ms(ours.processor),
                    ms(theirs.processor)
                ),
                format!(
                    "**{memory:.2}** ({} : {} MiB)",
                    mib(ours.memory),
                    mib(theirs.memory)
                ),
                format!(
                    "**{bytes:.2}** ({} : {} KiB)",
                    kib(ours.received),
                    kib(theirs.received)
                ),
                format!("{} : {}", ours.requests, theirs.requests),
                format!("{} : {}", ours.connections, theirs.connections),
            ]
        }
        None => [
            format!("{} ms", ms(ours.wall)),
            format!("{} ms", ms(ours.processor)),
            format!("{} MiB", mib(ours.memory)),
            format!("{} KiB", kib(ours.received)),
            ours.requests.to_string(),
            ours.connections.to_string(),
        ],
    };
    format!(
        "| {} | {} ms |",
        cells.join(" | "),
        ms(ours.until_connected)
    )
}

fn misses(one: &Compared) -> Vec<String> {
    let Some(theirs) = one.theirs.filter(|_| one.what != "unschedulable") else {
        return Vec::new();
    };
    let [wall, _, memory, _] = ratios(&one.ours, &theirs);
    let mut words = Vec::new();
    if wall > WALL {
        words.push(format!("wall {wall:.2}"));
    }
    if memory > MEMORY {
        words.push(format!("memory {memory:.2}"));
    }
    if one.ours.until_connected > UNTIL_CONNECTED {
        words.push(format!(
            "connected after {} ms",
            ms(one.ours.until_connected)
        ));
    }
    words
}

/// Wall, processor, memory, bytes.
fn ratios(ours: &Figures, theirs: &Figures) -> [f64; 4] {
    let of = |ours: f64, theirs: f64| {
        if theirs > 0.0 {
            ours / theirs
        } else {
            f64::NAN
        }
    };
    [
        of(ours.wall.as_secs_f64(), theirs.wall.as_secs_f64()),
        of(ours.processor.as_secs_f64(), theirs.processor.as_secs_f64()),
        of(whole(ours.memory), whole(theirs.memory)),
        of(whole(ours.received), whole(theirs.received)),
    ]
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio needs no more than three digits"
)]
fn whole(bytes: u64) -> f64 {
    bytes as f64
}

fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", whole(bytes) / f64::from(1 << 20))
}

fn kib(bytes: u64) -> String {
    format!("{:.0}", whole(bytes) / 1_024.0)
}
