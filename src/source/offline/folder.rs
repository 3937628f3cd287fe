//! A folder of files, read in the order of their names. Links are not followed.
//!
//! A file that is not understood is coverage, not an error.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Collected, OfflineError, input};
use crate::model::coverage::State;
use crate::source::audit::Focus;

/// Deeper than any layout that was seen; a bound against a maze.
const MAX_DEPTH: usize = 16;

/// Names of files that were not understood, as many as a person reads.
const NAMED: usize = 5;

pub(super) fn recognises(path: &Path) -> bool {
    path.is_dir()
}

pub(super) fn read(
    path: &Path,
    _stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    let mut files = Vec::new();
    list(path, 0, &mut files, &mut collected);
    let mut foreign = Vec::new();
    for file in &files {
        let subject = file
            .strip_prefix(path)
            .unwrap_or(file)
            .display()
            .to_string();
        let read = File::open(file)
            .map_err(|source| OfflineError::Read {
                path: file.clone(),
                source,
            })
            .and_then(|mut open| input::take(&mut collected, &subject, file, &mut open, focus));
        match read {
            Ok(None) => {}
            Ok(Some(_)) => foreign.push(subject),
            Err(error) => collected.note(&subject, State::Unreadable, error.to_string()),
        }
    }
    if collected.facts.is_empty() && collected.listed.is_empty() {
        let fault = format!(
            "none of its {} files has Pods, Nodes or Events in YAML or JSON",
            files.len()
        );
        return Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault,
        });
    }
    if !foreign.is_empty() {
        let mut detail = format!(
            "not recognised: {}",
            foreign
                .iter()
                .take(NAMED)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        );
        if foreign.len() > NAMED {
            detail = format!("{detail} and {} more", foreign.len() - NAMED);
        }
        collected.note(
            &format!("{} of {} files", foreign.len(), files.len()),
            State::Unreadable,
            detail,
        );
    }
    Ok(collected)
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, collected: &mut Collected) {
    if depth > MAX_DEPTH {
        return collected.note(
            &folder.display().to_string(),
            State::Unreadable,
            format!("deeper than {MAX_DEPTH} folders"),
        );
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return collected.note(
                &folder.display().to_string(),
                State::Unreadable,
                error.to_string(),
            );
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => list(&path, depth + 1, files, collected),
            Ok(metadata) if metadata.is_file() => files.push(path),
            Ok(_) => collected.note(
                &path.display().to_string(),
                State::Unreadable,
                "it is a link or a device; not followed".to_owned(),
            ),
            Err(error) => collected.note(
                &path.display().to_string(),
                State::Unreadable,
                error.to_string(),
            ),
        }
    }
}
