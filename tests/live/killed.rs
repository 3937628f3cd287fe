//! A test process that is killed while its cluster runs leaves nothing on the machine.
//!
//! It must look at the machine itself, not at what the testkit says about it.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is a program of its own when asked, and reads what the kernel says"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use testkit::{Cluster, ClusterOptions};

/// Turns this program into one that starts a cluster and waits to be killed.
const VICTIM: &str = "start-and-wait";

/// What has to have run, by the names that the kernel shows, which are cut at 15 bytes.
const COMPONENTS: &[&str] = &[
    "etcd",
    "fakecri",
    "kube-apiserver",
    "kube-controller",
    "kube-scheduler",
    "kubelet",
];

/// What the kubelet would set on the machine.
const KERNEL_SETTINGS: &[&str] = &[
    "/proc/sys/kernel/keys/root_maxbytes",
    "/proc/sys/kernel/keys/root_maxkeys",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/panic_on_oom",
];

/// Folders that a kubelet would make.
const FOLDERS: &[&str] = &[
    "/run/cluster",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
];

/// Starts a cluster and waits to be killed, if that is what this process was started for.
pub(crate) fn victim_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != VICTIM {
        return None;
    }
    let minor = arguments.next()?;
    match Cluster::start(&ClusterOptions::new(&minor).nodes(&["n1"])) {
        Ok(_cluster) => {
            println!("ready");
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("{error}");
            Some(ExitCode::FAILURE)
        }
    }
}

/// The trial.
pub(crate) fn leaves_nothing(minor: &str) -> Result<(), Failed> {
    let before = Machine::look()?;
    let mut victim = Command::new(std::env::current_exe()?)
        .args([VICTIM, minor])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(output) = victim.stdout.take() {
        BufReader::new(output).read_line(&mut said)?;
    }
    let processes = descendants(victim.id())?;
    victim.kill()?;
    let killed = Instant::now();
    victim.wait()?;
    if said.trim() != "ready" {
        return Err("the cluster of the process to be killed did not start".into());
    }
    let names: BTreeSet<&str> = processes
        .values()
        .map(|process| process.name.as_str())
        .collect();
    for component in COMPONENTS {
        if !names.contains(component) {
            return Err(format!("{component} did not run; there were {names:?}").into());
        }
    }
    // The kernel ends them one after the other and tells nobody who is not their parent.
    loop {
        let left: Vec<&Process> = processes
            .iter()
            .filter(|(pid, process)| same_process(**pid, process))
            .map(|(_, process)| process)
            .collect();
        if left.is_empty() {
            break;
        }
        if killed.elapsed() > Duration::from_secs(10) {
            return Err(format!("still there after 10 seconds: {left:?}").into());
        }
        std::thread::yield_now();
    }
    let after = Machine::look()?;
    if before != after {
        return Err(
            format!("the machine has changed\nbefore: {before:?}\nafter: {after:?}").into(),
        );
    }
    Ok(())
}

/// What must be the same before and after.
#[derive(Debug, PartialEq, Eq)]
struct Machine {
    mounts: String,
    settings: Vec<String>,
    folders: Vec<bool>,
    host_name: String,
}

impl Machine {
    fn look() -> Result<Self, Failed> {
        let settings: Result<Vec<String>, std::io::Error> =
            KERNEL_SETTINGS.iter().map(fs::read_to_string).collect();
        Ok(Self {
            mounts: fs::read_to_string("/proc/self/mountinfo")?,
            settings: settings?,
            folders: FOLDERS
                .iter()
                .map(|folder| fs::exists(folder).unwrap_or(true))
                .collect(),
            host_name: fs::read_to_string("/proc/sys/kernel/hostname")?,
        })
    }
}

/// A process as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    parent: u32,
    /// Tells it from a later process with the same number.
    started: String,
}

/// Returns all processes below one.
fn descendants(of: u32) -> Result<BTreeMap<u32, Process>, Failed> {
    let all: BTreeMap<u32, Process> = fs::read_dir("/proc")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, process(pid)?)))
        .collect();
    let mut found = BTreeMap::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for (pid, process) in all.iter().filter(|(_, process)| process.parent == parent) {
            found.insert(*pid, process.clone());
            parents.push(*pid);
        }
    }
    Ok(found)
}

fn same_process(pid: u32, known: &Process) -> bool {
    process(pid).is_some_and(|now| now.started == known.started)
}

/// Reads `/proc/PID/stat`: the name stands in brackets, the state is the 3rd field, the parent the 4th, the start the 22nd.
///
/// A process that has ended and was not yet asked how is none: that is up to the machine's process 1.
fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return None;
    }
    Some(Process {
        name,
        parent: fields.get(1)?.parse().ok()?,
        started: (*fields.get(19)?).to_owned(),
    })
}
