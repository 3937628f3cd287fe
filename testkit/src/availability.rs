//! Says whether real clusters can run on this machine, and if not, why.
//!
//! It must not start anything that stays, and it must not build: a `no` has to come within a second.

use std::process::{Command, Stdio};

/// Why no cluster can run here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The kubelet and the namespaces are Linux's.
    #[error("real clusters need Linux")]
    NotLinux,
    /// The kubelet mounts, and so do we.
    #[error("real clusters need root")]
    NotRoot,
    /// A program that is called by name is missing.
    #[error("real clusters need the program `{0}`")]
    NoProgram(&'static str),
    /// A container without the right to make namespaces, for instance.
    #[error(
        "real clusters need mount, pid and host name namespaces, and `unshare` was refused: {0}"
    )]
    NoNamespaces(String),
}

/// Returns the first reason why no cluster can run here.
pub fn available() -> Result<(), Unavailable> {
    if !cfg!(target_os = "linux") {
        return Err(Unavailable::NotLinux);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Unavailable::NotRoot);
    }
    for (program, argument) in [
        ("go", "version"),
        ("setpriv", "--version"),
        ("unshare", "--version"),
    ] {
        let ran = Command::new(program)
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !ran.is_ok_and(|status| status.success()) {
            return Err(Unavailable::NoProgram(program));
        }
    }
    let tried = Command::new("unshare")
        .args([
            "--mount",
            "--uts",
            "--pid",
            "--fork",
            "--mount-proc",
            "true",
        ])
        .output();
    match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Unavailable::NoNamespaces(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )),
        Err(error) => Err(Unavailable::NoNamespaces(error.to_string())),
    }
}
