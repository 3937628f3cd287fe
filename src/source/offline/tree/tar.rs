//! A tar as a tree, compressed or not: two passes, one for the names and one for what is wanted of them.

use std::io::{self, Read, Seek, SeekFrom};

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

/// One entry: its name as it stands there, whether it is a plain file, and its bytes. Returns whether to go on.
type Entry<'e> = dyn FnMut(&[u8], bool, &mut dyn Read) -> bool + 'e;

/// How a walk ended before the archive did.
#[derive(Debug, Default)]
struct End {
    fault: Option<String>,
    /// The entry that is not whole.
    cut: Option<Vec<u8>>,
}

impl End {
    fn early(fault: String) -> Self {
        Self {
            fault: Some(fault),
            cut: None,
        }
    }
}

impl Tar {
    /// Walks over all entries that are no folders.
    fn walk(&self, each: &mut Entry<'_>) -> Result<End, OfflineError> {
        let budget = Budget::default();
        let mut stream = (self.0)()?;
        let length = compression::is_none(&mut stream).then(|| stream.seek(SeekFrom::End(0)));
        if let Err(error) = stream.rewind() {
            return Ok(End::early(error.to_string()));
        }
        // What is not compressed is passed over without reading it.
        if let Some(Ok(length)) = length {
            let mut archive = ::tar::Archive::new(budget.seekable(stream));
            return Ok(match archive.entries_with_seek() {
                Ok(entries) => walk(entries, &budget, Some(length), each),
                Err(error) => End::early(error.to_string()),
            });
        }
        // The budget ends a stream that fails, so that the rest is an empty archive and no error.
        let Ok(plain) = compression::plain(stream, &budget) else {
            return Ok(End::early("it cannot be read".to_owned()));
        };
        let mut archive = ::tar::Archive::new(plain);
        Ok(match archive.entries() {
            Ok(entries) => walk(entries, &budget, None, each),
            Err(error) => End::early(error.to_string()),
        })
    }
}

/// Walks over entries; `length` is that of an archive that can be passed over.
fn walk<R: Read>(
    mut entries: ::tar::Entries<'_, R>,
    budget: &Budget,
    length: Option<u64>,
    each: &mut Entry<'_>,
) -> End {
    let mut count = 0_usize;
    let mut cut = None;
    loop {
        let mut entry = match budget.header(|| entries.next()) {
            None => break,
            Some(Ok(entry)) => entry,
            Some(Err(error)) => {
                let fault = budget.fault().unwrap_or_else(|| error.to_string());
                let fault = Some(format!("after {count} entries: {fault}"));
                return End { fault, cut };
            }
        };
        count += 1;
        let kind = entry.header().entry_type();
        let name = entry.path_bytes().into_owned();
        let goes_on = kind.is_dir() || each(&name, kind.is_file(), &mut entry);
        if !goes_on {
            break;
        }
        if length.is_none()
            // Here and not in `next`, which counts what it reads as a header.
            && let Err(error) = io::copy(&mut entry, &mut io::sink())
        {
            return End::early(format!("after {count} entries: {error}"));
        }
        let due = entry.raw_file_position().saturating_add(entry.size());
        if kind.is_file() && due > length.unwrap_or_else(|| budget.read()) {
            cut = Some(name);
        }
    }
    let unended = || {
        let ended = budget.ends_with_zeros(BLOCK as u64) || budget.is_untouched();
        (!ended).then(|| "it has no end mark".to_owned())
    };
    let fault = budget.fault().or_else(unended);
    End {
        fault: fault.map(|fault| format!("after {count} entries: {fault}")),
        cut,
    }
}

impl Tree for Tar {
    fn list(&self) -> Result<Listing, OfflineError> {
        let mut listing = Listing::default();
        let end = self.walk(&mut |name, is_plain, _| listing.add(name, is_plain))?;
        listing.cut = end.cut.and_then(|name| normal(&name).ok());
        listing.fault = listing.fault.or(end.fault);
        Ok(listing)
    }

    fn visit(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        each: &mut Each<'_>,
    ) -> Result<Option<String>, OfflineError> {
        let mut seen = Listing::default();
        let end = self.walk(&mut |name, is_plain, bytes| {
            let (goes_on, picked) = seen.pick(name, is_plain, wanted);
            if let Some(name) = picked {
                each(&name, Ok(bytes));
            }
            goes_on
        })?;
        Ok(end.fault)
    }
}
