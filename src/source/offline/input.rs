//! The bytes of one file or stream, whatever they hold: objects or an audit log, plain or compressed.
//!
//! What it is, the bytes say and no name. It must not look beyond them.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::{Collected, MAX_BYTES, OfflineError, bytes, document};
use crate::source::audit::{self, Focus};
use crate::source::metrics;

/// Enough to see the first line of a log.
const HEAD: usize = 64 << 10;

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
    // RFC 8878.
    Compression {
        magic: &[0x28, 0xb5, 0x2f, 0xfd],
        open: |reader| Ok(Box::new(zstd::stream::read::Decoder::with_buffer(reader)?)),
    },
];

/// Takes what the bytes hold into an origin. Returns the fault of bytes that hold nothing of Kubernetes.
pub(super) fn take(
    collected: &mut Collected,
    subject: &str,
    path: &Path,
    reader: &mut dyn Read,
    focus: &Focus,
) -> Result<Option<String>, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let (head, reader) = peek(reader).map_err(fail)?;
    let Some(compression) = COMPRESSIONS
        .iter()
        .find(|compression| head.starts_with(compression.magic))
    else {
        return content(collected, subject, path, &head, reader, focus);
    };
    let mut plain = (compression.open)(reader).map_err(fail)?;
    let (head, reader) = peek(&mut plain).map_err(fail)?;
    content(collected, subject, path, &head, reader, focus)
}

fn content(
    collected: &mut Collected,
    subject: &str,
    path: &Path,
    head: &[u8],
    mut reader: Box<dyn BufRead + '_>,
    focus: &Focus,
) -> Result<Option<String>, OfflineError> {
    if audit::recognises(head) {
        collected.take_log(subject, audit::read(&mut reader, focus));
        return Ok(None);
    }
    if metrics::recognises(head) {
        let fault = "a text of metrics does not say whose it is; name the component: --from metrics@kube-apiserver:PATH";
        return Ok(Some(fault.to_owned()));
    }
    let reading = document::read(&bytes(path, &mut reader)?);
    if reading.is_foreign() {
        return Ok(Some(reading.faults.join("; ")));
    }
    collected.take(subject, reading);
    Ok(None)
}

/// Reads the beginning, and gives it back with a reader of the whole.
pub(super) fn peek<'r>(reader: &'r mut dyn Read) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'r>)> {
    let mut head = Vec::with_capacity(HEAD);
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    let whole = Cursor::new(head.clone()).chain(reader).take(MAX_BYTES);
    Ok((head, Box::new(BufReader::with_capacity(HEAD, whole))))
}
