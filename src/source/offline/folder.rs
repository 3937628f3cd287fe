//! A folder of files, in whatever layout. Links are not followed.
//!
//! A file that is not understood is coverage, not an error.

use std::io::Read;
use std::path::Path;

use super::tree::folder::Folder;
use super::{Collected, OfflineError, layout};
use crate::source::audit::Focus;

pub(super) fn recognises(path: &Path) -> bool {
    path.is_dir()
}

pub(super) fn read(
    path: &Path,
    _stdin: &mut dyn Read,
    focus: &Focus,
) -> Result<Collected, OfflineError> {
    let mut collected = Collected::new(path);
    layout::read(&Folder(path.to_owned()), path, &mut collected, focus)?;
    Ok(collected)
}
