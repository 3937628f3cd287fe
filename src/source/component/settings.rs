//! The grammar of `--feature-gates` and `featureGates`, with the faults that make a component refuse to start.
//!
//! Two grammars, as the components have them (component-base 1.37): `cli/flag/map_string_bool.go` for kubelet and kube-proxy,
//! `cli/flag/colon_separated_multimap_string_string.go` and then `featuregate/feature_gate.go` for the rest. It must not
//! mend what a component would refuse: a stray quote is a part of the value.

use crate::model::component::{ComponentKind, Settings};

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

/// Go's `strconv.ParseBool`.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
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
}
