//! Packs a bundle and saves it: whole or not at all, for its owner alone.
//!
//! The same bundle gives the same bytes. It must not know what is in it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Bundle;

/// zstd's own default: what is read here is text, and small.
const LEVEL: i32 = 3;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SaveError {
    #[error("the file {0:?} is there already")]
    Exists(PathBuf),
    #[error("{0:?} is no file that could be replaced")]
    NoFile(PathBuf),
    #[error("the bundle cannot be written to {path:?}")]
    Write { path: PathBuf, source: io::Error },
}

/// Whether a bundle may be saved there: asked before anything is read, and answered for good by [`save`].
pub(crate) fn check(path: &Path, force: bool) -> Result<(), SaveError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(SaveError::NoFile(path.to_owned())),
        Ok(_) if !force => Err(SaveError::Exists(path.to_owned())),
        _ => Ok(()),
    }
}

/// Saves a bundle under a name that nothing has, or with `force` in the place of another file.
///
/// Whoever drops it leaves nothing behind.
pub(crate) async fn save(bundle: &Bundle, path: &Path, force: bool) -> Result<(), SaveError> {
    check(path, force)?;
    let fail = |source| SaveError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".nomination-")
        .suffix(".part")
        .tempfile_in(folder)
        .map_err(fail)?;
    pack(bundle, &mut file).await.map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    let kept = if force {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    match kept {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(SaveError::Exists(path.to_owned()))
        }
        Err(error) => Err(fail(error.error)),
    }
}

/// Packs a bundle: a tar of its entries, compressed. Between entries a signal may end it.
pub(crate) async fn pack(bundle: &Bundle, out: &mut dyn Write) -> io::Result<()> {
    let mut packer = zstd::Encoder::new(out, LEVEL)?;
    packer.include_checksum(true)?;
    let mut archive = tar::Builder::new(packer);
    for (name, bytes) in &bundle.files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, name, bytes.as_slice())?;
        tokio::task::yield_now().await;
    }
    let packer = archive.into_inner()?;
    packer.finish()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// What a signal does while a bundle is written.
    #[test]
    fn a_save_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = || {
            let entries = fs::read_dir(folder.path()).expect("the folder is there");
            let names = entries.map(|entry| entry.expect("an entry").file_name());
            names
                .map(|name| name.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        let bundle = Bundle {
            files: vec![("manifest.json".to_owned(), b"{}".to_vec())],
            reads: 0,
        };
        let path = folder.path().join("bundle.tar.zst");
        {
            let mut saving = pin!(save(&bundle, &path, false));
            let mut context = Context::from_waker(Waker::noop());
            assert!(matches!(saving.as_mut().poll(&mut context), Poll::Pending));
            let half = names();
            assert!(
                half.len() == 1 && half.iter().all(|name| name.starts_with(".nomination-")),
                "{half:?}"
            );
        }
        assert_eq!(names(), Vec::<String>::new());
    }
}
