//! A network of its own for one thread: loopback, and addresses that no rule for loopback holds for.
//!
//! An API server's address in an `EndpointSlice` may not be one of 127.0.0.0/8, so replicas need others. They are the thread's and
//! what it starts, and are gone with the last of these; nothing may be added to the machine's own network.
#![expect(
    clippy::disallowed_methods,
    reason = "a network namespace is entered by its file"
)]

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Runs something on a thread whose network has nothing but loopback and these addresses.
pub fn apart<T: Send>(addresses: &[&str], run: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            enter(addresses)?;
            Ok(run())
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Has a network made by a process that waits, and moves this thread into it.
fn enter(addresses: &[&str]) -> io::Result<()> {
    const SCRIPT: &str = r#"ip link set lo up && for a in "$@"; do ip addr add "$a/32" dev lo || exit; done && echo up && exec cat"#;
    let mut maker = Command::new("setpriv")
        .args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--net",
            "sh",
            "-c",
            SCRIPT,
            "sh",
        ])
        .args(addresses)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(output) = maker.stdout.take() {
        BufReader::new(output).read_line(&mut said)?;
    }
    let entered = if said == "up\n" {
        let network = File::open(format!("/proc/{}/ns/net", maker.id()))?;
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(io::Error::from)
    } else {
        Err(io::Error::other("no network of its own could be made"))
    };
    // It ends with its input; the network stays as long as somebody is in it.
    drop(maker.stdin.take());
    maker.wait()?;
    entered
}
