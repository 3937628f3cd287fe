//! The feature gates in a component's `/metrics` text, its version and its start; every other family is passed over.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: one line a gate, `kubernetes_feature_enabled{name="X",stage="BETA"} 1`. It must not look
//! at the rest of the text, which may be megabytes. The stage is no value: the same gate is BETA here and GA there.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use jiff::Timestamp;

use super::{DocumentError, foreign};
use crate::model::component::{ComponentKind, ComponentVersion, Told};
use crate::model::version::Minor;

const GATES: &[u8] = b"kubernetes_feature_enabled{";
const VERSION: &[u8] = b"version_info{";
const BUILD: &[u8] = b"kubernetes_build_info{";
const STARTED: &[u8] = b"process_start_time_seconds ";

/// A longer line is no line of metrics; what it holds is passed over.
const MAX_LINE: u64 = 64 << 10;

/// Enough of a text to say what else it is.
const MAX_STRANGE: u64 = 4 << 10;

/// Whether bytes begin as a text of metrics does.
pub(crate) fn recognises(start: &[u8]) -> bool {
    [&b"# HELP "[..], b"# TYPE ", GATES]
        .iter()
        .any(|word| start.starts_with(word))
}

/// Reads the gates, and who they are of. Without the family there are none, which is a fault.
pub(crate) fn read(
    kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    let mut scan = Scan::default();
    let mut line = Vec::new();
    let mut is_first = true;
    loop {
        line.clear();
        let read = Read::take(&mut *reader, MAX_LINE).read_until(b'\n', &mut line)?;
        if is_first && !recognises(&line) {
            // A Status may be printed over many lines.
            Read::take(&mut *reader, MAX_STRANGE).read_to_end(&mut line)?;
            return Err(foreign(&String::from_utf8_lossy(&line), "text of metrics"));
        }
        is_first = false;
        if read == 0 {
            return scan.into_told();
        }
        // A kubelet tells its version elsewhere, and what follows its gates is a quarter of the text.
        let is_past = !scan.gates.is_empty() && !line.starts_with(GATES);
        if is_past && kind == ComponentKind::Kubelet {
            return scan.into_told();
        }
        scan.take(&line);
    }
}

/// What was seen of a text.
#[derive(Debug, Default)]
struct Scan {
    gates: BTreeMap<String, bool>,
    version: ComponentVersion,
    started: Option<Timestamp>,
}

impl Scan {
    fn take(&mut self, line: &[u8]) {
        if let Some(rest) = line.strip_prefix(GATES) {
            self.gates.extend(gate(rest));
            return;
        }
        if let Some(labels) = line.strip_prefix(VERSION).and_then(labels_of) {
            // There may be others beside `kube` in an aggregated server.
            if label(labels, "component").is_some_and(|component| component == "kube") {
                let minor = |name| label(labels, name).as_deref().and_then(Minor::parse);
                self.version.emulation = minor("emulation");
                self.version.min_compatibility = minor("min_compat");
                if let Some(binary) = label(labels, "binary") {
                    self.version.git.get_or_insert(format!("v{binary}"));
                }
            }
        } else if let Some(labels) = line.strip_prefix(BUILD).and_then(labels_of) {
            self.version.git = label(labels, "git_version").or(self.version.git.take());
        } else if let Some(value) = line.strip_prefix(STARTED) {
            self.started = seconds(value);
        }
    }

    fn into_told(self) -> Result<Vec<Told>, DocumentError> {
        if self.gates.is_empty() {
            let fault = "it has no line of kubernetes_feature_enabled".to_owned();
            return Err(DocumentError::Foreign(fault));
        }
        let version = (self.version != ComponentVersion::default()).then_some(self.version);
        Ok([Told::Runs(self.gates)]
            .into_iter()
            .chain(version.map(Told::Version))
            .chain(self.started.map(Told::Started))
            .collect())
    }
}

/// The labels of a line after its name and brace.
fn labels_of(rest: &[u8]) -> Option<&str> {
    let (labels, _) = std::str::from_utf8(rest).ok()?.rsplit_once('}')?;
    Some(labels)
}

