//! Standard input, named `-`. An archive is kept in memory as it came, since it is read twice.

use std::io::{self, Cursor, Read};
use std::path::Path;

use super::{Collected, OfflineError, archive, bundle, input};
use crate::source::audit::Focus;

/// An archive that is larger has to be a file.
const MAX_ARCHIVE: u64 = 1 << 30;

pub(super) fn recognises(path: &Path) -> bool {
    path == Path::new("-")
}

pub(super) fn read(
    path: &Path,
    stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let fail = |source| OfflineError::Read {
        path: path.to_owned(),
        source,
    };
    let (head, mut stdin) = input::peek(stdin).map_err(fail)?;
    if bundle::begins(&head) {
        return bundle::read_packed(path, stdin);
    }
    let mut bytes = Vec::new();
    Read::take(&mut *stdin, archive::HEAD as u64)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if let Some(format) = archive::format(bytes.as_slice()) {
        Read::take(&mut *stdin, MAX_ARCHIVE)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        if bytes.len() as u64 > MAX_ARCHIVE {
            return Err(fail(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "an archive of more than 1 GiB has to be a file",
            )));
        }
        return archive::read_from_memory(format, bytes, path, focus);
    }
    let mut whole = Cursor::new(bytes).chain(stdin);
    input::alone(path, "standard input", &mut whole, focus)
}
