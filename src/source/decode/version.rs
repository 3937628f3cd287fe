//! Decodes the answer of `/version` (apimachinery `pkg/version`, 1.37).

use serde::Deserialize;
use serde::de::Error;

use crate::model::fact::Content;
use crate::model::version::Minor;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    /// Some providers append a plus sign.
    minor: String,
    #[serde(default)]
    emulation_minor: Option<String>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let info: Info = serde_json::from_str(json)?;
    let minor = info
        .emulation_minor
        .filter(|minor| !minor.is_empty())
        .unwrap_or(info.minor);
    let digits = minor.trim_end_matches('+');
    let minor = digits
        .parse()
        .map_err(|_| serde_json::Error::custom(format!("minor version {minor:?} is no number")))?;
    Ok(Content::Version(Minor(minor)))
}
