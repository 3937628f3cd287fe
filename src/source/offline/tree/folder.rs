//! A folder as a tree. Links are not followed.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Each, Listing, Tree};
use crate::source::offline::OfflineError;

/// Deeper than any layout that was seen; a bound against a maze.
const MAX_DEPTH: usize = 16;

/// Folders that hold nothing of what a repository says: git's own, and packages of others.
const PASSED_OVER: [&str; 2] = [".git", "node_modules"];

pub(in super::super) struct Folder(pub(in super::super) PathBuf);

impl Tree for Folder {
    fn list(&self) -> Result<Listing, OfflineError> {
        let mut listing = Listing::default();
        self.list_below(&self.0, 0, &mut listing);
        Ok(listing)
    }

    fn visit(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        each: &mut Each<'_>,
    ) -> Result<Option<String>, OfflineError> {
        for name in self.list()?.names.iter().filter(|name| wanted(name)) {
            match File::open(self.0.join(name)) {
                Ok(mut file) => each(name, Ok(&mut file as &mut dyn Read)),
                Err(error) => each(name, Err(error)),
            }
        }
        Ok(None)
    }
}

impl Folder {
    /// Whether a link leads to what is read under its own name.
    fn leads_inside(&self, link: &Path) -> bool {
        let whole = [self.0.as_path(), link].map(fs::canonicalize);
        matches!(whole, [Ok(folder), Ok(target)] if target.starts_with(&folder))
    }

    /// Returns false where there are too many entries.
    fn list_below(&self, folder: &Path, depth: usize, listing: &mut Listing) -> bool {
        let name = |path: &Path| {
            let inside = path.strip_prefix(&self.0).unwrap_or(path);
            inside.as_os_str().as_encoded_bytes().to_vec()
        };
        if depth > MAX_DEPTH {
            let reason = format!("deeper than {MAX_DEPTH} folders");
            listing.refuse(&reason, &name(folder));
            return true;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                listing.refuse(&error.to_string(), &name(folder));
                return true;
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        let is_passed_over = |path: &PathBuf| {
            let name = path.file_name();
            PASSED_OVER.iter().any(|known| name == Some(known.as_ref()))
        };
        paths.retain(|path| !is_passed_over(path));
        paths.sort();
        paths.iter().all(|path| match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.list_below(path, depth + 1, listing),
            Ok(metadata) if metadata.is_symlink() && self.leads_inside(path) => true,
            Ok(metadata) => listing.add(&name(path), metadata.is_file()),
            // It vanished since the folder was listed.
            Err(error) => {
                listing.refuse(&error.to_string(), &name(path));
                true
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::NOT_PLAIN;
    use super::*;

    #[test]
    fn a_link_is_named_and_a_file_that_vanished_is_handed_out_as_such() {
        let place = tempfile::tempdir().expect("a folder");
        fs::write(place.path().join("a"), "1").expect("a file");
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, place.path().join(name)).expect("a link");
        };
        link("/", "b");
        link("a", "inside");
        link(".", "loop");
        for passed_over in [".git", "node_modules"] {
            fs::create_dir(place.path().join(passed_over)).expect("a folder");
            fs::write(place.path().join(passed_over).join("x"), "1").expect("a file");
        }
        let folder = Folder(place.path().to_owned());
        let listing = folder.list().expect("it can be listed");
        assert_eq!(listing.names, ["a".to_owned()].into());
        assert_eq!(listing.refused[NOT_PLAIN], ["b".to_owned()].into());
        let mut seen = Vec::new();
        folder
            .visit(
                &|_| {
                    // Between the list and the file that is opened.
                    drop(fs::remove_file(place.path().join("a")));
                    true
                },
                &mut |name, bytes| seen.push((name.to_owned(), bytes.is_err())),
            )
            .expect("the folder is there");
        assert_eq!(seen, [("a".to_owned(), true)]);
    }
}
