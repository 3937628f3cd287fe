//! Compares a registry with its folder, for the tests: a file without a line would silently do nothing.

use std::collections::BTreeSet;
use std::path::Path;

/// Names of the Rust files in a folder below `src/`, without those that are no entries.
pub(crate) fn files(folder: &str, without: &[&str]) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(folder);
    folder
        .read_dir()
        .expect("the folder is there")
        .map(|entry| entry.expect("its entries are readable").path())
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| !without.contains(&name.as_str()))
        .collect()
}

/// Names of a registry's entries.
pub(crate) fn names<'n>(entries: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
    entries.into_iter().map(str::to_owned).collect()
}
