//! A tree of named entries: a folder, or an archive that is read as a stream and never unpacked.
//!
//! A name that could lead out of the tree, or that two entries have, is refused, and so is all that is no plain file.
//! It must not know what entries mean: layouts do.

pub(super) mod folder;
pub(super) mod tar;
pub(super) mod zip;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use super::OfflineError;

/// More than any support archive that was seen holds.
const MAX_ENTRIES: usize = 200_000;

/// More than a file system takes.
const MAX_NAME: usize = 4096;

pub(super) const NOT_PLAIN: &str = "links and devices are not followed";
const OUTSIDE: &str = "the name leads out of the archive";
const NO_TEXT: &str = "the name is not UTF-8";
const TOO_LONG: &str = "the name is too long";
const TWICE: &str = "several entries have this name";

/// What a tree holds.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Names of plain files, parted by slashes.
    pub(super) names: BTreeSet<String>,
    /// Entries that are not read, by the reason.
    pub(super) refused: BTreeMap<String, BTreeSet<String>>,
    /// The entry inside which the archive ends.
    pub(super) cut: Option<String>,
    /// Why the tree ends early; what came before is used.
    pub(super) fault: Option<String>,
    entries: usize,
}

/// How an entry is handed out: its name, and its bytes if they can be read.
pub(super) type Each<'e> = dyn FnMut(&str, io::Result<&mut dyn Read>) + 'e;

pub(super) trait Tree {
    /// Names all entries.
    fn list(&self) -> Result<Listing, OfflineError>;

    /// Hands out the entries that are wanted, in the tree's own order. Returns why it ended early.
    fn visit(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        each: &mut Each<'_>,
    ) -> Result<Option<String>, OfflineError>;
}

impl Listing {
    /// Takes an entry in. Returns false where there are too many.
    fn add(&mut self, name: &[u8], is_plain: bool) -> bool {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            self.fault = Some(format!(
                "it has more than {MAX_ENTRIES} entries; those after them are not read"
            ));
            return false;
        }
        match normal(name) {
            Err(reason) => self.refuse(reason, name),
            Ok(_) if !is_plain => self.refuse(NOT_PLAIN, name),
            Ok(name) => {
                let known = self.refused.get(TWICE);
                if known.is_some_and(|known| known.contains(&name)) {
                    return true;
                }
                if self.names.remove(&name) {
                    self.refuse(TWICE, name.as_bytes());
                } else {
                    self.names.insert(name);
                }
            }
        }
        true
    }

    /// Takes an entry in that is to be handed out if it is wanted. Returns whether more may follow, and its name if it is.
    ///
    /// It counts as the list did, so that a walk ends where the list ended.
    fn pick(
        &mut self,
        name: &[u8],
        is_plain: bool,
        wanted: &dyn Fn(&str) -> bool,
    ) -> (bool, Option<String>) {
        let goes_on = self.add(name, is_plain);
        let name = normal(name).ok();
        let picked = name.filter(|name| goes_on && is_plain && wanted(name));
        (goes_on, picked)
    }

    fn refuse(&mut self, reason: &str, name: &[u8]) {
        let name = String::from_utf8_lossy(name).chars().take(200).collect();
        self.refused
            .entry(reason.to_owned())
            .or_default()
            .insert(name);
    }
}

/// The name with single slashes and without `.`, if it is one that stays inside.
fn normal(name: &[u8]) -> Result<String, &'static str> {
    if name.len() > MAX_NAME {
        return Err(TOO_LONG);
    }
    let name = std::str::from_utf8(name).map_err(|_| NO_TEXT)?;
    let parts: Vec<&str> = name
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let is_outside = name.starts_with('/') || parts.contains(&"..") || parts.is_empty();
    if is_outside || name.contains('\0') {
        return Err(OUTSIDE);
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside() {
        assert_eq!(normal(b"./a//b/./c"), Ok("a/b/c".to_owned()));
        for outside in ["/a", "a/../b", "..", "", ".", "a\0b"] {
            assert_eq!(normal(outside.as_bytes()), Err(OUTSIDE), "{outside:?}");
        }
        assert_eq!(normal(b"\xff"), Err(NO_TEXT));
        assert_eq!(normal(&[b'a'; 5000]), Err(TOO_LONG));
    }

    #[test]
    fn of_two_entries_of_one_name_neither_is_read() {
        let mut listing = Listing::default();
        for name in ["a", "./a", "b", "a"] {
            assert!(listing.add(name.as_bytes(), true));
        }
        assert_eq!(listing.names, BTreeSet::from(["b".to_owned()]));
        assert!(listing.refused[TWICE].contains("a"));
    }
}
