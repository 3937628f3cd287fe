//! Reads `/statusz`: when the process started and what it is (KEP-4827), JSON or text.
//!
//! A scheduler's own emulated version is not taken from here: it shows the binary's (observed on 1.37.2, emulating 1.36).

use std::io::BufRead;

use jiff::Timestamp;
use jiff::fmt::strtime;
use serde::Deserialize;

use super::{DocumentError, foreign, whole};
use crate::model::component::{ComponentKind, ComponentVersion, Told};
use crate::model::version::Minor;

/// Go's `time.UnixDate`, as the text has it.
const STARTED: &str = "%a %b %e %H:%M:%S UTC %Y";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statusz {
    kind: String,
    #[serde(default)]
    start_time: Option<Timestamp>,
    #[serde(default)]
    binary_version: Option<String>,
    #[serde(default)]
    emulation_version: Option<String>,
}

pub(super) fn read(
    kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    let text = whole(reader)?;
    if let Ok(statusz) = serde_json::from_str::<Statusz>(&text)
        && statusz.kind == "Statusz"
    {
        let emulation = statusz.emulation_version;
        return Ok(told(
            kind,
            statusz.start_time,
            statusz.binary_version,
            emulation.as_deref(),
        ));
    }
    if !text.contains(" statusz\n") {
        return Err(foreign(&text, "statusz"));
    }
    // Which names there are is known; whatever is drawn to part them from values is no letter and no digit.
    let find = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(rest.trim_start_matches(|letter: char| !letter.is_alphanumeric()))
    };
    let started = find("Started").and_then(started);
    let binary = find("Binary version").map(str::to_owned);
    Ok(told(kind, started, binary, find("Emulation version")))
}

fn started(text: &str) -> Option<Timestamp> {
    let civil = strtime::parse(STARTED, text).ok()?.to_datetime().ok()?;
    let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

fn told(
    kind: ComponentKind,
    started: Option<Timestamp>,
    binary: Option<String>,
    emulation: Option<&str>,
) -> Vec<Told> {
    let emulation = emulation.filter(|_| kind != ComponentKind::KubeScheduler);
    let version = ComponentVersion {
        git: binary
            .filter(|binary| !binary.is_empty())
            .map(|binary| format!("v{}", binary.trim_start_matches('v'))),
        emulation: emulation.and_then(Minor::parse),
        min_compatibility: None,
    };
    let version = (version != ComponentVersion::default()).then_some(Told::Version(version));
    started
        .map(Told::Started)
        .into_iter()
        .chain(version)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_tell_the_same() {
        let json = r#"{"kind":"Statusz","startTime":"2026-11-30T08:18:03Z","binaryVersion":"1.36.3","emulationVersion":"1.36"}"#;
        let due = read(ComponentKind::Kubelet, &mut json.as_bytes()).expect("it is a statusz");
        assert_eq!(due.len(), 2);
        for separator in [": ", "= ", ":  ", "  "] {
            let text = format!(
                "\nkubelet statusz\nWarning: x\n\nStarted{separator}Mon Nov 30 08:18:03 UTC 2026\nUp{separator}0 hr 00 min 08 sec\nGo version{separator}go1.26.8\nBinary version{separator}1.36.3\nEmulation version{separator}1.36\nPaths{separator}/configz\n"
            );
            let told = read(ComponentKind::Kubelet, &mut text.as_bytes()).expect("it is a statusz");
            assert_eq!(told, due, "{separator:?}");
        }
    }

    #[test]
    fn a_schedulers_emulation_is_not_believed() {
        let json = r#"{"kind":"Statusz","binaryVersion":"1.37.2","emulationVersion":"1.37"}"#;
        let told = read(ComponentKind::KubeScheduler, &mut json.as_bytes());
        let version = ComponentVersion {
            git: Some("v1.37.2".to_owned()),
            ..ComponentVersion::default()
        };
        assert_eq!(told.ok(), Some(vec![Told::Version(version)]));
    }
}
