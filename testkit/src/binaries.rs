//! Builds the upstream components of one minor and keeps them in a cache outside the source tree.
//!
//! A minor is a folder under `go/`: its name is the minor, its `go.mod` says which patch. A second minor is one more
//! folder. Nothing about a version may be written down here.

#![expect(
    clippy::disallowed_methods,
    reason = "the cache's place comes from the environment, the sources from files"
)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ring::digest::{Context, SHA256};

/// Free disk that a cold build may need: module cache, build cache and the binaries.
const NEEDED_DISK: u64 = 25_000_000_000;

/// The requirement line that names the patch version.
const KUBERNETES: &str = "k8s.io/kubernetes";

/// Why the components of a minor could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No folder of that name.
    #[error("there is no minor {minor} under {}; known: {}", folder.display(), known.join(", "))]
    UnknownMinor {
        minor: String,
        folder: PathBuf,
        known: Vec<String>,
    },
    /// `go.mod` does not say which Kubernetes it is for.
    #[error("{} does not require k8s.io/kubernetes at a version", .0.display())]
    NoVersion(PathBuf),
    /// Neither a cache variable nor a home is set.
    #[error("no place for the cache; set KUBE_PLACEMENT_TESTKIT_CACHE to a folder")]
    NoCache,
    /// A build would fill the disk.
    #[error(
        "building Kubernetes {minor} needs {} GB of free disk, and {} has {} GB; free some, or set KUBE_PLACEMENT_TESTKIT_CACHE and GOCACHE to another disk",
        NEEDED_DISK / 1_000_000_000, path.display(), free / 1_000_000_000
    )]
    DiskFull {
        minor: String,
        path: PathBuf,
        free: u64,
    },
    /// The Go toolchain refused.
    #[error("`go {command}` failed in {}: {output}", folder.display())]
    Go {
        command: &'static str,
        folder: PathBuf,
        output: String,
    },
    /// A file could not be read, written or moved.
    #[error("could not {what} {}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// The built components of one minor.
#[derive(Debug, Clone)]
pub struct Binaries {
    minor: String,
    version: String,
    folder: PathBuf,
}

impl Binaries {
    /// Returns the components of a minor such as `1.37`, building them if the cache lacks them.
    ///
    /// A cold build takes minutes; a second process that wants the same waits for the first.
    pub fn of(minor: &str) -> Result<Self, BuildError> {
        let source = source(minor)?;
        let version = version_of(&source)?;
        let cache = cache()?;
        let folder = cache.join(format!(
            "{minor}-{}",
            fingerprint(&source, "fakecri/main.go")?
        ));
        let built = Self {
            minor: minor.to_owned(),
            version,
            folder,
        };
        // The folder appears by one rename, so its presence means that it is whole.
        if built.folder.is_dir() {
            return Ok(built);
        }
        let lock = cache.join("build.lock");
        fs::create_dir_all(&cache).map_err(file("create", &cache))?;
        let held = File::create(&lock).map_err(file("create", &lock))?;
        held.lock().map_err(file("lock", &lock))?;
        if !built.folder.is_dir() {
            built.build(&source)?;
        }
        Ok(built)
    }

    /// The minor, for instance `1.37`.
    pub fn minor(&self) -> &str {
        &self.minor
    }

    /// The exact version, for instance `v1.37.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The folder that holds the binaries.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The `kubectl` of this minor.
    pub fn kubectl(&self) -> PathBuf {
        self.folder.join("kubectl")
    }

    /// Builds into a folder beside the final one, then renames.
    fn build(&self, source: &Path) -> Result<(), BuildError> {
        let go_cache = PathBuf::from(go(source, "env", &["GOCACHE"])?);
        let cache = self.folder.parent().unwrap_or(&self.folder);
        for disk in [cache, go_cache.as_path()] {
            self.check_disk(disk)?;
        }
        // The name is fixed: the lock is held, so what is there is the rest of a killed build.
        let rough = self.folder.with_extension("unfinished");
        if rough.exists() {
            fs::remove_dir_all(&rough).map_err(file("remove", &rough))?;
        }
        fs::create_dir_all(&rough).map_err(file("create", &rough))?;
        let (major, minor) = self.minor.split_once('.').unwrap_or((&self.minor, ""));
        let package = "k8s.io/component-base/version";
        // Without these a server says v0.0.0-master and compares versions wrongly.
        let flags = format!(
            "-s -w -X {package}.gitVersion={} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}",
            self.version
        );
        let output = format!("{}/", rough.display());
        go(
            source,
            "build",
            &[
                "-trimpath",
                "-buildvcs=false",
                "-ldflags",
                &flags,
                "-o",
                &output,
                "tool",
                "./fakecri",
            ],
        )?;
        // The command is named after its folder in etcd's sources; managers and logs want the real name.
        let etcd = rough.join("server");
        fs::rename(&etcd, rough.join("etcd")).map_err(file("rename", &etcd))?;
        fs::rename(&rough, &self.folder).map_err(file("rename", &rough))
    }

