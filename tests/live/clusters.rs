//! The cluster that trials run on: one at a time, started when a trial first needs its kind.
//!
//! It must not start a kind twice after a failure: every trial would wait for the same end.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use testkit::{Cluster, ClusterOptions};

/// Where logs of trials that failed are kept: of a cluster that several use, and of one of a trial's own.
const LOGS: &str = "logs";
const LOGS_APART: &str = "logs-apart";

/// What a trial needs of its cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A minor as it comes.
    Plain(String),
    /// A minor with other gates than it comes with.
    OtherGates(String),
}

impl Kind {
    fn minor(&self) -> &str {
        let (Self::Plain(minor) | Self::OtherGates(minor)) = self;
        minor
    }

    fn options(&self) -> ClusterOptions {
        match self {
            Self::Plain(minor) => ClusterOptions::new(minor),
            Self::OtherGates(minor) => ClusterOptions::new(minor).other_gates(),
        }
    }
}

/// The running cluster and the kinds that did not start.
#[derive(Default)]
pub(crate) struct Clusters {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<(Kind, Cluster)>,
    failed: BTreeMap<Kind, String>,
}

impl Clusters {
    /// Runs a trial on the cluster of a kind; keeps the components' logs if it fails.
    pub(crate) fn with(
        &self,
        kind: &Kind,
        trial: impl FnOnce(&mut Cluster) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Failed> {
        // A trial that panicked leaves the cluster as it was.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = state.failed.get(kind) {
            return Err(why.into());
        }
        if state
            .running
            .as_ref()
            .is_none_or(|(running, _)| running != kind)
        {
            // First the old one, then the new one.
            state.running = None;
            let logs = folder(kind.minor()).join(LOGS);
            match Cluster::start(&kind.options().logs(&logs)) {
                Ok(cluster) => state.running = Some((kind.clone(), cluster)),
                Err(error) => {
                    let why = with_causes(&error);
                    state.failed.insert(kind.clone(), why.clone());
                    return Err(why.into());
                }
            }
        }
        let Some((_, cluster)) = &mut state.running else {
            return Err("the cluster has gone".into());
        };
        run(cluster, LOGS, trial)
    }

    /// Runs a trial on a cluster of its own, after the end of the one that runs.
    pub(crate) fn apart(
        &self,
        options: &ClusterOptions,
        trial: impl FnOnce(&mut Cluster) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Failed> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running = None;
        let logs = folder(options.minor()).join(LOGS_APART);
        let cluster = Cluster::start(&options.clone().logs(&logs));
        let mut cluster = cluster.map_err(|error| with_causes(&error))?;
        run(&mut cluster, LOGS_APART, trial)
    }
}

/// Runs a trial; if it fails, keeps the components' logs in a folder of that name.
fn run(
    cluster: &mut Cluster,
    logs: &str,
    trial: impl FnOnce(&mut Cluster) -> Result<(), Box<dyn Error>>,
) -> Result<(), Failed> {
    trial(cluster).map_err(|error| {
        let kept = cluster.keep_logs(&folder(cluster.minor()).join(logs));
        format!("{}\n{kept}", with_causes(error.as_ref())).into()
    })
}

/// The trial: a component that dies at its start is named with the end of its log, and all logs stay.
pub(crate) fn leave_their_logs(minor: &str) -> Result<(), Failed> {
    let logs = tempfile::tempdir()?;
    let options = ClusterOptions::new(minor)
        .nodes(&["n1"])
        .argument("kubelet-n1", "--feature-gates=NoSuchGate=true")
        .logs(logs.path());
    let Err(error) = Cluster::start(&options) else {
        return Err("it started with a gate that is none".into());
    };
    let said = with_causes(&error);
    let place = logs.path().display().to_string();
    for due in [&place, "kubelet-n1 exited with status 1", "NoSuchGate"] {
        if !said.contains(due) {
            return Err(format!("{due:?} is not in: {said}").into());
        }
    }
    for component in ["kubelet-n1", "kube-apiserver", "etcd"] {
        if !logs.path().join(format!("{component}.log")).is_file() {
            return Err(format!("{component} left no log").into());
        }
    }
    Ok(())
}

/// Where trials of a minor leave files to look at.
pub(crate) fn folder(minor: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("live")
        .join(minor)
}

/// Writes an error with all its causes.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str("\ncaused by: ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
