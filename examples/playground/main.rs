//! A real cluster to try `kubectl nominate` on, with a Pod in each state that stands by itself. Runs until Ctrl-C.
//!
//! `--once` runs every command that it announces and fails unless each shows the verdict that is announced. Nothing is
//! left behind: the cluster ends with this process, however that ends. It must not judge: the plugin does.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a command of its own"
)]

mod scene;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;
use testkit::scenario::SCENARIOS;
use testkit::standstill::stand_still;
use testkit::{Cluster, ClusterOptions};

use scene::Scene;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Closed for new Pods, so that the scenarios find the two nodes that they know.
const CLOSED: &str = "n3";

/// Scenarios that need little room, and stand still at a moment: name, moment, verdict, cause.
const STANDING: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "outside-hint-on-gated-pod",
        "decided-bound",
        "Honoured",
        None,
    ),
    (
        "outside-hint-on-gated-pod",
        "nominated",
        "Gated",
        Some("scheduling-gates"),
    ),
    (
        "outside-hint-on-gated-pod",
        "bound",
        "Unknown",
        Some("node-not-recorded"),
    ),
    ("created-with-node-name", "running", "Bypassed", None),
    ("no-scheduler", "pending", "NeverAttempted", None),
    (
        "hint-to-absent-node",
        "standing",
        "Stale",
        Some("node-gone"),
    ),
    (
        "prebind-wait",
        "preparing",
        "WaitingForBinding",
        Some("volume-binding"),
    ),
];

/// A command to try.
pub(crate) struct Try {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) verdict: &'static str,
    /// Null where it depends on the time.
    pub(crate) cause: Option<&'static str>,
}

fn main() -> ExitCode {
    testkit::supervise_if_asked();
    let once = std::env::args().any(|argument| argument == "--once");
    match run(once) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(once: bool) -> Result<bool> {
    testkit::available().map_err(|reason| reason.to_string())?;
    let newest = testkit::minors().pop().ok_or("testkit has no minor")?;
    let minor = std::env::var("MINOR").unwrap_or(newest);
    eprintln!("starting Kubernetes {minor} with three nodes…");
    let cluster = Cluster::start(&ClusterOptions::new(&minor).nodes(&["n1", "n2", CLOSED]))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(play(&cluster, once))
}

async fn play(cluster: &Cluster, once: bool) -> Result<bool> {
    let scene = Scene::set(cluster, CLOSED).await?;
    // What a scenario holds is held while it is kept here.
    let mut held = Vec::new();
    let mut tries = Vec::new();
    for &(name, moment, verdict, cause) in STANDING {
        eprintln!("{name}: {moment}…");
        let scenario = SCENARIOS
            .iter()
            .find(|scenario| scenario.name == name)
            .ok_or_else(|| format!("testkit has no scenario {name}"))?;
        let standing = stand_still(cluster, scenario, moment).await?;
        tries.push(Try {
            namespace: standing.namespace.clone(),
            pod: standing.pod.clone(),
            verdict,
            cause,
        });
        held.push(standing);
    }
    tries.extend(scene.play().await?);

    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::copy(cluster.kubeconfig("admin"), &kubeconfig)?;
    let path = [plugins()?, cluster.kubectl().with_file_name("")];
    announce(cluster, &kubeconfig, &path, &tries);
    if once {
        return check(cluster, &kubeconfig, &path, &tries);
    }
    println!("\nCtrl-C ends the cluster.");
    tokio::signal::ctrl_c().await?;
    Ok(true)
}

/// The folder of the plugin that was built with this program.
fn plugins() -> Result<PathBuf> {
    let examples = std::env::current_exe()?;
    let folder = examples.ancestors().nth(2).ok_or("no build folder")?;
    if folder.join("kubectl-nominate").is_file() {
        Ok(folder.to_owned())
    } else {
        Err("the plugin is not built; run `make playground`".into())
    }
}

fn announce(cluster: &Cluster, kubeconfig: &Path, path: &[PathBuf], tries: &[Try]) {
    println!(
        "Kubernetes {} at {}. In another shell:\n",
        cluster.version(),
        cluster.server()
    );
    let path: Vec<String> = path.iter().map(|one| one.display().to_string()).collect();
    println!("export KUBECONFIG={}", kubeconfig.display());
    println!("export PATH={}:$PATH\n", path.join(":"));
    for one in tries {
        let command = format!("kubectl nominate explain {} -n {}", one.pod, one.namespace);
        let cause = one
            .cause
            .map_or_else(String::new, |cause| format!(" ({cause})"));
        println!("{command:<72} # {}{cause}", one.verdict);
    }
    println!(
        "{:<72} # all of them, a row each",
        "kubectl nominate explain -A"
    );
    println!(
        "\nThey move on as in any cluster: a scheduler tries again after five minutes, a volume is waited for ten."
    );
}

/// Runs every command; says what each shows, and whether that is as announced.
fn check(cluster: &Cluster, kubeconfig: &Path, path: &[PathBuf], tries: &[Try]) -> Result<bool> {
    let mut all_as_announced = true;
    println!();
    for one in tries {
        let output = Command::new(cluster.kubectl())
            .args([
                "nominate",
                "explain",
                &one.pod,
                "-n",
                &one.namespace,
                "-o",
                "json",
            ])
            .env("KUBECONFIG", kubeconfig)
            .env("PATH", std::env::join_paths(path)?)
            .output()?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
        let word = |key: &str| answer["verdict"][key].as_str();
        let (verdict, cause) = (word("kind"), word("cause"));
        let is_due = verdict == Some(one.verdict) && (one.cause.is_none() || cause == one.cause);
        all_as_announced &= is_due;
        println!(
            "{} {}/{}: {} ({})",
            if is_due { "ok  " } else { "NOT " },
            one.namespace,
            one.pod,
            verdict.unwrap_or("no verdict"),
            cause.unwrap_or("no cause"),
        );
    }
    Ok(all_as_announced)
}
