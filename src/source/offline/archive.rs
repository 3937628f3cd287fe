//! One file that is an archive: tar, plain or compressed, or zip. Told by its bytes; nothing is unpacked.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use super::budget::Budget;
use super::tree::Tree;
use super::tree::tar::{self, Opener, ReadSeek, Tar};
use super::tree::zip::{self, Zip};
use super::{Collected, OfflineError, compression, layout};
use crate::source::audit::Focus;

/// Enough of a compressed tar for its first header: zstd gives nothing before a block of 128 KiB is whole.
pub(super) const HEAD: usize = 256 << 10;

/// Enough to recognise an archive.
const HEADER: u64 = 512;

pub(super) fn recognises(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(|file| format(file).is_some())
}

pub(super) fn read(
    path: &Path,
    _stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let fail = {
        let path = path.to_owned();
        move |source| OfflineError::Read {
            path: path.clone(),
            source,
        }
    };
    let format = File::open(path).map_err(&fail).map(format)?;
    let mut collected = Collected::new(path);
    let place = path.to_owned();
    let opener: Opener = Box::new(move || {
        let file = File::open(&place).map_err(&fail)?;
        Ok(Box::new(file) as Box<dyn ReadSeek>)
    });
    layout::read(
        format.unwrap_or(Format::Tar).tree(opener).as_ref(),
        path,
        &mut collected,
        focus,
    )?;
    Ok(collected)
}

/// Reads an archive that came through a pipe, and is in memory.
pub(super) fn read_from_memory(
    format: Format,
    bytes: Vec<u8>,
    path: &Path,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    let bytes: Arc<[u8]> = bytes.into();
    let opener: Opener =
        Box::new(move || Ok(Box::new(Cursor::new(Arc::clone(&bytes))) as Box<dyn ReadSeek>));
    layout::read(format.tree(opener).as_ref(), path, &mut collected, focus)?;
    Ok(collected)
}

/// A kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Tar,
    Zip,
}

impl Format {
    fn tree(self, opener: Opener) -> Box<dyn Tree> {
        match self {
            Self::Tar => Box::new(Tar(opener)),
            Self::Zip => Box::new(Zip(opener)),
        }
    }
}

/// Which archive the bytes are, if they are one.
pub(super) fn format(bytes: impl Read) -> Option<Format> {
    let budget = Budget::default();
    let mut head = Vec::new();
    // Whatever is cut off or damaged there: what came before may still be an archive.
    let plain: io::Result<Box<dyn Read + '_>> = compression::plain(bytes, &budget);
    plain
        .ok()?
        .take(HEADER)
        .read_to_end(&mut head)
        .ok()
        .filter(|_| !head.is_empty())?;
    if zip::recognises(&head) {
        Some(Format::Zip)
    } else if tar::recognises(&head) {
        Some(Format::Tar)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    const POD: &[u8] =
        br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b","uid":"1"}}"#;

    fn tar_of_one() -> Vec<u8> {
        let mut builder = ::tar::Builder::new(Vec::new());
        for name in [
            "b/pods.json",
            "nodes.json",
            "b/replication-controllers.json",
        ] {
            let mut header = ::tar::Header::new_gnu();
            header.set_size(POD.len() as u64);
            builder
                .append_data(&mut header, name, POD)
                .expect("memory takes it");
        }
        builder.into_inner().expect("memory takes it")
    }

    fn archives() -> Vec<Vec<u8>> {
        let tar = tar_of_one();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&tar).expect("memory takes it");
        let mut zip = rawzip::ZipArchiveWriter::new(Vec::new());
        let (mut entry, config) = zip
            .new_file("a.json")
            .compression_method(rawzip::CompressionMethod::DEFLATE)
            .start()
            .expect("memory takes it");
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(encoder);
        writer.write_all(POD).expect("memory takes it");
        let (encoder, descriptor) = writer.finish().expect("memory takes it");
        encoder.finish().expect("memory takes it");
        entry.finish(descriptor).expect("memory takes it");
        vec![
            zstd::encode_all(tar.as_slice(), 1).expect("memory takes it"),
            tar,
            gzip.finish().expect("memory takes it"),
            zip.finish().expect("memory takes it"),
        ]
    }

    /// Facts that came of the bytes; an error has none.
    fn facts(bytes: &[u8]) -> usize {
        let Some(format) = format(bytes) else {
            return 0;
        };
        let path = Path::new("archive");
        read_from_memory(format, bytes.to_vec(), path, &Focus::default())
            .map_or(0, |collected| collected.facts.len())
    }

    #[test]
    fn whole_archives_give_all() {
        let counts: Vec<usize> = archives().iter().map(|bytes| facts(bytes)).collect();
        // Of the dump, the controllers are not needed.
        assert_eq!(counts, [2, 2, 2, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), which in 0_usize..3) {
            let path = Path::new("archive");
            let forced = [Format::Tar, Format::Zip][which % 2];
            drop(read_from_memory(forced, bytes.clone(), path, &Focus::default()));
            prop_assert!(facts(&bytes) <= 1);
        }

        #[test]
        fn no_cut_and_no_flipped_bit_makes_it_panic(which in 0_usize..4, cut in any::<prop::sample::Index>(), bit in any::<prop::sample::Index>()) {
            let bytes = archives().swap_remove(which);
            prop_assert!(facts(&bytes[..cut.index(bytes.len())]) <= 3);
            let mut flipped = bytes;
            let at = bit.index(flipped.len() * 8);
            flipped[at / 8] ^= 1 << (at % 8);
            prop_assert!(facts(&flipped) <= 3);
        }
    }
}
