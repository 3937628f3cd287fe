//! Asks the Kubernetes modules of a minor for what they register: feature gates, groups and versions.
//!
//! A Go program of a minor (`go/<minor>/gates`, `go/<minor>/apis`) prints them; what it printed is kept in the cache. It must not
//! interpret.

#![expect(clippy::disallowed_methods, reason = "it keeps files in the cache")]

use std::fs;

use crate::binaries::{self, BuildError, file, go};

/// Returns the gates of a minor, a JSON object a line; asks Go where the cache lacks them, which links for half a minute.
pub fn gates(minor: &str) -> Result<String, BuildError> {
    printed(minor, "gates")
}

/// Returns the groups and versions of a minor's API server in the same way.
pub fn apis(minor: &str) -> Result<String, BuildError> {
    printed(minor, "apis")
}

fn printed(minor: &str, program: &str) -> Result<String, BuildError> {
    let source = binaries::source(minor)?;
    let cache = binaries::cache()?;
    let hash = binaries::fingerprint(&source, &format!("{program}/main.go"))?;
    let kept = cache.join(format!("{program}-{minor}-{hash}.jsonl"));
    if kept.is_file() {
        return fs::read_to_string(&kept).map_err(file("read", &kept));
    }
    let package = format!("./{program}");
    let printed = go(&source, "run", &["-trimpath", "-buildvcs=false", &package])?;
    let text = format!("{printed}\n");
    fs::create_dir_all(&cache).map_err(file("create", &cache))?;
    // It appears by one rename, so its presence means that it is whole; two at once write the same.
    let rough = kept.with_extension("unfinished");
    fs::write(&rough, &text).map_err(file("write", &rough))?;
    fs::rename(&rough, &kept).map_err(file("rename", &rough))?;
    Ok(text)
}
