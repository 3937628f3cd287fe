//! The feature gates in a component's `/metrics` text; every other family is passed over.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: one line a gate, `kubernetes_feature_enabled{name="X",stage="BETA"} 1`. It must not look
//! at the rest of the text, which may be megabytes.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

const FAMILY: &[u8] = b"kubernetes_feature_enabled{";

/// A longer line is no line of metrics; what it holds is passed over.
const MAX_LINE: u64 = 64 << 10;

/// Whether bytes begin as a text of metrics does.
pub(crate) fn recognises(start: &[u8]) -> bool {
    [&b"# HELP "[..], b"# TYPE ", FAMILY]
        .iter()
        .any(|word| start.starts_with(word))
}

/// Reads the gates. Without the family there are none.
pub(crate) fn read(reader: &mut dyn BufRead) -> io::Result<BTreeMap<String, bool>> {
    let mut gates = BTreeMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut *reader, MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(gates);
        }
        if let Some((name, enabled)) = gate(&line) {
            gates.insert(name, enabled);
        }
    }
}

/// A line of the family: the label `name`, wherever it stands, and the value.
fn gate(line: &[u8]) -> Option<(String, bool)> {
    let rest = line.strip_prefix(FAMILY)?;
    let text = std::str::from_utf8(rest).ok()?;
    let (labels, value) = text.rsplit_once('}')?;
    let name = label(labels, "name")?;
    match value.split_whitespace().next()? {
        "0" => Some((name, false)),
        "1" => Some((name, true)),
        _ => None,
    }
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

    fn of(text: &str) -> BTreeMap<String, bool> {
        read(&mut text.as_bytes()).expect("memory can be read")
    }

    #[test]
    fn gates_are_read_and_nothing_else() {
        let text = "# HELP a b\nother{name=\"X\"} 1\nkubernetes_feature_enabled{name=\"A\",stage=\"\"} 1\nkubernetes_feature_enabled{stage=\"ALPHA\",name=\"B\\\"\"} 0\nkubernetes_feature_enabled{name=\"C\"} 7\n";
        let due = [("A", true), ("B\"", false)].map(|(name, on)| (name.to_owned(), on));
        assert_eq!(of(text), due.into());
        assert_eq!(of("<html>login</html>"), BTreeMap::new());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut text = FAMILY.to_vec();
            text.extend(bytes);
            drop(read(&mut text.as_slice()));
        }
    }
}
