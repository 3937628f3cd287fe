//! `version` of either plugin. It asks no server.

use std::io::Write;

use crate::env::Env;
use crate::error::{Error, exit};

/// Print the version of this plugin
#[derive(Debug, clap::Args)]
pub(super) struct VersionArgs {}

pub(super) fn run(plugin: &str, _args: &VersionArgs, env: &mut Env) -> Result<u8, Error> {
    writeln!(
        env.stdout,
        "kubectl-{plugin} v{}",
        env!("CARGO_PKG_VERSION")
    )?;
    Ok(exit::DONE)
}
