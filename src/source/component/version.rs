//! Reads an API server's `/version` (apimachinery `pkg/version`, 1.37), with what it emulates.

use std::io::BufRead;

use serde::Deserialize;

use super::{DocumentError, foreign, whole};
use crate::model::component::{ComponentKind, ComponentVersion, Told};
use crate::model::version::Minor;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    git_version: String,
    #[serde(default)]
    emulation_minor: Option<String>,
    #[serde(default)]
    min_compatibility_minor: Option<String>,
}

pub(super) fn read(
    _kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    let text = whole(reader)?;
    let info: Info = serde_json::from_str(&text).map_err(|_| foreign(&text, "version"))?;
    let minor = |text: Option<String>| Minor::parse(&text?);
    Ok(vec![Told::Version(ComponentVersion {
        git: Some(info.git_version),
        emulation: minor(info.emulation_minor),
        min_compatibility: minor(info.min_compatibility_minor),
    })])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulation_is_told_apart() {
        let text = r#"{"major":"1","minor":"37","emulationMajor":"1","emulationMinor":"36","minCompatibilityMajor":"1","minCompatibilityMinor":"35","gitVersion":"v1.37.2"}"#;
        let due = ComponentVersion {
            git: Some("v1.37.2".to_owned()),
            emulation: Some(Minor(36)),
            min_compatibility: Some(Minor(35)),
        };
        let told = read(ComponentKind::KubeApiserver, &mut text.as_bytes());
        assert_eq!(told.ok(), Some(vec![Told::Version(due)]));
    }
}
