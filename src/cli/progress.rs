//! How far a long read has come, in one line that changes, for somebody who looks at a terminal.
//!
//! It goes to standard error and is gone when the read ends. What takes no time is not told of.

use std::io::Write;
use std::time::Duration;

use tokio::time::Instant;

use crate::env::Env;
use crate::source::gather::Progress;

/// What is done within this time needs no word.
const QUIET: Duration = Duration::from_millis(500);

/// How often the line changes at most.
const PAUSE: Duration = Duration::from_millis(100);

/// Back to the beginning of the line, and nothing on it.
const CLEAR: &str = "\r\u{1b}[K";

pub(super) struct ProgressLine<'e> {
    stderr: Option<&'e mut dyn Write>,
    due: Instant,
    is_shown: bool,
}

impl<'e> ProgressLine<'e> {
    pub(super) fn new(env: &'e mut Env) -> Self {
        Self {
            stderr: env.stderr_is_terminal.then_some(env.stderr.as_mut()),
            due: Instant::now() + QUIET,
            is_shown: false,
        }
    }

    pub(super) fn tell(&mut self, progress: Progress) {
        let now = Instant::now();
        let Some(stderr) = self.stderr.as_mut().filter(|_| now >= self.due) else {
            return;
        };
        self.due = now + PAUSE;
        self.is_shown = true;
        let Progress { answered, asked } = progress;
        // If stderr is closed there is nobody left to tell.
        drop(write!(stderr, "{CLEAR}{answered} of {asked} read"));
        drop(stderr.flush());
    }
}

impl Drop for ProgressLine<'_> {
    fn drop(&mut self) {
        if let Some(stderr) = self.stderr.as_mut().filter(|_| self.is_shown) {
            drop(write!(stderr, "{CLEAR}"));
            drop(stderr.flush());
        }
    }
}
