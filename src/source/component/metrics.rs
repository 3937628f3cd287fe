//! The feature gates in a component's `/metrics` text, its version, its start and a few counts; every other family is passed over.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: one line a gate, `kubernetes_feature_enabled{name="X",stage="BETA"} 1`. The text may be
//! megabytes and comes in parts, so no line is kept but one that two parts share. It must not look at the rest of the text. The
//! stage is no value: the same gate is BETA here and GA there.

use std::collections::BTreeMap;
use std::io::BufRead;

use jiff::Timestamp;

use super::{DocumentError, counts, foreign};
use crate::model::component::{ComponentKind, ComponentVersion, Counts, Told};
use crate::model::version::Minor;

const GATES: &[u8] = b"kubernetes_feature_enabled{";
const VERSION: &[u8] = b"version_info{";
const BUILD: &[u8] = b"kubernetes_build_info{";
const STARTED: &[u8] = b"process_start_time_seconds ";

/// A longer line is no line of metrics; what it holds is passed over.
const MAX_LINE: usize = 64 << 10;

/// Enough of a text to say what else it is.
const MAX_STRANGE: usize = 64 << 10;

/// The first letters of a text of metrics that tell what it is.
const STARTS: [&[u8]; 3] = [b"# HELP ", b"# TYPE ", GATES];

/// Whether bytes begin as a text of metrics does.
pub(crate) fn recognises(start: &[u8]) -> bool {
    STARTS.iter().any(|word| start.starts_with(word))
}

/// Reads the gates, and who they are of. Without the family there are none, which is a fault.
pub(crate) fn read(
    kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    // A kubelet tells its version elsewhere, and what follows its gates is a quarter of the text.
    let mut scan = Scan::new(kind == ComponentKind::Kubelet);
    loop {
        let part = reader.fill_buf()?;
        let length = part.len();
        if length == 0 {
            return scan.finish();
        }
        scan.take(part);
        reader.consume(length);
        if scan.is_done() {
            return scan.finish();
        }
    }
}

/// What was seen of a text. It is the same, whatever parts the text comes in.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// What the text is, once enough of it was seen.
    form: Form,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The line is too long to be one of metrics.
    is_too_long: bool,
    /// Nothing but gates is asked for.
    is_of_gates: bool,
    /// Another family has begun after that of the gates.
    is_past: bool,
    gates: BTreeMap<String, bool>,
    version: ComponentVersion,
    started: Option<Timestamp>,
    counts: Counts,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Unknown,
    Metrics,
    Foreign,
}

impl Scan {
    /// For gates alone it ends with their family.
    pub(crate) fn new(is_of_gates: bool) -> Self {
        Self {
            is_of_gates,
            ..Self::default()
        }
    }

    /// Takes the next part of the text.
    pub(crate) fn take(&mut self, mut part: &[u8]) {
        if self.form == Form::Unknown {
            part = self.begin(part);
        }
        match self.form {
            Form::Unknown => {}
            Form::Metrics => self.lines(part),
            Form::Foreign => self.keep(part, MAX_STRANGE),
        }
    }

    /// Whatever comes now changes nothing.
    pub(crate) fn is_done(&self) -> bool {
        (self.is_of_gates && self.is_past)
            || (self.form == Form::Foreign && self.line.len() == MAX_STRANGE)
    }

