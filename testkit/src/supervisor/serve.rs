//! The supervisor's side: reads requests from standard input and owns the processes.
//!
//! It must not outlive its standard input, and nothing but replies may go to its standard output.

#![expect(
    clippy::disallowed_methods,
    clippy::exit,
    clippy::print_stderr,
    reason = "the supervisor is a program of its own"
)]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use super::jail::{Jail, JailError};
use super::{MARK, Program, Reply, Request, STATE, Signal, egress};

/// Becomes a cluster's supervisor if this process was started as one, and does not return then.
///
/// Call it first thing in `main` of every program that starts clusters.
pub fn supervise_if_asked() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let code = match serve() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("the cluster's supervisor lost its test process: {error}");
            1
        }
    };
    // As process 1 of its namespace this ends every other process in it.
    std::process::exit(code)
}

fn serve() -> io::Result<()> {
    let mut out = io::stdout();
    let mut state = State {
        jail: None,
        processes: BTreeMap::new(),
    };
    reply(&mut out, &Reply::Here)?;
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?) {
            Ok(request) => state
                .carry_out(request)
                .unwrap_or_else(|error| Reply::Failed {
                    why: error.to_string(),
                }),
            Err(error) => Reply::Failed {
                why: format!("not a request: {error}"),
            },
        };
        reply(&mut out, &answer)?;
    }
    Ok(())
}

fn reply(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *out, reply)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Why a request failed; its text goes to the test process.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Jail(#[from] JailError),
    #[error("{0} before the cluster was prepared")]
    TooEarly(String),
    #[error("there is no process {0}")]
    Unknown(String),
    #[error("{0} runs already")]
    Running(String),
    #[error("could not {what} {name}: {source}")]
    Process {
        what: &'static str,
        name: String,
        source: io::Error,
    },
}

struct State {
    jail: Option<Jail>,
    processes: BTreeMap<String, Child>,
}

impl State {
    fn carry_out(&mut self, request: Request) -> Result<Reply, Trouble> {
        match request {
            Request::Prepare { kubelets, binaries } => {
                let jail = Jail::build(kubelets, &binaries)?;
                let slot = jail.slot();
                self.jail = Some(jail);
                Ok(Reply::Prepared { slot })
            }
            Request::Start(program) => self.start(&program),
            Request::End { name, signal } => {
                let child = self
                    .processes
                    .get_mut(&name)
                    .ok_or_else(|| Trouble::Unknown(name.clone()))?;
                let status = end(child, signal).map_err(process("end", &name))?;
                Ok(Reply::Ended { how: how(status) })
            }
            Request::Freeze { name, still } => {
                let child = self
                    .processes
                    .get(&name)
                    .ok_or_else(|| Trouble::Unknown(name.clone()))?;
                let signal = if still {
                    rustix::process::Signal::STOP
                } else {
                    rustix::process::Signal::CONT
                };
                send(child, signal).map_err(process("freeze", &name))?;
                Ok(Reply::Done)
            }
            Request::Status { name } => {
                let child = self
                    .processes
                    .get_mut(&name)
                    .ok_or_else(|| Trouble::Unknown(name.clone()))?;
                Ok(match child.try_wait().map_err(process("look at", &name))? {
                    None => Reply::Running,
                    Some(status) => Reply::Ended { how: how(status) },
                })
            }
            Request::Egress { socket, address } => {
                egress::serve(&socket, &address).map_err(process("serve", "the egress proxy"))?;
                Ok(Reply::Done)
            }
        }
    }

    fn start(&mut self, program: &Program) -> Result<Reply, Trouble> {
        let name = &program.name;
        let jail = self
            .jail
            .as_ref()
            .ok_or_else(|| Trouble::TooEarly(name.clone()))?;
        if let Some(earlier) = self.processes.get_mut(name)
            && earlier
                .try_wait()
                .map_err(process("look at", name))?
                .is_none()
        {
            return Err(Trouble::Running(name.clone()));
        }
        let log = Path::new(STATE).join("logs").join(format!("{name}.log"));
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .map_err(process("log", name))?;
        let lock = jail.lock(program.kubelet).map_err(process("lock", name))?;
        let child = command(program, lock, log)
            .and_then(|mut command| command.spawn())
            .map_err(process("start", name))?;
        self.processes.insert(name.clone(), child);
        Ok(Reply::Running)
    }
}

/// Prepares a process: its environment is empty, its standard input is the lock.
///
/// A lock is gone only when the last process that has it open is gone. So the address and the kubelet's place are free
/// again exactly when nothing uses them any more, also after a SIGKILL.
fn command(program: &Program, lock: File, log: File) -> io::Result<Command> {
    let mut command = match program.kubelet {
        // Every kubelet listens at the same path below /var/lib/kubelet, whatever its flags say, and two that start at once take it
        // from each other: "address already in use" (observed with four of 1.35 to 1.37). So each has that folder for itself.
        Some(_) => {
            let mut command = Command::new("unshare");
            let script = "mkdir -p /var/lib/kubelet && mount -t tmpfs kubelet /var/lib/kubelet && exec \"$@\"";
            command.args([
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                script,
                "sh",
            ]);
            command.arg(&program.path);
            command
        }
        None => Command::new(&program.path),
    };
    command
        .args(&program.arguments)
        .current_dir(STATE)
        .env_clear()
        .env("HOME", STATE)
        .env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .stdin(lock)
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok(command)
}

fn end(child: &mut Child, signal: Signal) -> io::Result<ExitStatus> {
    match signal {
        Signal::Kill => child.kill()?,
        Signal::Terminate => {
            if child.try_wait()?.is_none() {
                send(child, rustix::process::Signal::TERM)?;
            }
        }
    }
    child.wait()
}

/// Sends a signal to a process that was not waited for yet, so that its number is still its own.
fn send(child: &Child, signal: rustix::process::Signal) -> io::Result<()> {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, signal)?)
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Names the process that an error is about.
fn process(what: &'static str, name: &str) -> impl FnOnce(io::Error) -> Trouble {
    let name = name.to_owned();
    move |source| Trouble::Process { what, name, source }
}
