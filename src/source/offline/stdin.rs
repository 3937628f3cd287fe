//! Standard input, named `-`.

use std::io::Read;
use std::path::Path;

use super::{Collected, OfflineError, bundle, input};
use crate::source::audit::Focus;

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
    let (head, mut whole) = input::peek(stdin).map_err(fail)?;
    if bundle::begins(&head) {
        return bundle::read_packed(path, whole);
    }
    let mut collected = Collected::new(path);
    match input::take(&mut collected, "standard input", path, &mut whole, focus)? {
        None => Ok(collected),
        Some(fault) => Err(OfflineError::Foreign {
            path: path.to_owned(),
            fault,
        }),
    }
}
