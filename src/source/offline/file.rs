//! One file: YAML or JSON with an object, Lists, many documents; an audit log; compressed or not.
#![expect(clippy::disallowed_methods, reason = "origins read files")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{Collected, OfflineError, input};
use crate::source::audit::Focus;

pub(super) fn recognises(path: &Path) -> bool {
    path.is_file()
}

pub(super) fn read(
    path: &Path,
    _stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut file = File::open(path).map_err(|source| OfflineError::Read {
        path: path.to_owned(),
        source,
    })?;
    input::alone(path, &path.display().to_string(), &mut file, focus)
}
