//! Compressions, told by how the bytes begin and never by a name.
//!
//! One is taken off, not one inside another. It must not know what is inside.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::budget::Budget;

const BUFFER: usize = 64 << 10;

/// The longest beginning below.
const LONGEST: u64 = 6;

/// More than `xz -9` asks for (64 MiB), in KiB.
const XZ_MEMORY: u32 = 256 << 10;

/// A compression and how it begins.
struct Compression {
    magic: &'static [u8],
    open: Open,
}

type Open = for<'r> fn(Box<dyn BufRead + 'r>) -> io::Result<Box<dyn Read + 'r>>;

const COMPRESSIONS: &[Compression] = &[
    // RFC 1952; a rotated log may be several members.
    Compression {
        magic: &[0x1f, 0x8b],
        open: |reader| Ok(Box::new(flate2::bufread::MultiGzDecoder::new(reader))),
    },
    // The .xz file format, version 1.2.1.
    Compression {
        magic: &[0xfd, b'7', b'z', b'X', b'Z', 0],
        open: |reader| {
            Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(
                reader, true, XZ_MEMORY,
            )))
        },
    },
    // RFC 8878. The decoder refuses windows above 128 MiB by itself.
    Compression {
        magic: &[0x28, 0xb5, 0x2f, 0xfd],
        open: |reader| Ok(Box::new(zstd::stream::read::Decoder::with_buffer(reader)?)),
    },
];

/// Whether a stream can be read, and is not compressed. Where it stands afterwards is not said.
pub(super) fn is_none(reader: &mut dyn Read) -> bool {
    let mut head = Vec::new();
    reader.take(LONGEST).read_to_end(&mut head).is_ok() && of(&head).is_none()
}

fn of(head: &[u8]) -> Option<&'static Compression> {
    COMPRESSIONS
        .iter()
        .find(|compression| head.starts_with(compression.magic))
}

/// The plain bytes of a stream that may be compressed once, as far as the budget allows.
pub(super) fn plain<'r>(reader: impl Read + 'r, budget: &Budget) -> io::Result<Box<dyn Read + 'r>> {
    let mut packed = budget.packed(reader);
    let mut head = Vec::new();
    packed.by_ref().take(LONGEST).read_to_end(&mut head)?;
    let compression = of(&head);
    let whole = Cursor::new(head).chain(packed);
    Ok(match compression {
        None => Box::new(budget.plain(whole)),
        Some(compression) => {
            let buffered = Box::new(BufReader::with_capacity(BUFFER, whole));
            Box::new(budget.plain((compression.open)(buffered)?))
        }
    })
}
