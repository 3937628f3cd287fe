//! The test process's side: starts the supervisor and asks it.
//!
//! The supervisor dies with the *thread* that started it (`PR_SET_PDEATHSIG`), so a thread of its own does that, lives
//! as long as the cluster and does nothing else.

#![expect(
    clippy::disallowed_methods,
    reason = "it has to see whether this process is a supervisor itself"
)]

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use super::{MARK, Program, Reply, Request, Signal};

/// Why the supervisor did not do what it was asked for.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SupervisorError {
    /// A program without the hook would start itself for ever.
    #[error(
        "this program starts clusters and does not call testkit::supervise_if_asked() first thing in main"
    )]
    NoHook,
    /// `setpriv`, `unshare` or the program itself could not be started.
    #[error("the cluster's supervisor could not be started: {0}")]
    NotStarted(String),
    /// It has gone, and the cluster with it.
    #[error("the cluster's supervisor has gone: {0}")]
    Gone(String),
    /// It said no.
    #[error("{0}")]
    Refused(String),
}

type Answer = Result<Reply, SupervisorError>;

/// A running supervisor. Dropping it ends the cluster.
pub(crate) struct Supervisor {
    /// `None` only while being dropped.
    ask: Option<mpsc::Sender<(Request, mpsc::Sender<Answer>)>>,
    thread: Option<JoinHandle<()>>,
    pid: u32,
}

impl Supervisor {
    /// Starts a supervisor in namespaces of its own.
    pub(crate) fn start() -> Result<Self, SupervisorError> {
        if std::env::var_os(MARK).is_some() {
            return Err(SupervisorError::NoHook);
        }
        let (ask, asked) = mpsc::channel::<(Request, mpsc::Sender<Answer>)>();
        let (started, starting) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("cluster".to_owned())
            .spawn(move || match Line::open() {
                Ok(mut line) => {
                    started.send(Ok(line.child.id())).ok();
                    for (request, answer) in asked {
                        answer.send(line.ask(&request)).ok();
                    }
                    line.close();
                }
                Err(error) => {
                    started.send(Err(error)).ok();
                }
            })
            .map_err(|error| SupervisorError::NotStarted(error.to_string()))?;
        let pid = starting
            .recv()
            .map_err(|error| SupervisorError::NotStarted(error.to_string()))??;
        Ok(Self {
            ask: Some(ask),
            thread: Some(thread),
            pid,
        })
    }

    /// Takes the locks and builds the private file system; returns the address slot.
    pub(crate) fn prepare(
        &self,
        kubelets: usize,
        binaries: BTreeMap<String, PathBuf>,
    ) -> Result<u8, SupervisorError> {
        match self.ask(Request::Prepare { kubelets, binaries })? {
            Reply::Prepared { slot } => Ok(slot),
            other => Err(unexpected(&other)),
        }
    }

    /// Starts a process.
    pub(crate) fn run(&self, program: &Program) -> Result<(), SupervisorError> {
        self.ask(Request::Start(program.clone())).map(drop)
    }

    /// Ends a process and returns how it ended.
    pub(crate) fn end(&self, name: &str, signal: Signal) -> Result<String, SupervisorError> {
        match self.ask(Request::End {
            name: name.to_owned(),
            signal,
        })? {
            Reply::Ended { how } => Ok(how),
            other => Err(unexpected(&other)),
        }
    }

    /// Lets a process stand still (SIGSTOP), or go on (SIGCONT).
    pub(crate) fn freeze(&self, name: &str, still: bool) -> Result<(), SupervisorError> {
        let name = name.to_owned();
        self.ask(Request::Freeze { name, still }).map(drop)
    }

    /// Returns how a process ended, or none while it runs.
    pub(crate) fn ended(&self, name: &str) -> Result<Option<String>, SupervisorError> {
        match self.ask(Request::Status {
            name: name.to_owned(),
        })? {
            Reply::Running => Ok(None),
            Reply::Ended { how } => Ok(Some(how)),
            other => Err(unexpected(&other)),
        }
    }

    /// Serves the egress proxy.
    pub(crate) fn egress(&self, socket: &str, address: &str) -> Result<(), SupervisorError> {
        self.ask(Request::Egress {
            socket: PathBuf::from(socket),
            address: address.to_owned(),
        })
        .map(drop)
    }

    /// Shows a path of the cluster as this process can reach it.
    ///
    /// `unshare` itself stays in the new mount namespace, so its root is the cluster's.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }

    fn ask(&self, request: Request) -> Answer {
        let gone = || SupervisorError::Gone("its thread has ended".to_owned());
        let (answer, answered) = mpsc::channel();
        self.ask
            .as_ref()
            .ok_or_else(gone)?
            .send((request, answer))
            .map_err(|_| gone())?;
        match answered.recv().map_err(|_| gone())?? {
            Reply::Failed { why } => Err(SupervisorError::Refused(why)),
            other => Ok(other),
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // The thread's loop ends with the channel; it returns when the last process has gone.
        drop(self.ask.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The pipe to a supervisor.
struct Line {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Line {
    fn open() -> Result<Self, SupervisorError> {
        let not_started = |error: io::Error| SupervisorError::NotStarted(error.to_string());
        let program = std::env::current_exe().map_err(not_started)?;
        let mut child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .args([
                "unshare",
                "--mount",
                "--uts",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
            ])
            .arg(program)
            .env(MARK, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(not_started)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SupervisorError::NotStarted("it has no pipes".to_owned()));
        };
        let mut line = Self {
            child,
            input,
            output: BufReader::new(output),
        };
        if let Ok(Reply::Here) = line.hear() {
            return Ok(line);
        }
        // A program without the hook prints something else, or nothing.
        line.child.kill().ok();
        line.child.wait().ok();
        Err(SupervisorError::NoHook)
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let gone = |error: io::Error| SupervisorError::Gone(error.to_string());
        let mut text = serde_json::to_vec(request).map_err(|error| gone(error.into()))?;
        text.push(b'\n');
        self.input.write_all(&text).map_err(gone)?;
        self.hear()
    }

    fn hear(&mut self) -> Answer {
        let mut text = String::new();
        let read = self
            .output
            .read_line(&mut text)
            .map_err(|error| SupervisorError::Gone(error.to_string()))?;
        if read == 0 {
            return Err(SupervisorError::Gone("it closed its output".to_owned()));
        }
        serde_json::from_str(&text)
            .map_err(|error| SupervisorError::Gone(format!("it said {text:?}: {error}")))
    }

    /// Ends the supervisor; `unshare` returns when the kernel has ended everything in the namespace.
    fn close(mut self) {
        drop(self.input);
        self.child.wait().ok();
    }
}

fn unexpected(reply: &Reply) -> SupervisorError {
    SupervisorError::Gone(format!("it answered out of turn: {reply:?}"))
}
