//! One file of YAML or JSON: an object, Lists, many documents.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{Collected, OfflineError, bytes, document};

pub(super) fn recognises(path: &Path) -> bool {
    path.is_file()
}

pub(super) fn read(path: &Path, _stdin: &mut dyn Read) -> Result<Collected, OfflineError> {
    let mut file = File::open(path).map_err(|source| OfflineError::Read {
        path: path.to_owned(),
        source,
    })?;
    let reading = document::read(&bytes(path, &mut file)?);
    if reading.is_foreign() {
        return Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault: reading.faults.join("; "),
        });
    }
    let mut collected = Collected::new(path);
    collected.take(&path.display().to_string(), reading);
    Ok(collected)
}
