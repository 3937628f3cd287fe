//! The grammar of `--feature-gates` and `featureGates`, with the faults that make a component refuse to start.
//!
//! Two grammars, as the components have them (component-base 1.37): `cli/flag/map_string_bool.go` for kubelet and kube-proxy,
//! `cli/flag/colon_separated_multimap_string_string.go` and then `featuregate/feature_gate.go` for the rest. It must not
//! mend what a component would refuse: a stray quote is a part of the value.

use std::collections::BTreeMap;

use crate::model::component::{ComponentKind, Settings, boolean};
use crate::model::version::Minor;

/// Component of gates that have no prefix (component-base `compatibility/registry.go`, `DefaultKubeComponent`).
const KUBE: &str = "kube";

/// Reads the values of all `--feature-gates` of one command line, in their order. A later one adds to the earlier ones.
pub(crate) fn of_flags<'v>(
    kind: ComponentKind,
    values: impl IntoIterator<Item = &'v str>,
) -> Settings {
    if kind.has_prefixed_gates() {
        prefixed(values)
    } else {
        plain(values)
    }
}

/// The names in a value, without what may stand before them.
pub(crate) fn names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').filter_map(|pair| {
        let pair = pair.split_once('=')?.0;
        Some(pair.rsplit_once(':').map_or(pair, |(_, name)| name).trim())
    })
}

/// A map of plain names: the first fault ends it.
fn plain<'v>(values: impl IntoIterator<Item = &'v str>) -> Settings {
    let mut settings = Settings::default();
    let pairs = values.into_iter().flat_map(|value| value.split(','));
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            let fault = "malformed pair, expect string=bool".to_owned();
            settings.refused.push(fault);
            break;
        };
        let (name, value) = (name.trim(), value.trim());
        let Some(value) = boolean(value) else {
            settings.refused.push(format!(
                "invalid value of {name}: {value}, err: {}",
                no_bool(value)
            ));
            break;
        };
        settings.gates.insert(name.to_owned(), value);
    }
    settings
}

/// Names with or without `kube:`, but not some with and some without.
fn prefixed<'v>(values: impl IntoIterator<Item = &'v str>) -> Settings {
    let mut settings = Settings::default();
    let (mut with, mut without) = (false, false);
    let items = values.into_iter().flat_map(|value| value.split(','));
    for item in items.filter(|item| !item.is_empty()) {
        let (component, pair) = match item.split_once(':') {
            Some((component, pair)) => (component.trim(), pair.trim()),
            None => ("", item.trim()),
        };
        match component {
            "" => without = true,
            KUBE => with = true,
            other => {
                let fault = format!("component not registered: {other}");
                settings.refused.push(fault);
                continue;
            }
        }
        if pair.is_empty() {
            continue;
        }
        let Some((name, value)) = pair.split_once('=') else {
            let fault = format!("missing bool value for {pair}");
            settings.refused.push(fault);
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        match boolean(value) {
            Some(value) => {
                settings.gates.insert(name.to_owned(), value);
            }
            None => settings.refused.push(format!(
                "invalid value of {name}={value}, err: {}",
                no_bool(value)
            )),
        }
    }
    if with && without {
        let fault = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use";
        settings.refused.push(fault.to_owned());
    }
    settings
}

/// Why a component refuses what a flag about versions was given, whatever its binary (component-base 1.37,
/// `compatibility/registry.go`, `toVersionMap` and `Set`; kubelet and kube-proxy have no such flag); null where it does not.
pub(crate) fn refused_version(kind: ComponentKind, flag: &str, values: &[&str]) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    if !kind.has_prefixed_gates() {
        return Some(format!("unknown flag: --{flag}"));
    }
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let values = values.iter().flat_map(|value| value.split(','));
    for value in values.filter(|value| !value.is_empty()) {
        let (component, version) = of_component(value);
        match numbers(version) {
            Err(fault) => return Some(fault),
            Ok(numbers) if numbers.split('.').nth(2).is_some_and(|patch| patch != "0") => {
                return Some(format!(
                    "patch version not allowed, got: {component}={numbers}"
                ));
            }
            Ok(numbers) => {
                if let Some(first) = seen.insert(component, numbers) {
                    return Some(format!(
                        "duplicate version flag, {component}={first} and {component}={numbers}"
                    ));
                }
            }
        }
    }
    let mut others = seen.keys().filter(|component| **component != KUBE);
    others
        .next()
        .map(|other| format!("component not registered: {other}"))
}

/// The version of `kube` in a flag: `1.36`, `v1.36`, `kube=1.36`.
pub(super) fn version_of_kube(value: &str) -> Option<Minor> {
    let mut of_kube = value
        .split(',')
        .map(of_component)
        .filter(|(component, _)| *component == KUBE);
    let numbers = numbers(of_kube.next()?.1).ok()?;
    let (major, minor) = numbers.split_once('.')?;
    let minor = minor.split('.').next()?;
    Minor::parse(minor).filter(|_| major == "1")
}

fn of_component(value: &str) -> (&str, &str) {
    let (component, version) = value.split_once('=').unwrap_or((KUBE, value));
    (component.trim(), version.trim())
}

