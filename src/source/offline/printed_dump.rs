//! What `kubectl cluster-info dump` prints: documents back to back, with the containers' logs between them and a sentence at the end.
//!
//! Logs are passed over and counted. A log can hold anything, also what looks like its own end and a made-up object after it: then the
//! end that counts is the last one before the next document's log.

use std::io::{self, BufRead};

const START: &[u8] = b"==== START logs for container ";
const END: &[u8] = b"==== END logs for container ";
const CLOSING: &[u8] = b"Cluster info dumped to ";

/// The documents, without logs.
#[derive(Debug, Default)]
pub(super) struct Documents {
    pub(super) bytes: Vec<u8>,
    /// Logs that were passed over.
    pub(super) logs: usize,
    /// What is wrong with them.
    pub(super) fault: Option<String>,
}

/// Reads up to the bound, line by line. Other text than a dump goes through unchanged.
pub(super) fn read(reader: &mut dyn BufRead, bound: usize) -> io::Result<Documents> {
    let mut documents = Documents::default();
    let bytes = &mut documents.bytes;
    // The container of the log that is open, or was last, and where the documents stood at its end.
    let mut open: Option<Vec<u8>> = None;
    let mut last: Option<(Vec<u8>, usize)> = None;
    loop {
        let start = bytes.len();
        let left = (bound + 1).saturating_sub(start) as u64;
        let mut limited = io::Read::take(&mut *reader, left);
        if limited.read_until(b'\n', bytes)? == 0 {
            break;
        }
        let line = bytes.get(start..).unwrap_or_default().trim_ascii_end();
        if let Some(container) = &open {
            if ends(line, container) {
                last = open.take().map(|container| (container, start));
            }
            bytes.truncate(start);
        } else if let Some(container) = line.strip_prefix(START) {
            open = Some(container.to_vec());
            documents.logs += 1;
            bytes.truncate(start);
        } else if let Some((_, end)) = last.as_ref().filter(|(container, _)| ends(line, container))
        {
            bytes.truncate(*end);
            documents.fault.get_or_insert_with(|| {
                "a log holds what looks like its own end; what follows there is not used".to_owned()
            });
        } else if documents.logs > 0 && line.starts_with(CLOSING) {
            bytes.truncate(start);
        }
    }
    if open.is_some() {
        documents.fault = Some("it is cut off inside a log".to_owned());
    }
    Ok(documents)
}

/// Whether a line ends a container's log; a log whose last line has no end stands before it in the same line.
fn ends(line: &[u8], container: &[u8]) -> bool {
    line.strip_suffix(container)
        .is_some_and(|before| before.ends_with(END))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(text: &str) -> (String, usize, Option<String>) {
        let found = read(&mut text.as_bytes(), 1 << 20).expect("memory can be read");
        let bytes = String::from_utf8(found.bytes).expect("text stays text");
        (bytes, found.logs, found.fault)
    }

    #[test]
    fn logs_and_the_closing_sentence_are_passed_over() {
        let dump = "{\"kind\":\"PodList\"}\n\
            ==== START logs for container c of pod a/b ====\nnot json {\n==== END logs for container c of pod a/b ====\n\
            ==== START logs for container d of pod a/b ====\nno end of line==== END logs for container d of pod a/b ====\n\
            {\"kind\":\"NodeList\"}\nCluster info dumped to standard output\n";
        let expected = "{\"kind\":\"PodList\"}\n{\"kind\":\"NodeList\"}\n";
        assert_eq!(documents(dump), (expected.to_owned(), 2, None));
    }

    #[test]
    fn a_log_cannot_end_itself() {
        let end = "==== END logs for container c of pod a/b ====\n";
        let dump = format!(
            "{{}}\n==== START logs for container c of pod a/b ====\n{end}{{\"kind\":\"Pod\"}}\n{end}{{\"a\":1}}\n"
        );
        let (bytes, logs, fault) = documents(&dump);
        assert_eq!((bytes.as_str(), logs), ("{}\n{\"a\":1}\n", 1));
        assert!(fault.is_some());
        let (bytes, _, fault) =
            documents("{}\n==== START logs for container c of pod a/b ====\nx\n");
        assert_eq!(bytes, "{}\n");
        assert_eq!(fault.as_deref(), Some("it is cut off inside a log"));
    }

    #[test]
    fn other_text_is_unchanged() {
        let text = "a: |\n  ==== END logs\nCluster info dumped to nowhere";
        assert_eq!(documents(text), (text.to_owned(), 0, None));
    }
}
