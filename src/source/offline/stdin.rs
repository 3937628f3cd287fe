//! Standard input, named `-`.

use std::io::Read;
use std::path::Path;

use super::{Collected, OfflineError, bytes, document};

pub(super) fn recognises(path: &Path) -> bool {
    path == Path::new("-")
}

pub(super) fn read(path: &Path, stdin: &mut dyn Read) -> Result<Collected, OfflineError> {
    let reading = document::read(&bytes(path, stdin)?);
    if reading.is_foreign() {
        return Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault: reading.faults.join("; "),
        });
    }
    let mut collected = Collected::new(path);
    collected.take("standard input", reading);
    Ok(collected)
}
