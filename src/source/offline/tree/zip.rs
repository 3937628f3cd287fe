//! A zip as a tree: its table is at its end, so that one that was cut off cannot be read at all.

use std::io::{self, BufReader, Read};

use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::tar::Opener;
use super::{Each, Listing, Tree};
use crate::source::offline::OfflineError;
use crate::source::offline::budget::Budget;

/// How a zip begins: with an entry, or with the end of an empty table.
const MAGICS: &[&[u8]] = &[b"PK\x03\x04", b"PK\x05\x06"];

/// So many entries that expand too much are skipped; then the archive is given up.
const MAX_BOMBS: usize = 8;

const ENCRYPTED: &str = "it is encrypted";
const UNKNOWN_METHOD: &str = "only stored and deflated entries are read";

pub(in super::super) struct Zip(pub(in super::super) Opener);

pub(in super::super) fn recognises(head: &[u8]) -> bool {
    MAGICS.iter().any(|magic| head.starts_with(magic))
}

/// One entry of the table: its name, whether it is a plain file, why it cannot be read, and its bytes if it can.
type Entry<'e> =
    dyn FnMut(&[u8], bool, Option<&'static str>, &mut dyn FnMut(&mut Reading<'_>)) -> bool + 'e;

type Reading<'e> = dyn FnMut(io::Result<&mut dyn Read>) + 'e;

impl Zip {
    /// Walks over the table. Returns why it ended early.
    fn walk(&self, each: &mut Entry<'_>) -> Result<Option<String>, OfflineError> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive = match ZipArchive::from_seekable((self.0)()?, &mut buffer) {
            Ok(archive) => archive,
            Err(error) => {
                let fault = format!("its table of entries cannot be read: {error}");
                return Ok(Some(fault));
            }
        };
        let mut bombs = 0_usize;
        let mut count = 0_u64;
        let mut entries = archive.entries(&mut buffer);
        loop {
            let entry = match entries.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) => return Ok(Some(format!("after {count} entries: {error}"))),
            };
            count += 1;
            let path = entry.file_path();
            if entry.is_dir() {
                continue;
            }
            let mode = entry.mode().value() & 0o170_000;
            let method = entry.compression_method();
            let fault = if entry.flags().is_encrypted() {
                Some(ENCRYPTED)
            } else if method == CompressionMethod::STORE || method == CompressionMethod::DEFLATE {
                None
            } else {
                Some(UNKNOWN_METHOD)
            };
            let wayfinder = entry.wayfinder();
            let mut open = |reading: &mut Reading<'_>| {
                let found = match archive.get_entry(wayfinder) {
                    Ok(found) => found,
                    Err(error) => return reading(Err(io::Error::other(error.to_string()))),
                };
                let budget = Budget::default();
                let packed = budget.packed(found.reader());
                let inflated: Box<dyn Read + '_> = if method == CompressionMethod::STORE {
                    Box::new(packed)
                } else {
                    let buffered = BufReader::new(packed);
                    Box::new(flate2::bufread::DeflateDecoder::new(buffered))
                };
                // A part of an entry whose checksum is wrong is no truth.
                let mut failing = Failing {
                    reader: budget.plain(found.verifying_reader(inflated)),
                    budget: budget.clone(),
                };
                reading(Ok(&mut failing));
                bombs += usize::from(budget.fault().is_some());
            };
            let is_plain = mode == 0 || mode == 0o100_000;
            if !each(path.as_bytes(), is_plain, fault, &mut open) {
                return Ok(None);
            }
            if bombs > MAX_BOMBS {
                let fault = format!("after {count} entries: too many of them are damaged");
                return Ok(Some(fault));
            }
        }
        let due = archive.entries_hint();
        Ok((count != due).then(|| format!("its table has {count} entries and tells of {due}")))
    }
}

/// Tells of a fault as an error again: of one entry nothing is left to use.
struct Failing<R> {
    reader: R,
    budget: Budget,
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        match self.budget.fault() {
            Some(fault) if count == 0 => Err(io::Error::other(fault)),
            _ => Ok(count),
        }
    }
}

impl Tree for Zip {
    fn list(&self) -> Result<Listing, OfflineError> {
        let mut listing = Listing::default();
        let fault = self.walk(&mut |name, is_plain, fault, _| match fault {
            Some(fault) => {
                listing.refuse(fault, name);
                true
            }
            None => listing.add(name, is_plain),
        })?;
        listing.fault = listing.fault.or(fault);
        Ok(listing)
    }

    fn visit(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        each: &mut Each<'_>,
    ) -> Result<Option<String>, OfflineError> {
        let mut seen = Listing::default();
        self.walk(&mut |name, is_plain, fault, open| {
            if fault.is_some() {
                return true;
            }
            let (goes_on, picked) = seen.pick(name, is_plain, wanted);
            if let Some(name) = picked {
                open(&mut |bytes| each(&name, bytes));
            }
            goes_on
        })
    }
}