    /// Finds out what the text is, and gives back what is left of the part.
    fn begin<'p>(&mut self, part: &'p [u8]) -> &'p [u8] {
        let due = STARTS.iter().map(|word| word.len()).max().unwrap_or(0);
        let (start, rest) = part.split_at(part.len().min(due.saturating_sub(self.line.len())));
        self.line.extend_from_slice(start);
        if self.line.len() == due {
            self.settle();
        }
        rest
    }

    /// Decides by what has come.
    fn settle(&mut self) {
        if !recognises(&self.line) {
            self.form = Form::Foreign;
            return;
        }
        self.form = Form::Metrics;
        let start = std::mem::take(&mut self.line);
        self.lines(&start);
    }

    /// Keeps a part, within bounds.
    fn keep(&mut self, part: &[u8], most: usize) {
        let room = most.saturating_sub(self.line.len()).min(part.len());
        self.line.extend_from_slice(part.split_at(room).0);
    }

    fn lines(&mut self, mut part: &[u8]) {
        if !self.line.is_empty() || self.is_too_long {
            let Some(end) = memchr::memchr(b'\n', part) else {
                self.hold(part);
                return;
            };
            let (end, rest) = part.split_at(end + 1);
            self.hold(end);
            self.end();
            part = rest;
        }
        while let Some(end) = memchr::memchr(b'\n', part) {
            let (line, rest) = part.split_at(end + 1);
            if line.len() <= MAX_LINE {
                self.see(line);
            }
            part = rest;
        }
        self.hold(part);
    }

    /// Keeps what may be the beginning of a line.
    fn hold(&mut self, part: &[u8]) {
        self.is_too_long |= self.line.len() + part.len() > MAX_LINE;
        if self.is_too_long {
            self.line.clear();
        } else {
            self.line.extend_from_slice(part);
        }
    }

    /// The line that was held is whole.
    fn end(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if !self.is_too_long {
            self.see(&line);
        }
        self.is_too_long = false;
        line.clear();
        self.line = line;
    }

    fn see(&mut self, line: &[u8]) {
        if let Some(rest) = line.strip_prefix(GATES) {
            if !self.is_done() {
                self.gates.extend(gate(rest));
            }
            return;
        }
        match line.first() {
            // A remark may stand anywhere (exposition format 0.0.4).
            None | Some(b'\n' | b'\r') => return,
            Some(b'#') if !recognises(line) => return,
            _ => self.is_past |= !self.gates.is_empty(),
        }
        if self.is_done() {
            return;
        }
        if let Some(labels) = line.strip_prefix(VERSION).and_then(labels_of) {
            self.is_of(labels);
        } else if let Some(labels) = line.strip_prefix(BUILD).and_then(labels_of) {
            self.version.git = label(labels, "git_version").or(self.version.git.take());
        } else if let Some(value) = line.strip_prefix(STARTED) {
            self.started = seconds(value);
        } else {
            counts::take(&mut self.counts, line);
        }
    }

    /// There may be others beside `kube` in an aggregated server.
    fn is_of(&mut self, labels: &str) {
        if label(labels, "component").is_none_or(|component| component != "kube") {
            return;
        }
        let minor = |name| label(labels, name).as_deref().and_then(Minor::parse);
        self.version.emulation = minor("emulation");
        self.version.min_compatibility = minor("min_compat");
        if let Some(binary) = label(labels, "binary") {
            self.version.git.get_or_insert(format!("v{binary}"));
        }
    }

    /// What the text told.
    pub(crate) fn finish(mut self) -> Result<Vec<Told>, DocumentError> {
        if self.form == Form::Unknown {
            self.settle();
        }
        if self.form == Form::Foreign {
            return Err(foreign(
                &String::from_utf8_lossy(&self.line),
                "text of metrics",
            ));
        }
        // The last line may have no end.
        self.end();
        if self.gates.is_empty() {
            let fault = "it has no line of kubernetes_feature_enabled".to_owned();
            return Err(DocumentError::Foreign(fault));
        }
        let version = (self.version != ComponentVersion::default()).then_some(self.version);
        Ok([Told::Runs(self.gates.into())]
            .into_iter()
            .chain(version.map(Told::Version))
            .chain(self.started.map(Told::Started))
            .chain((self.counts != Counts::default()).then_some(Told::Counts(self.counts)))
            .collect())
    }
}