    /// Refuses to build where the disk would run full half-way.
    fn check_disk(&self, path: &Path) -> Result<(), BuildError> {
        // The folder may not exist yet; its nearest ancestor lies on the same disk.
        let existing = path
            .ancestors()
            .find(|ancestor| ancestor.exists())
            .unwrap_or(Path::new("/"));
        let disk = rustix::fs::statvfs(existing)
            .map_err(|error| file("look at the disk of", existing)(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < NEEDED_DISK {
            return Err(BuildError::DiskFull {
                minor: self.minor.clone(),
                path: existing.to_owned(),
                free,
            });
        }
        Ok(())
    }
}

/// Returns the minors that can be built, oldest first.
pub fn minors() -> Vec<String> {
    let mut found: Vec<(u32, String)> = fs::read_dir(sources())
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("go.mod").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| Some((name.split_once('.')?.1.parse().ok()?, name)))
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

/// The folder with one Go module a minor.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go")
}

/// The Go module of a minor.
pub(crate) fn source(minor: &str) -> Result<PathBuf, BuildError> {
    let source = sources().join(minor);
    if source.join("go.mod").is_file() {
        return Ok(source);
    }
    Err(BuildError::UnknownMinor {
        minor: minor.to_owned(),
        folder: sources(),
        known: minors(),
    })
}

/// Where the built components are kept.
pub(crate) fn cache() -> Result<PathBuf, BuildError> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = set("KUBE_PLACEMENT_TESTKIT_CACHE") {
        return Ok(folder);
    }
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    Ok(base
        .ok_or(BuildError::NoCache)?
        .join("kube-placement")
        .join("testkit"))
}

/// Reads the version of Kubernetes out of the module's requirements.
fn version_of(source: &Path) -> Result<String, BuildError> {
    let path = source.join("go.mod");
    let text = fs::read_to_string(&path).map_err(file("read", &path))?;
    required_version(&text)
        .map(str::to_owned)
        .ok_or(BuildError::NoVersion(path))
}

/// Finds the version that a `go.mod` requires of Kubernetes itself.
fn required_version(go_mod: &str) -> Option<&str> {
    go_mod.lines().find_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| *word == "require");
        (words.next() == Some(KUBERNETES))
            .then(|| words.next())
            .flatten()
            .filter(|word| word.starts_with('v'))
    })
}

/// Names a build by all that goes into it: the module, the program of our own and the toolchain.
pub(crate) fn fingerprint(source: &Path, program: &str) -> Result<String, BuildError> {
    let mut hash = Context::new(&SHA256);
    for name in ["go.mod", "go.sum", program] {
        let path = source.join(name);
        hash.update(&fs::read(&path).map_err(file("read", &path))?);
    }
    hash.update(go(source, "env", &["GOVERSION"])?.as_bytes());
    let digest = hash.finish();
    // Twelve digits tell a handful of folders apart.
    let start = digest
        .as_ref()
        .iter()
        .take(6)
        .fold(0_u64, |start, byte| start << 8 | u64::from(*byte));
    Ok(format!("{start:012x}"))
}

/// Runs the Go toolchain in a module and returns what it printed.
pub(crate) fn go(
    folder: &Path,
    command: &'static str,
    arguments: &[&str],
) -> Result<String, BuildError> {
    let output = Command::new("go")
        .arg(command)
        .args(arguments)
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .output()
        .map_err(file("run go in", folder))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let folder = folder.to_owned();
    Err(BuildError::Go {
        command,
        folder,
        output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Names the file that an input or output error is about.
pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_requirement_and_not_a_tool_or_a_replacement() {
        let go_mod = "tool k8s.io/kubernetes/cmd/kubelet\nrequire (\n\tk8s.io/kubernetes v1.37.2 // indirect\n)\n";
        assert_eq!(required_version(go_mod), Some("v1.37.2"));
        assert_eq!(
            required_version("require k8s.io/kubernetes v1.35.4\n"),
            Some("v1.35.4")
        );
        assert_eq!(
            required_version("replace k8s.io/kubernetes => ../kubernetes\n"),
            None
        );
    }

    #[test]
    fn minors_are_ordered_by_number() {
        let found = minors();
        assert!(found.contains(&"1.37".to_owned()), "{found:?}");
        assert!(found.is_sorted_by_key(|name| {
            name.split_once('.')
                .and_then(|(_, minor)| minor.parse::<u32>().ok())
        }));
    }
}
