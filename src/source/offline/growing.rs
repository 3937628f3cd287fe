//! An audit log that grows: a plain file to which an API server appends, and which is rotated while it is read.
//!
//! A file that is renamed is read to its end, and the one that has its name then is read from its beginning. Each line is read once, when it
//! is whole. It must not judge; what is not in this file, an earlier one say, it does not look for.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use same_file::Handle;

use super::{Collected, OfflineError};
use crate::model::coverage::State;
use crate::source::audit::{self, Focus, Layout, Log};

/// How often is looked whether there is more. A write is told of within this time.
const POLL: Duration = Duration::from_millis(250);

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 20;

/// Bytes of an event in which its ID is.
const BEGINNING: usize = 256;

/// Enough of a first line to see what it is.
const HEAD: usize = 64 << 10;

/// The log, and how far it was read.
pub(crate) struct Growing {
    path: PathBuf,
    focus: Focus,
    log: Log,
    open: Option<Open>,
    /// How often the file was another one, or began anew.
    rotated: usize,
    truncated: usize,
}

/// The file that is being read.
struct Open {
    /// Also tells it from another one of its name.
    handle: Handle,
    read: u64,
    /// How it begins. A file that was cut off begins otherwise, even if it is longer again than what was read.
    head: Vec<u8>,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    /// Whether that line is too long, and what came of it was dropped.
    too_long: bool,
    is_known: bool,
}

impl Growing {
    /// Begins with what the file holds by then; it need not be there.
    pub(crate) fn new(path: &Path, focus: Focus) -> Self {
        Self {
            path: path.to_owned(),
            focus,
            log: Log::default(),
            open: None,
            rotated: 0,
            truncated: 0,
        }
    }

    /// Reads what is new. Says whether anything was.
    pub(crate) fn read(&mut self) -> Result<bool, OfflineError> {
        let mut grown = false;
        loop {
            grown |= self.read_open()?;
            let Some(new) = self.successor()? else {
                return Ok(grown);
            };
            // What was written to the old file before it was renamed, and after it was read.
            grown |= self.read_open()?;
            if let Some(old) = self.open.replace(new) {
                self.rotated += 1;
                if !old.rest.is_empty() || old.too_long {
                    self.log.note_cut();
                }
            }
        }
    }

    /// Waits until there may be more, or for that time.
    pub(crate) async fn grown(&self, limit: Option<Duration>) {
        let wait = async {
            loop {
                tokio::time::sleep(POLL).await;
                if self.may_have_grown() {
                    return;
                }
            }
        };
        match limit {
            Some(limit) => drop(tokio::time::timeout(limit, wait).await),
            None => wait.await,
        }
    }

    /// All that the log told up to now.
    pub(crate) fn collected(&self) -> Collected {
        let mut collected = Collected::new(&self.path);
        "file".clone_into(&mut collected.source.kind);
        let subject = self.path.display().to_string();
        collected.take_log(&subject, self.log.clone());
        if self.truncated > 0 {
            let detail = "the file was cut off while it was followed; what was written shortly before may not have been read";
            collected.note(&subject, State::Partial, detail.to_owned());
        }
        collected
    }

    fn fail(&self) -> impl FnOnce(io::Error) -> OfflineError + use<> {
        let path = self.path.clone();
        move |source| OfflineError::Read { path, source }
    }

    fn foreign(&self, fault: &str) -> OfflineError {
        OfflineError::Foreign {
            path: self.path.clone(),
            fault: fault.to_owned(),
            location: None,
        }
    }

    /// The file that has the name now, if it is another one than is being read.
    fn successor(&self) -> Result<Option<Open>, OfflineError> {
        let handle = match Handle::from_path(&self.path) {
            Ok(handle) => handle,
            // Not there yet, or renamed and not made anew yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.fail()(error)),
        };
        if self.open.as_ref().is_some_and(|open| open.handle == handle) {
            return Ok(None);
        }
        if !handle.as_file().metadata().map_err(self.fail())?.is_file() {
            return Err(self.foreign("it is no file"));
        }
        Ok(Some(Open {
            handle,
            read: 0,
            head: Vec::new(),
            rest: Vec::new(),
            too_long: false,
            is_known: false,
        }))
    }

