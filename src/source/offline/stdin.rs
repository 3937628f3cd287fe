//! Standard input, named `-`.

use std::io::Read;
use std::path::Path;

use super::{Collected, OfflineError, input};
use crate::source::audit::Focus;

pub(super) fn recognises(path: &Path) -> bool {
    path == Path::new("-")
}

pub(super) fn read(
    path: &Path,
    stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    match input::take(&mut collected, "standard input", path, stdin, focus)? {
        None => Ok(collected),
        Some(fault) => Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault,
        }),
    }
}
