//! `--watch --from` an audit log that a server appends to and rotates: recorded lines of real servers, written as a server writes them.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes files")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::plugin::{Run, command, root};
use super::signals::send;

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-nominate");
const CEILING: Duration = Duration::from_mins(1);

/// A gated Pod that an outsider nominates, the scheduler binds there, and a kubelet takes up.
fn lines() -> Vec<String> {
    let path = root().join("tests/audited/1.37/1a-gated-external/3-bound.jsonl.gz");
    let file = File::open(path).expect("it was recorded");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("it is text");
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// The lines up to the hint, and from the removal of the gate on.
fn halves() -> (String, String) {
    let lines = lines();
    let (first, second) = lines.split_at(2);
    assert!(first[1].contains("nominatedNodeName"), "{}", first[1]);
    (first.concat(), second.concat())
}

fn append(path: &Path, text: &str) {
    let file = File::options().append(true).create(true).open(path);
    let mut file = file.expect("it can be opened");
    file.write_all(text.as_bytes()).expect("it is written");
}

struct Going {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

/// A place for a log, and a command that follows it; both streams come as lines.
fn start(more: &[&str]) -> (tempfile::TempDir, PathBuf, Going) {
    let place = tempfile::tempdir().expect("a folder");
    let log = place.path().join("audit.log");
    let going = follow(&log, more);
    (place, log, going)
}

fn follow(log: &Path, more: &[&str]) -> Going {
    let path = log.to_str().expect("the path is UTF-8");
    let arguments = [&["explain", "g1", "-n", "s1a", "--from", path], more].concat();
    let mut child = command(BINARY, &arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built by this test run");
    let (sender, lines) = channel();
    let streams: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().expect("it was asked for")),
        Box::new(child.stderr.take().expect("it was asked for")),
    ];
    for stream in streams {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // The test may have seen enough.
                sender.send(line).ok();
            }
        });
    }
    Going {
        child,
        lines,
        seen: Vec::new(),
    }
}

impl Going {
    /// Waits for a line that holds some words.
    fn line(&mut self, words: &str) {
        loop {
            let line = self.lines.recv_timeout(CEILING).unwrap_or_else(|error| {
                self.child.kill().ok();
                let seen = self.seen.join("\n");
                panic!("{words:?} did not come ({error}); there was\n{seen}")
            });
            self.seen.push(line.clone());
            if line.contains(words) {
                return;
            }
        }
    }

    /// Waits for its end; both streams are in the one output.
    fn end(mut self) -> Run {
        while let Ok(line) = self.lines.recv_timeout(CEILING) {
            self.seen.push(line);
        }
        // Both streams are closed, or it did nothing for a minute.
        self.child.kill().ok();
        let status = self.child.wait().expect("it ends");
        Run {
            code: status.code(),
            stdout: self.seen.join("\n"),
            stderr: String::new(),
        }
    }
}

#[test]
fn a_log_that_is_not_there_yet_is_followed_across_its_rotation() {
    let (first, second) = halves();
    let (place, log, mut going) = start(&["--watch"]);
    going.line("waiting for a write to these Pods");
    append(&log, &first);
    going.line("Gated");
    // Written to the old file just before the rename, half of a line to the new one.
    fs::rename(&log, place.path().join("audit-2026-11-30T08-19-38.000.log"))
        .expect("it is renamed");
    let (begun, rest) = second.split_at(second.len() - 100);
    append(&log, begun);
    going.line("Honoured");
    append(&log, rest);
    let run = going.end();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(!run.stdout.contains("cannot be read"), "{}", run.stdout);
}

#[test]
fn a_log_that_is_cut_off_is_read_from_its_beginning() {
    let (first, second) = halves();
    let (_place, log, mut going) = start(&["--watch", "-o", "json"]);
    append(&log, &first);
    going.line("scheduling-gates");
    File::create(&log).expect("it is cut off");
    append(&log, &second);
    let run = going.end();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(run.stdout.contains("\"Honoured\""), "{}", run.stdout);
    assert!(run.stdout.contains("was cut off while it was followed"));
}

#[test]
fn what_is_there_is_enough_where_it_is_final() {
    let place = tempfile::tempdir().expect("a folder");
    let log = place.path().join("audit.log");
    append(&log, &lines().concat());
    let run = follow(&log, &["--watch"]).end();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert_eq!(run.stdout.matches("Verdict:").count(), 1, "{}", run.stdout);
    let run = follow(&log, &["--for=verdict=Moved"]).end();
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    let due = "waited for the verdict Moved on pods/g1, and Honoured is final";
    assert!(run.stdout.contains(due), "{}", run.stdout);
}

#[test]
fn it_ends_with_its_time_or_a_signal() {
    let (first, _) = halves();
    let place = tempfile::tempdir().expect("a folder");
    let log = place.path().join("audit.log");
    let run = follow(&log, &["--watch", "--timeout=0"]).end();
    assert_eq!(run.code, Some(7), "{}", run.stdout);
    assert!(run.stdout.contains("timed out waiting for a write"));
    append(&log, &first);
    let run = follow(&log, &["--watch", "--timeout=0"]).end();
    assert_eq!(run.code, Some(7), "{}", run.stdout);
    assert!(
        run.stdout.contains("timed out watching pods/g1"),
        "{}",
        run.stdout
    );
    let run = follow(&log, &["--for=verdict=Gated"]).end();
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut going = follow(&log, &["--watch"]);
        going.line("Gated");
        send(signal, &going.child);
        assert_eq!(going.end().code, Some(code));
    }
}