/// A line of the family: the label `name`, wherever it stands, and the value.
fn gate(rest: &[u8]) -> Option<(String, bool)> {
    let text = std::str::from_utf8(rest).ok()?;
    let (labels, value) = text.rsplit_once('}')?;
    let name = label(labels, "name")?;
    match value.split_whitespace().next()? {
        "0" => Some((name, false)),
        "1" => Some((name, true)),
        _ => None,
    }
}

/// Seconds since 1970, as Prometheus writes numbers: `1.764518400e+09`.
fn seconds(value: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let seconds: f64 = text.parse().ok()?;
    let since = jiff::SignedDuration::try_from_secs_f64(seconds.floor()).ok()?;
    Timestamp::UNIX_EPOCH.checked_add(since).ok()
}

/// The value of a label, unescaped (exposition format 0.0.4).
fn label(labels: &str, wanted: &str) -> Option<String> {
    let mut rest = labels;
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            let (at, letter) = letters.next()?;
            match letter {
                '"' => break at,
                '\\' => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                other => value.push(other),
            }
        };
        if name.trim_start_matches([',', ' ']) == wanted {
            return Some(value);
        }
        rest = after.split_at(end + 1).1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(kind: ComponentKind, text: &str) -> Result<Vec<Told>, String> {
        read(kind, &mut text.as_bytes()).map_err(|error| error.to_string())
    }

    fn gates(pairs: &[(&str, bool)]) -> Told {
        let owned = pairs.iter().map(|(name, on)| ((*name).to_owned(), *on));
        Told::Runs(owned.collect())
    }

    #[test]
    fn gates_are_read_and_nothing_else() {
        let text = "# HELP a b\nother{name=\"X\"} 1\nkubernetes_feature_enabled{name=\"A\",stage=\"\"} 1\nkubernetes_feature_enabled{stage=\"ALPHA\",name=\"B\\\"\"} 0\nkubernetes_feature_enabled{name=\"C\"} 7\n";
        let due = vec![gates(&[("A", true), ("B\"", false)])];
        assert_eq!(of(ComponentKind::KubeScheduler, text), Ok(due));
    }

    #[test]
    fn version_and_start_are_read_where_they_are() {
        let text = "# HELP a b\nkubernetes_build_info{git_version=\"v1.37.2+k3s1\",major=\"1\"} 1\nkubernetes_feature_enabled{name=\"A\"} 1\nprocess_start_time_seconds 1.7645184e+09\nversion_info{binary=\"1.37.2\",component=\"kube\",emulation=\"1.36\",min_compat=\"1.35\"} 1\n";
        let version = ComponentVersion {
            git: Some("v1.37.2+k3s1".to_owned()),
            emulation: Some(Minor(36)),
            min_compatibility: Some(Minor(35)),
        };
        let started = "2025-11-30T16:00:00Z".parse().expect("a time");
        let due = vec![
            gates(&[("A", true)]),
            Told::Version(version),
            Told::Started(started),
        ];
        assert_eq!(of(ComponentKind::KubeScheduler, text), Ok(due));
        // A kubelet's text is left after its gates.
        let told = of(ComponentKind::Kubelet, text).expect("it has gates");
        assert!(
            !told.iter().any(|told| matches!(told, Told::Started(_))),
            "{told:?}"
        );
    }

    #[test]
    fn what_is_no_metrics_is_said_to_be_something_else() {
        let fault = |text: &str| of(ComponentKind::Kubelet, text).expect_err("it has no gates");
        assert!(fault("<html>login</html>").contains("web page"));
        assert!(fault("").contains("empty"));
        assert!(fault("# HELP a b\na 1\n").contains("kubernetes_feature_enabled"));
        let status = r#"{"kind":"Status","message":"forbidden: cannot get path \"/metrics\""}"#;
        assert!(fault(status).contains("cannot get path"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut text = GATES.to_vec();
            text.extend(bytes);
            drop(read(ComponentKind::Kubelet, &mut text.as_slice()));
        }
    }
}
