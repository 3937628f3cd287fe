//! The process that owns all processes of one cluster, and how the test process talks to it.
//!
//! The test program starts itself once more in new mount, host name and pid namespaces; there it is process 1, and
//! the kernel ends everything in the namespace with it. It ends when its standard input closes, which the kernel does
//! when the test process dies by whatever means; `setpriv --pdeathsig` and `unshare --kill-child` say the same twice.
//!
//! It must not know Kubernetes: it starts, kills and reports on processes.

mod egress;
mod handle;
mod jail;
mod serve;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use handle::{Supervisor, SupervisorError};
pub use serve::supervise_if_asked;

/// Tells a started program that it is to be a supervisor.
const MARK: &str = "KUBE_PLACEMENT_TESTKIT_SUPERVISOR";

/// Where a cluster keeps its state, as its processes see it.
pub(crate) const STATE: &str = "/run/cluster";

/// Where the folders with executables are, as a cluster's processes see them.
pub(crate) const BIN: &str = "/run/cluster/bin";

/// What the test process asks for, a line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Takes the locks and builds the private file system. Comes first, once.
    Prepare {
        kubelets: usize,
        /// Folders by the name that they get below [`BIN`].
        binaries: BTreeMap<String, PathBuf>,
    },
    /// Starts a process.
    Start(Program),
    /// Ends a process and waits until it has gone.
    End { name: String, signal: Signal },
    /// Lets a process stand still, or go on.
    Freeze { name: String, still: bool },
    /// Asks whether a process runs.
    Status { name: String },
    /// Serves CONNECT on a socket; whatever host is asked for, the address is dialled.
    Egress { socket: PathBuf, address: String },
}

/// A process to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    /// Names the process in requests and its log file.
    pub(crate) name: String,
    /// The executable, as seen inside.
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// Which of the kubelet locks it holds; the slot's lock if none.
    pub(crate) kubelet: Option<usize>,
}

/// How to end a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Signal {
    Kill,
    Terminate,
}

/// What the supervisor answers, a line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The first line of all: the program is a supervisor.
    Here,
    /// Locks taken, file system ready.
    Prepared { slot: u8 },
    /// Done.
    Done,
    /// The process runs.
    Running,
    /// The process has ended, or never ran.
    Ended { how: String },
    /// The request failed.
    Failed { why: String },
}