/// The numbers that a version begins with; what follows does not count (apimachinery 0.37, `pkg/util/version`, `ParseGeneric`).
fn numbers(text: &str) -> Result<&str, String> {
    let plain = text.strip_prefix('v').unwrap_or(text);
    let is_digit = |letter: char| letter.is_ascii_digit();
    let mut end = 0;
    for part in plain.split('.') {
        let digits = part.find(|letter| !is_digit(letter)).unwrap_or(part.len());
        if digits == 0 {
            break;
        }
        end += digits + usize::from(end > 0);
        if digits < part.len() {
            break;
        }
    }
    let numbers = plain.get(..end).unwrap_or_default();
    let Some((major, _)) = numbers.split_once('.') else {
        return Err(if numbers.is_empty() {
            format!("could not parse {text:?} as version")
        } else {
            format!("illegal version string {text:?}")
        });
    };
    if major.starts_with('0') && major != "0" {
        return Err(format!(
            "illegal zero-prefixed version component {major:?} in {text:?}"
        ));
    }
    Ok(numbers)
}

fn no_bool(value: &str) -> String {
    format!("strconv.ParseBool: parsing {value:?}: invalid syntax")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: ComponentKind, values: &[&str]) -> (Vec<(String, bool)>, Vec<String>) {
        let settings = of_flags(kind, values.iter().copied());
        (settings.gates.into_iter().collect(), settings.refused)
    }

    fn gates(pairs: &[(&str, bool)]) -> Vec<(String, bool)> {
        pairs
            .iter()
            .map(|(name, on)| ((*name).to_owned(), *on))
            .collect()
    }

    const KINDS: [ComponentKind; 2] = [ComponentKind::KubeApiserver, ComponentKind::Kubelet];

    #[test]
    fn what_both_take() {
        let on_and_off = gates(&[("A", true), ("B", false)]);
        for kind in KINDS {
            for values in [
                &["A=true,B=false"][..],
                &["A=true, B=false,"],
                &["A=1,B=F"],
                &["A=false", "B=false,A=TRUE"],
            ] {
                assert_eq!(of(kind, values), (on_and_off.clone(), vec![]), "{values:?}");
            }
            assert_eq!(of(kind, &[""]), (vec![], vec![]));
        }
    }

    #[test]
    fn what_each_refuses_in_its_own_words() {
        let fault = |kind, value: &str| of(kind, &[value]).1.join("; ");
        let [server, kubelet] = KINDS;
        assert_eq!(fault(server, "A"), "missing bool value for A");
        assert_eq!(fault(kubelet, "A"), "malformed pair, expect string=bool");
        assert_eq!(
            fault(server, "A=yes"),
            "invalid value of A=yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"
        );
        assert_eq!(
            fault(kubelet, "A=yes"),
            "invalid value of A: yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"
        );
        // Quotes of a shell that is not there belong to the value.
        let quoted = "invalid value of \"A=true\", err: strconv.ParseBool: parsing \"true\\\"\": invalid syntax";
        assert_eq!(fault(server, "\"A=true\""), quoted);
        // A comma and a space.
        assert_eq!(fault(server, "A=true, "), "");
        assert_eq!(
            fault(kubelet, "A=true, "),
            "malformed pair, expect string=bool"
        );
    }

    #[test]
    fn a_prefix_is_for_all_or_for_none() {
        let server = ComponentKind::KubeScheduler;
        assert_eq!(
            of(server, &["kube:A=true", "kube:B=false"]),
            (gates(&[("A", true), ("B", false)]), vec![])
        );
        // As flagz renders it.
        assert_eq!(
            of(server, &[":A=true,:B=false"]),
            (gates(&[("A", true), ("B", false)]), vec![])
        );
        assert!(of(server, &["kube:A=true", "B=false"]).1[0].contains("do not mix use"));
        assert_eq!(
            of(server, &["wardle:A=true"]).1,
            ["component not registered: wardle"]
        );
        assert_eq!(
            of(ComponentKind::Kubelet, &["kube:A=true"]).0,
            gates(&[("kube:A", true)])
        );
    }

    /// As kube-scheduler 1.37.2 and kubelet 1.37.2 said it.
    #[test]
    fn versions_are_refused_in_the_components_words() {
        let scheduler = ComponentKind::KubeScheduler;
        let refused = |values: &[&str]| refused_version(scheduler, "emulated-version", values);
        for fine in [
            "",
            "1.36",
            "v1.36",
            "kube=1.36",
            "1.36.0.1",
            "1.36 ",
            "1.36.x",
            "1.36-rc",
        ] {
            assert_eq!(refused(&[fine]), None, "{fine}");
        }
        for (value, due) in [
            ("1.36.2", "patch version not allowed, got: kube=1.36.2"),
            ("wardle=1.2", "component not registered: wardle"),
            ("x", "could not parse \"x\" as version"),
            ("kube=1.35,wardle=1", "illegal version string \"1\""),
            (
                "01.36",
                "illegal zero-prefixed version component \"01\" in \"01.36\"",
            ),
            (
                "1.35,1.35",
                "duplicate version flag, kube=1.35 and kube=1.35",
            ),
        ] {
            assert_eq!(refused(&[value]).as_deref(), Some(due), "{value}");
        }
        assert_eq!(
            refused_version(
                ComponentKind::Kubelet,
                "min-compatibility-version",
                &["1.2"]
            )
            .as_deref(),
            Some("unknown flag: --min-compatibility-version")
        );
        assert_eq!(version_of_kube("wardle=1.2"), None);
        assert_eq!(version_of_kube("wardle=1.2,kube=v1.36.0"), Some(Minor(36)));
    }
}
