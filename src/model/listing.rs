//! A list that people write in YAML: what it holds, or the line and column where it is wrong. It must not know what the list is for.

use serde::de::DeserializeOwned;

/// Reads a text.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        // The first line says what and where; the rest draws the source.
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        first.trim_start_matches("error: ").to_owned()
    })
}
