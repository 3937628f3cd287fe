//! A file as a revision of its git repository has it, or as it lies there.
//!
//! Only `git` is run, by its plumbing: no pager, no filter, no hook of the repository. What it prints and how long it takes is bounded. It must not
//! know what the file is for.
#![expect(clippy::disallowed_methods, reason = "source reads files")]

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// A list that people write is far below it.
const MAX_BYTES: u64 = 1 << 20;
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RevisionError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{what} has more than 1 MiB, or is no text")]
    Garbage { what: String },
    #[error("{0:?} is no revision's name")]
    Name(String),
    #[error("git cannot be run")]
    NotRun(#[source] io::Error),
    #[error("git did not answer within {}s", LIMIT.as_secs())]
    Late,
    #[error("{0:?} is not known to the git repository of this folder: {1}")]
    NoRevision(String, String),
    #[error("git cannot show {what}: {why}")]
    Refused { what: String, why: String },
}

impl RevisionError {
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoRevision(..) => Some(
                "a shallow checkout has no other branch: fetch it, e.g. git fetch --depth=1 origin main, and name origin/main",
            ),
            Self::NotRun(_) => Some("install git, or leave the revision out"),
            _ => None,
        }
    }
}

/// The file's text.
pub(crate) fn read(path: &Path) -> Result<String, RevisionError> {
    use std::io::Read as _;
    let failed = |source| RevisionError::Read {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    text(bytes, &path.display().to_string())
}

/// The file's text in a revision; null where the revision has no such file. The path may be relative to the current folder.
pub(crate) async fn read_at(revision: &str, path: &Path) -> Result<Option<String>, RevisionError> {
    // Neither an option nor another object's name in place of a commit's.
    if revision.is_empty() || revision.starts_with('-') || revision.contains([':', '\0']) {
        return Err(RevisionError::Name(revision.to_owned()));
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let commit = format!("{revision}^{{commit}}");
    let (known, commit, why) = git(folder, &["rev-parse", "--verify", "--quiet", &commit]).await?;
    if !known {
        return Err(RevisionError::NoRevision(revision.to_owned(), why));
    }
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let what = format!("{} of {revision}", path.display());
    let refused = |why| RevisionError::Refused {
        what: what.clone(),
        why,
    };
    let file = format!("./{name}");
    let (listed, entry, why) = git(
        folder,
        &["--literal-pathspecs", "ls-tree", &commit, "--", &file],
    )
    .await?;
    if !listed {
        return Err(refused(why));
    }
    if entry.is_empty() {
        return Ok(None);
    }
    let object = format!("{commit}:{file}");
    let (shown, bytes, why) = git(folder, &["cat-file", "blob", &object]).await?;
    if !shown {
        return Err(refused(why));
    }
    text(bytes, &what).map(Some)
}

/// Whether it ended well, what it printed, and the first line of what it said against it.
async fn git(folder: &Path, arguments: &[&str]) -> Result<(bool, Vec<u8>, String), RevisionError> {
    let work = async {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (mut printed, mut said) = (Vec::new(), Vec::new());
        // What git says against something is short: the pipe holds it until it is read.
        if let Some(pipe) = child.stdout.take() {
            pipe.take(MAX_BYTES + 1).read_to_end(&mut printed).await?;
        }
        if let Some(pipe) = child.stderr.take() {
            pipe.take(MAX_BYTES).read_to_end(&mut said).await?;
        }
        let status = child.wait().await?;
        let said = String::from_utf8_lossy(&said);
        let why = said.lines().next().unwrap_or("it says no more").to_owned();
        Ok((status.success(), printed, why))
    };
    let done = tokio::time::timeout(LIMIT, work).await;
    done.map_err(|_| RevisionError::Late)?
        .map_err(RevisionError::NotRun)
}

fn text(bytes: Vec<u8>, what: &str) -> Result<String, RevisionError> {
    let is_short = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES);
    let text = String::from_utf8(bytes).ok().filter(|_| is_short);
    text.ok_or_else(|| RevisionError::Garbage {
        what: what.to_owned(),
    })
}
