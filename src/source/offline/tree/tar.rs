//! A tar as a tree, compressed or not: two passes over the stream, one for the names and one for what is wanted of them.

use std::io::{self, Read, Seek};

use super::{Each, Listing, Tree, normal};
use crate::source::offline::budget::Budget;
use crate::source::offline::{OfflineError, compression};

/// Bytes of a header, and of the block that an entry is filled up to.
const BLOCK: usize = 512;

/// Opens the bytes from their beginning.
pub(in super::super) type Opener = Box<dyn Fn() -> Result<Box<dyn ReadSeek>, OfflineError>>;

pub(in super::super) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

pub(in super::super) struct Tar(pub(in super::super) Opener);

/// Whether bytes begin as a tar does: by the checksum, since old ones have no magic. An empty one is zeros.
pub(in super::super) fn recognises(head: &[u8]) -> bool {
    let Some(header) = head.first_chunk::<BLOCK>() else {
        return false;
    };
    if header.iter().all(|byte| *byte == 0) {
        return true;
    }
    let header = ::tar::Header::from_byte_slice(header);
    let sum: u32 = header
        .as_bytes()
        .iter()
        .enumerate()
        // The checksum's own field counts as spaces.
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                32
            } else {
                u32::from(*byte)
            }
        })
        .sum();
    header.cksum().is_ok_and(|told| told == sum)
}

/// One entry: its name as it stands there, whether it is a plain file, its size, and its bytes.
type Entry<'e> = dyn FnMut(&[u8], bool, u64, &mut dyn Read) -> bool + 'e;

impl Tar {
    /// Walks over all entries that are no folders. Returns why it ended early.
    fn walk(&self, each: &mut Entry<'_>) -> Result<Option<String>, OfflineError> {
        let budget = Budget::default();
        let stream = (self.0)()?;
        // The budget ends a stream that fails, so that the rest is an empty archive and no error.
        let Ok(plain) = compression::plain(stream, &budget) else {
            return Ok(Some("it cannot be read".to_owned()));
        };
        let mut archive = ::tar::Archive::new(plain);
        let mut entries = match archive.entries() {
            Ok(entries) => entries,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut count = 0_usize;
        loop {
            let mut entry = match budget.header(|| entries.next()) {
                None => break,
                Some(Ok(entry)) => entry,
                Some(Err(error)) => {
                    let fault = budget.fault().unwrap_or_else(|| error.to_string());
                    return Ok(Some(format!("after {count} entries: {fault}")));
                }
            };
            count += 1;
            let kind = entry.header().entry_type();
            let (name, size) = (entry.path_bytes().into_owned(), entry.size());
            let goes_on = kind.is_dir() || each(&name, kind.is_file(), size, &mut entry);
            if !goes_on {
                break;
            }
            // Here and not in `next`, which counts what it reads as a header.
            if let Err(error) = io::copy(&mut entry, &mut io::sink()) {
                return Ok(Some(format!("after {count} entries: {error}")));
            }
        }
        let cut = || {
            let ended = budget.ends_with_zeros(BLOCK as u64) || budget.is_untouched();
            (!ended).then(|| "it has no end mark".to_owned())
        };
        let fault = budget.fault().or_else(cut);
        Ok(fault.map(|fault| format!("after {count} entries: {fault}")))
    }
}

impl Tree for Tar {
    fn list(&self) -> Result<Listing, OfflineError> {
        let mut listing = Listing::default();
        let mut cut = None;
        let fault = self.walk(&mut |name, is_plain, size, bytes| {
            let goes_on = listing.add(name, is_plain);
            if is_plain && goes_on {
                let read = io::copy(bytes, &mut io::sink()).unwrap_or(0);
                if read < size {
                    cut = normal(name).ok();
                }
            }
            goes_on
        })?;
        listing.cut = cut;
        listing.fault = listing.fault.or(fault);
        Ok(listing)
    }

    fn visit(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        each: &mut Each<'_>,
    ) -> Result<Option<String>, OfflineError> {
        let mut seen = Listing::default();
        self.walk(&mut |name, is_plain, _, bytes| {
            let (goes_on, picked) = seen.pick(name, is_plain, wanted);
            if let Some(name) = picked {
                each(&name, Ok(bytes));
            }
            goes_on
        })
    }
}