    fn may_have_grown(&self) -> bool {
        let Some(open) = &self.open else {
            return self.path.exists();
        };
        let length = open.handle.as_file().metadata().map(|of| of.len());
        // An error is met, and told, by who reads.
        length.map_or(true, |length| length != open.read)
            || Handle::from_path(&self.path).is_ok_and(|handle| handle != open.handle)
    }

    /// Reads the open file to its present end.
    fn read_open(&mut self) -> Result<bool, OfflineError> {
        let fail = self.fail();
        let Some(open) = &mut self.open else {
            return Ok(false);
        };
        self.truncated += usize::from(open.go_on().map_err(fail)?);
        let mut buffer = vec![0; BUFFER];
        let mut grown = false;
        loop {
            let fail = self.fail();
            let Some(open) = &mut self.open else {
                return Ok(grown);
            };
            let count = match open.handle.as_file_mut().read(&mut buffer) {
                Ok(0) => return Ok(grown),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(fail(error)),
            };
            grown = true;
            open.read += count as u64;
            let new = buffer.get(..count).unwrap_or_default();
            let wanted = BEGINNING.saturating_sub(open.head.len());
            open.head.extend(new.iter().take(wanted));
            open.take(new, &mut self.log, &self.focus);
            if !open.is_log() {
                return Err(self.foreign("it is no audit log with an event on each line"));
            }
        }
    }
}

impl Open {
    /// Goes to where it was read to, or to the beginning where the file was cut off, which it says.
    fn go_on(&mut self) -> io::Result<bool> {
        let file = self.handle.as_file_mut();
        file.seek(SeekFrom::Start(0))?;
        let mut head = Vec::new();
        Read::take(&mut *file, self.head.len() as u64).read_to_end(&mut head)?;
        let is_cut = head != self.head || file.metadata()?.len() < self.read;
        if is_cut {
            self.read = 0;
            self.head.clear();
            self.rest.clear();
            self.too_long = false;
            self.is_known = false;
        }
        file.seek(SeekFrom::Start(self.read))?;
        Ok(is_cut)
    }

    /// Reads the lines that are whole by now.
    fn take(&mut self, new: &[u8], log: &mut Log, focus: &Focus) {
        let end = memchr::memrchr(b'\n', new).map_or(0, |end| end + 1);
        let (lines, rest) = new.split_at(end);
        if !lines.is_empty() {
            let begun = std::mem::take(&mut self.rest);
            let mut whole = begun.as_slice().chain(lines);
            if self.too_long {
                self.too_long = false;
                let rest_of_long = memchr::memchr(b'\n', lines).map_or(lines.len(), |end| end + 1);
                log.note_too_long();
                whole = (&[][..]).chain(lines.get(rest_of_long..).unwrap_or_default());
            }
            if !self.is_known {
                let head = [&begun, lines].concat();
                self.is_known = audit::recognises(&head) == Some(Layout::Lines);
            }
            if self.is_known {
                log.read_on(&mut whole, focus);
            }
        }
        if self.rest.len() + rest.len() > audit::MAX_LINE {
            self.too_long = true;
            self.rest = Vec::new();
        }
        if !self.too_long {
            self.rest.extend_from_slice(rest);
        }
    }

    /// Whether it is an audit log of lines, as far as can be seen by now.
    fn is_log(&self) -> bool {
        let begun = self.rest.trim_ascii_start();
        let may_be = begun
            .first()
            .is_none_or(|byte| matches!(byte, b'{' | b'0'..=b'9' | 0xef));
        // A first line whose end is not there yet.
        let is_short = self.read == self.rest.len() as u64 && self.rest.len() < HEAD;
        self.is_known || (is_short && may_be)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;

    const LINE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"ID","stage":"ResponseComplete","verb":"patch","user":{"username":"me"},"objectRef":{"resource":"pods","namespace":"shop","name":"web","apiVersion":"v1","subresource":"status"},"responseStatus":{"code":200},"requestObject":{"status":{"nominatedNodeName":"n1"}},"stageTimestamp":"2026-11-30T08:00:00.000000Z"}"#;

