//! Gives a cluster its place on the machine: an address slot, places for its kubelets, and a file system of its own.
//!
//! All state lies on a tmpfs in the private mount namespace, so it is gone with the last process. What the kubelet
//! would change outside of its folders (logs, plug-in folders, kernel settings) is covered. Nothing may be written to
//! the machine's own file system but empty lock files.

#![expect(
    clippy::disallowed_methods,
    reason = "locks and kernel settings are files"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::{MountFlags, mount, mount_bind};

use super::{BIN, STATE};

/// Holds the lock files; every process on the machine must agree on it, so it does not depend on the environment.
const LOCKS: &str = "/run/kube-placement-testkit";

/// Address slots, `127.77.N.0/24` each.
const SLOTS: std::ops::RangeInclusive<u8> = 1..=250;

/// Kubelets on the machine: each takes several of the 128 inotify instances that a user has by default.
const KUBELETS: usize = 10;

/// How often, and how many times, to look for free kubelet places: five minutes.
const PATIENCE: (Duration, usize) = (Duration::from_millis(250), 1200);

/// What the kubelet sets when it starts, and the values that it wants; these are the machine's, not the namespace's.
///
/// It sets what has another value. A copy is a file, empty for the moment in which it is written, and a kubelet of the same cluster
/// that reads it then ends with 1 (seen on 1.36.3: "Failed to start `ContainerManager`", `strconv.Atoi: parsing ""`). So copies have
/// what kubelets want, and none writes (kubernetes 1.35 to 1.37, `pkg/kubelet/cm/container_manager_linux.go`, `setupKernelTunables`).
const KERNEL_SETTINGS: [(&str, &str); 6] = [
    ("/proc/sys/vm/overcommit_memory", "1"),
    ("/proc/sys/vm/panic_on_oom", "0"),
    ("/proc/sys/kernel/panic", "10"),
    ("/proc/sys/kernel/panic_on_oops", "1"),
    ("/proc/sys/kernel/keys/root_maxkeys", "1000000"),
    ("/proc/sys/kernel/keys/root_maxbytes", "25000000"),
];

/// The host name inside. Schedulers and leases carry it, so the same answers come from every machine.
const HOST_NAME: &str = "control-plane";

#[derive(Debug, thiserror::Error)]
pub(super) enum JailError {
    #[error("{0} kubelets were asked for, and at most {KUBELETS} run on one machine")]
    TooMany(usize),
    #[error(
        "{wanted} kubelets were asked for, and other clusters held the {KUBELETS} places for five minutes"
    )]
    KubeletsTaken { wanted: usize },
    #[error("all address slots 127.77.N.0/24 are taken by other clusters")]
    SlotsTaken,
    #[error("could not {what} {}: {source}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// The place of one cluster.
pub(super) struct Jail {
    slot: u8,
    slot_lock: File,
    kubelet_locks: Vec<File>,
}

impl Jail {
    /// Takes the locks, then covers what must stay untouched.
    pub(super) fn build(
        kubelets: usize,
        binaries: &BTreeMap<String, PathBuf>,
    ) -> Result<Self, JailError> {
        fs::create_dir_all(LOCKS).map_err(file("create", LOCKS))?;
        let kubelet_locks = take_kubelets(kubelets)?;
        let (slot, slot_lock) = take_slot()?;
        cover(binaries)?;
        Ok(Self {
            slot,
            slot_lock,
            kubelet_locks,
        })
    }

    pub(super) fn slot(&self) -> u8 {
        self.slot
    }

    /// Returns the lock that a process is to hold.
    pub(super) fn lock(&self, kubelet: Option<usize>) -> io::Result<File> {
        kubelet
            .and_then(|index| self.kubelet_locks.get(index))
            .unwrap_or(&self.slot_lock)
            .try_clone()
    }
}

fn take_slot() -> Result<(u8, File), JailError> {
    for slot in SLOTS {
        if let Some(lock) = try_lock(&format!("slot-{slot}"))? {
            return Ok((slot, lock));
        }
    }
    Err(JailError::SlotsTaken)
}

/// Takes places for all kubelets at once: two clusters that each hold half would wait for each other.
fn take_kubelets(wanted: usize) -> Result<Vec<File>, JailError> {
    if wanted > KUBELETS {
        return Err(JailError::TooMany(wanted));
    }
    let (pause, times) = PATIENCE;
    for _ in 0..times {
        let mut taken = Vec::new();
        for place in 0..KUBELETS {
            if taken.len() == wanted {
                break;
            }
            taken.extend(try_lock(&format!("kubelet-{place}"))?);
        }
        if taken.len() == wanted {
            return Ok(taken);
        }
        drop(taken);
        // Another cluster's end is nothing that can be watched here.
        std::thread::sleep(pause);
    }
    Err(JailError::KubeletsTaken { wanted })
}

/// Takes a lock, or returns none if another cluster has it.
fn try_lock(name: &str) -> Result<Option<File>, JailError> {
    let path = Path::new(LOCKS).join(name);
    let lock = File::create(&path).map_err(file("create", &path))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(file("lock", &path)(error)),
    }
}

/// Builds the private file system.
fn cover(binaries: &BTreeMap<String, PathBuf>) -> Result<(), JailError> {
    // Opened first, since a folder may lie below one that is covered.
    let mut opened = Vec::new();
    for (name, folder) in binaries {
        let handle = File::open(folder).map_err(file("open", folder))?;
        opened.push((Path::new(BIN).join(name), handle));
    }
    for path in ["/run", "/var/lib", "/var/log"] {
        mount(
            "tmpfs",
            path,
            "tmpfs",
            MountFlags::NOSUID | MountFlags::NODEV,
            c"mode=0755",
        )
        .map_err(|error| file("cover", path)(error.into()))?;
    }
    let logs = Path::new(STATE).join("logs");
    fs::create_dir_all(&logs).map_err(file("create", &logs))?;
    for (path, handle) in &opened {
        fs::create_dir_all(path).map_err(file("create", path))?;
        bind(
            &format!("/proc/self/fd/{}", handle.as_raw_fd()),
            &path.to_string_lossy(),
        )?;
    }
    for (setting, value) in KERNEL_SETTINGS {
        let copy = Path::new(STATE)
            .join("kernel")
            .join(setting.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap_or(&copy)).map_err(file("create", &copy))?;
        fs::write(&copy, value).map_err(file("write", &copy))?;
        bind(&copy.to_string_lossy(), setting)?;
    }
    // No name is looked up outside: a node called n1 must not become somebody's host.
    let resolver = format!("{STATE}/resolv.conf");
    fs::write(
        &resolver,
        "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
    )
    .map_err(file("write", &resolver))?;
    if Path::new("/etc/resolv.conf").exists() {
        bind(&resolver, "/etc/resolv.conf")?;
    }
    rustix::system::sethostname(HOST_NAME.as_bytes())
        .map_err(|error| file("set the name of", "the host")(error.into()))
}

fn bind(from: &str, to: &str) -> Result<(), JailError> {
    mount_bind(from, to).map_err(|error| file("cover", to)(error.into()))
}

/// Names the file that an error is about.
fn file(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> JailError {
    let path = path.as_ref().to_owned();
    move |source| JailError::File { what, path, source }
}
