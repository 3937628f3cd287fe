//! Runs the plugin as its users do: through the kubectl of the cluster's minor.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use testkit::Cluster;

use crate::machinery::Check;

pub(crate) const CHECKS: &[(&str, Check)] =
    &[("the_plugin_behaves_like_kubectl", behaves_like_kubectl)];

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `kubectl ARGUMENTS` as a user, with the plugin on the PATH.
pub(crate) fn kubectl(
    cluster: &Cluster,
    user: &str,
    arguments: &[&str],
) -> Result<Run, Box<dyn Error>> {
    let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-nominate"));
    let output = Command::new(cluster.kubectl())
        .args(arguments)
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("PATH", plugin.parent().ok_or("the plugin is in no folder")?)
        .env("KUBECONFIG", cluster.kubeconfig(user))
        .output()?;
    Ok(Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

/// Errors and their codes come through kubectl, in the words that kubectl itself uses.
fn behaves_like_kubectl(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let get = kubectl(cluster, "viewer", &["get", "pod", "absent"])?;
    let explain = kubectl(cluster, "viewer", &["nominate", "explain", "absent"])?;
    expect(
        &explain,
        1,
        "Error from server (NotFound): pods \"absent\" not found\n",
    )?;
    same(&get.stderr, &explain.stderr)?;

    let get = kubectl(cluster, "nobody", &["get", "pod", "absent"])?;
    let explain = kubectl(cluster, "nobody", &["nominate", "explain", "absent"])?;
    expect(
        &explain,
        1,
        "Error from server (Forbidden): pods \"absent\" is forbidden: User \"nobody\" cannot get resource \"pods\"",
    )?;
    same(&get.stderr, &explain.stderr)?;

    let get = kubectl(
        cluster,
        "viewer",
        &["get", "pod", "absent", "--context", "prod"],
    )?;
    let explain = kubectl(
        cluster,
        "viewer",
        &["nominate", "explain", "absent", "--context", "prod"],
    )?;
    expect(&explain, 1, &get.stderr)?;

    expect(
        &kubectl(cluster, "viewer", &["nominate", "explain"])?,
        2,
        "error: the following required arguments were not provided:",
    )?;
    let version = kubectl(cluster, "viewer", &["nominate", "version"])?;
    same(
        &version.stdout,
        &format!("kubectl-nominate v{}\n", env!("CARGO_PKG_VERSION")),
    )?;
    same(&version.code, &Some(0))
}

fn expect(run: &Run, code: i32, first: &str) -> Result<(), Box<dyn Error>> {
    if run.code == Some(code) && run.stderr.starts_with(first) && run.stdout.is_empty() {
        return Ok(());
    }
    Err(format!("expected code {code} and {first:?}, found {run:?}").into())
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    left: &T,
    right: &T,
) -> Result<(), Box<dyn Error>> {
    if left == right {
        Ok(())
    } else {
        Err(format!("{left:?} is not {right:?}").into())
    }
}