/// The labels of a line after its name and brace.
pub(super) fn labels_of(rest: &[u8]) -> Option<&str> {
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
    time(std::str::from_utf8(value).ok()?.trim())
}

/// The same of text, to the second.
pub(crate) fn time(text: &str) -> Option<Timestamp> {
    let seconds: f64 = text.parse().ok()?;
    let since = jiff::SignedDuration::try_from_secs_f64(seconds.floor()).ok()?;
    Timestamp::UNIX_EPOCH.checked_add(since).ok()
}

/// The value of a label, unescaped (exposition format 0.0.4).
pub(super) fn label(labels: &str, wanted: &str) -> Option<String> {
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
        Told::Runs(owned.collect::<BTreeMap<_, _>>().into())
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

    #[test]
    fn a_line_too_long_is_passed_over_and_its_middle_is_no_line() {
        let long = "x".repeat(MAX_LINE) + &"kubernetes_feature_enabled{name=\"X\"} 1 ".repeat(9);
        let text = format!(
            "# HELP a b\n{long}\nkubernetes_feature_enabled{{name=\"A\"}} 1\n# {long}\nkubernetes_feature_enabled{{name=\"B\"}} 0"
        );
        let due = vec![gates(&[("A", true), ("B", false)])];
        assert_eq!(of(ComponentKind::KubeScheduler, &text), Ok(due));
        let mut scan = Scan::default();
        for part in text.as_bytes().chunks(1_000) {
            scan.take(part);
            assert!(scan.line.len() <= MAX_LINE);
        }
        // A page without end is left as soon as it is known to be one.
        let mut page = Scan::default();
        let parts = std::iter::repeat_n([b'<'; 1_000], 1_000);
        let taken = parts.take_while(|part| {
            page.take(part);
            !page.is_done()
        });
        assert!(taken.count() < 100);
    }

    #[test]
    fn remarks_do_not_end_the_gates_and_another_family_does() {
        let text = "# TYPE a b\nkubernetes_feature_enabled{name=\"A\"} 1\n\n# a remark\nkubernetes_feature_enabled{name=\"B\"} 1\n";
        for other in ["# HELP b c\n", "b 1\n", "kubernetes_healthcheck{} 1\n"] {
            let mut scan = Scan::new(true);
            scan.take(text.as_bytes());
            assert!(!scan.is_done());
            scan.take(other.as_bytes());
            assert!(scan.is_done(), "{other}");
        }
    }

    /// Texts with all that means something, in any order.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "# HELP a b\n",
            "# a remark\n",
            "\n",
            "kubernetes_feature_enabled{name=\"A\",stage=\"BETA\"} 1\n",
            "kubernetes_feature_enabled{stage=\"\\n\\\"}\",name=\"B\"} 0\r\n",
            "kubernetes_build_info{git_version=\"v1.37.2\"} 1\n",
            "version_info{binary=\"1.37.2\",component=\"kube\",emulation=\"1.36\"} 1\n",
            "process_start_time_seconds 1.7645184e+09\n",
            "scheduler_unschedulable_pods{plugin=\"NodeDeclaredFeatures\",profile=\"a\"} 2\n",
            "other{name=\"kubernetes_feature_enabled{\"} 1\n",
            "<html>",
            "kube",
        ]);
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn it_is_the_same_whatever_parts_it_comes_in(text in text(), length in 1_usize..90, is_of_gates: bool) {
            let of = |parts: &mut dyn Iterator<Item = &[u8]>| {
                let mut scan = Scan::new(is_of_gates);
                parts.for_each(|part| scan.take(part));
                (scan.is_done(), scan.finish().map_err(|error| error.to_string()))
            };
            let whole = of(&mut std::iter::once(text.as_slice()));
            prop_assert_eq!(of(&mut text.chunks(length)), whole);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut text = GATES.to_vec();
            text.extend(bytes);
            drop(read(ComponentKind::Kubelet, &mut text.as_slice()));
        }
    }
}
