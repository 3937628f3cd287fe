//! Reads `/flagz`: the flags of the running process (KEP-4828), JSON (`config.k8s.io/v1alpha1`, `v1beta1`) or text.
//!
//! It keeps gates, versions and what an API server is told to serve, and nothing else: other flags may hold what is secret. A kubelet's flags do not tell what its configuration
//! file sets (observed on 1.35.4 to 1.37.2), so that a kubelet without gates here may still have some.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;

use super::{DocumentError, flags, foreign, settings, whole};
use crate::model::component::{ComponentKind, ComponentVersion, Told};
use crate::model::version::Minor;

#[derive(Deserialize)]
struct Flagz {
    kind: String,
    #[serde(default)]
    flags: BTreeMap<String, String>,
}

pub(super) fn read(
    kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    let text = whole(reader)?;
    if let Ok(flagz) = serde_json::from_str::<Flagz>(&text)
        && flagz.kind == "Flagz"
    {
        let flag = |name: &str| flagz.flags.get(name).map(String::as_str);
        return Ok(told(kind, flag));
    }
    if !text.contains(" flagz\n") {
        return Err(foreign(&text, "flagz"));
    }
    let Some(pairs) = pairs(&text) else {
        let fault = "its text does not show what parts names from values";
        return Err(DocumentError::Foreign(fault.to_owned()));
    };
    Ok(told(kind, |name| pairs.get(name).copied()))
}

fn told<'f>(kind: ComponentKind, flag: impl Fn(&str) -> Option<&'f str>) -> Vec<Told> {
    let mut told = Vec::new();
    if let Some(gates) = flag("feature-gates") {
        told.push(Told::Set(settings::of_flags(kind, [gates])));
    }
    told.extend(versions(|name| flag(name)));
    if kind == ComponentKind::KubeApiserver
        && let Some(config) = flag("runtime-config")
    {
        // It tells all flags, those with their defaults among them.
        let switch = |name: &str| flag(name.trim_start_matches('-'));
        let config = flags::api_config([config], switch);
        told.push(Told::RuntimeConfig(config));
    }
    told
}

/// What flags tell of emulation; null where they do not.
pub(super) fn versions<'f>(flag: impl Fn(&str) -> Option<&'f str>) -> Option<Told> {
    let minor = |name: &str| flag(name).and_then(minor_of_flag);
    let version = ComponentVersion {
        git: None,
        emulation: minor("emulated-version"),
        min_compatibility: minor("min-compatibility-version"),
    };
    (version != ComponentVersion::default()).then_some(Told::Version(version))
}

/// As flags have it, and in flagz `[kube=1.36]`.
fn minor_of_flag(value: &str) -> Option<Minor> {
    let value = value.trim_start_matches('[').trim_end_matches(']');
    settings::version_of_kube(value)
}

/// Letters of a flag's name.
fn is_name(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
}

/// Lines that say what the separator is: their value can be told from it.
const VOTES: usize = 2;

/// The flags of a text, or null where it does not show what parts names from values.
///
/// Each process draws its own separator, so it is learnt from the flags whose value is `true` or `false`.
fn pairs(text: &str) -> Option<BTreeMap<&str, &str>> {
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let end = line.find(|letter| !is_name(letter)).unwrap_or(line.len());
            (end > 0).then(|| line.split_at(end))
        })
        .collect();
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, rest) in &lines {
        let Some(start) = rest.find(|letter: char| letter.is_alphanumeric()) else {
            continue;
        };
        let (separator, value) = rest.split_at(start);
        if !separator.is_empty() && matches!(value, "true" | "false") {
            *votes.entry(separator).or_default() += 1;
        }
    }
    let (separator, count) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    if count < VOTES {
        return None;
    }
    // An empty value may have lost the separator's last blank. Where nothing is left the value was left out, as 1.32 does:
    // that is not "nothing was set".
    let bare = separator.trim_end();
    Some(
        lines
            .into_iter()
            .filter_map(|(name, rest)| match rest.strip_prefix(separator) {
                Some(value) => Some((name, value)),
                None => (rest == bare && !bare.is_empty()).then_some((name, "")),
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(kind: ComponentKind, text: &str) -> Vec<(String, bool)> {
        let told = read(kind, &mut text.as_bytes()).expect("it is a flagz");
        told.into_iter()
            .find_map(|told| match told {
                Told::Set(settings) => Some(settings.gates.into_iter().collect()),
                _ => None,
            })
            .unwrap_or_default()
    }

    #[test]
    fn any_separator_is_learnt() {
        for separator in [" ", ": ", ":", "=", " => ", "\t"] {
            let line = |name: &str, value: &str| format!("{name}{separator}{value}\n");
            let text = format!(
                "\nkubelet flagz\nWarning: no format.\n\n{}{}{}{}",
                line("anonymous-auth", "true"),
                line("feature-gates", "A=true,B=false"),
                line("fail-swap-on", "false"),
                line("v", "0"),
            );
            let due = [("A".to_owned(), true), ("B".to_owned(), false)];
            assert_eq!(gates(ComponentKind::Kubelet, &text), due, "{separator:?}");
            let empty = text.replace("A=true,B=false", "");
            assert_eq!(gates(ComponentKind::Kubelet, &empty), [], "{separator:?}");
        }
        let prefixed = "\napiserver flagz\nW\n\na::x\nfeature-gates::A=true,:B=false\nprofiling:true\nv:0\nlogging:false\n";
        let due = [("A".to_owned(), true), ("B".to_owned(), false)];
        assert_eq!(gates(ComponentKind::KubeApiserver, prefixed), due);
    }

    #[test]
    fn a_text_that_does_not_show_its_separator_tells_nothing() {
        let read = |text: &str| read(ComponentKind::Kubelet, &mut text.as_bytes());
        assert!(read("\nkubelet flagz\n\nfeature-gates A=true\n").is_err());
        assert!(read("<html>flagz</html>").is_err());
        assert!(read("").is_err());
        let status = read(r#"{"kind":"Status","message":"forbidden"}"#);
        assert!(status.is_err_and(|error| error.to_string().contains("forbidden")));
    }

    #[test]
    fn emulation_is_of_kube() {
        assert_eq!(minor_of_flag("[kube=1.36]"), Some(Minor(36)));
        assert_eq!(minor_of_flag("1.36"), Some(Minor(36)));
        assert_eq!(minor_of_flag("wardle=1.2,kube=1.35"), Some(Minor(35)));
        assert_eq!(minor_of_flag("[]"), None);
    }
}