    fn line(id: usize) -> String {
        LINE.replace("ID", &id.to_string()) + "\n"
    }

    fn append(path: &Path, text: &str) {
        let file = File::options().append(true).create(true).open(path);
        let mut file = file.expect("it can be opened");
        file.write_all(text.as_bytes()).expect("it is written");
    }

    /// How many writes are known, and how many lines are broken.
    fn known(growing: &mut Growing) -> (usize, usize) {
        growing.read().expect("it can be read");
        let broken = growing.log.broken;
        let contents = growing.log.clone().into_contents();
        let writes =
            contents.filter(|content| matches!(content, crate::model::fact::Content::Write(_)));
        (writes.count(), broken)
    }

    #[test]
    fn each_line_is_read_once_when_it_is_whole() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("audit.log");
        let mut growing = Growing::new(&path, Focus::default());
        assert_eq!(known(&mut growing), (0, 0));
        append(&path, &line(1));
        assert_eq!(known(&mut growing), (1, 0));
        let second = line(2);
        let (one, rest) = second.split_at(1);
        let (some, rest) = rest.split_at(70);
        for part in [one, some, rest] {
            assert_eq!(known(&mut growing), (1, 0));
            append(&path, part);
        }
        assert_eq!(known(&mut growing), (2, 0));
        assert!(!growing.may_have_grown());

        // What was written before the rename, and a new file with a half line.
        append(&path, &line(3));
        fs::rename(&path, place.path().join("audit-1.log")).expect("it is renamed");
        assert_eq!(known(&mut growing), (3, 0));
        let fourth = line(4);
        let (begun, rest) = fourth.split_at(40);
        append(&path, begun);
        assert_eq!(known(&mut growing), (3, 0));
        append(&path, rest);
        assert_eq!((known(&mut growing), growing.rotated), ((4, 0), 1));

        File::create(&path).expect("it is cut off");
        assert!(growing.may_have_grown());
        append(&path, &line(5));
        assert_eq!((known(&mut growing), growing.truncated), ((5, 0), 1));
        // It is longer again before anybody looks.
        File::create(&path).expect("it is cut off");
        append(&path, &(line(51) + &line(52)));
        assert_eq!((known(&mut growing), growing.truncated), ((7, 0), 2));

        // The old file ends in the middle of a line.
        append(&path, line(6).split_at(40).0);
        assert_eq!(known(&mut growing), (7, 0));
        fs::rename(&path, place.path().join("audit-2.log")).expect("it is renamed");
        append(&path, &line(7));
        assert_eq!(known(&mut growing), (8, 1));
    }

    #[test]
    fn what_is_no_log_of_lines_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let read = |name: &str, bytes: &[u8]| {
            let path = place.path().join(name);
            fs::write(&path, bytes).expect("it is written");
            Growing::new(&path, Focus::default()).read().is_ok()
        };
        assert!(read("empty", b""));
        assert!(read("begun", LINE.as_bytes()));
        assert!(read("whole", line(1).as_bytes()));
        assert!(!read("yaml", b"apiVersion: v1\nkind: Pod\n"));
        assert!(!read("json", b"{\n  \"kind\": \"Pod\"\n}\n"));
        assert!(!read("gzip", &[0x1f, 0x8b, 8, 0, 0]));
        assert!(Growing::new(place.path(), Focus::default()).read().is_err());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("audit.log");
        let mut growing = Growing::new(&path, Focus::default());
        append(&path, &line(1));
        let junk = "x".repeat(audit::MAX_LINE / 2 + 1);
        for _ in 0..3 {
            append(&path, &junk);
            assert_eq!(known(&mut growing).0, 1);
        }
        let kept = growing.open.as_ref().map(|open| open.rest.len());
        assert!(kept <= Some(audit::MAX_LINE), "{kept:?}");
        append(&path, "\n");
        append(&path, &line(2));
        assert_eq!(known(&mut growing), (2, 1));
    }
}
