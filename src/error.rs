//! What can go wrong, how it is told, and the one table of exit codes.
//!
//! "Could not run" and "found something" are kept apart here, so that no caller can confuse them.

/// Exit codes of every command, documented in `--help`. Where several apply: 2, 1, 7, 6, 3, 5, 4, 0.
pub(crate) mod exit {
    pub(crate) const DONE: u8 = 0;
    pub(crate) const FAILURE: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const FINDING: u8 = 3;
    pub(crate) const WARNING: u8 = 4;
    pub(crate) const INCOMPLETE: u8 = 5;
    pub(crate) const TIMED_OUT: u8 = 7;

    /// The order in which they count where several apply.
    const ORDER: [u8; 8] = [
        USAGE, FAILURE, TIMED_OUT, 6, FINDING, INCOMPLETE, WARNING, DONE,
    ];

    /// The one that counts of several.
    pub(crate) fn first(codes: impl IntoIterator<Item = u8>) -> u8 {
        let rank = |code: &u8| ORDER.iter().position(|known| known == code);
        codes.into_iter().min_by_key(rank).unwrap_or(DONE)
    }

    /// Text of `--help`.
    pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  the tool failed: the server, the kubeconfig or the input could not be used
  2  usage: a wrong flag or argument
  3  a finding of severity error (with --fail-on), or another verdict is final than --for waits for
  4  only warnings (with --fail-on=warning)
  5  the verdict needs what could not be observed
  7  timed out (--timeout)
  130, 143  interrupted by SIGINT, ended by SIGTERM";
}

/// Kind of a failure. One match turns it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Usage,
    Kubeconfig,
    /// A choice in the kubeconfig that is not there; shown in kubectl's words.
    Configuration,
    /// The API server said no; shown in kubectl's words.
    Server,
    Unreachable,
    BadData,
    Internal,
    /// The reader of our output went away; not an error for anybody.
    BrokenPipe,
    /// A signal ended the command with this exit code; who sent it needs not be told.
    Interrupted(u8),
}

/// A failure that ends the command.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Adds an error and its sources as causes, without repeating what was said.
    pub(crate) fn because(mut self, cause: &dyn std::error::Error) -> Self {
        let mut next = Some(cause);
        while let Some(error) = next {
            let text = error.to_string();
            let told = self.message.contains(&text)
                || self.causes.iter().any(|known| known.contains(&text));
            if !told {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Says of which of several it is.
    pub(crate) fn of(mut self, which: &str) -> Self {
        self.message = format!("{which}: {}", self.message);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Usage => exit::USAGE,
            Kind::Kubeconfig
            | Kind::Configuration
            | Kind::Server
            | Kind::Unreachable
            | Kind::BadData
            | Kind::Internal => exit::FAILURE,
            Kind::BrokenPipe => exit::DONE,
            Kind::Interrupted(code) => code,
        }
    }
}

impl Error {
    /// Lines for stderr, not escaped: kubectl's own sentence for an answer of the server, `error: …` for the rest, none
    /// where nobody needs to be told.
    pub(crate) fn lines(&self) -> Vec<String> {
        let first = match self.kind {
            Kind::BrokenPipe | Kind::Interrupted(_) => return Vec::new(),
            Kind::Configuration | Kind::Server | Kind::Unreachable => self.message.clone(),
            _ => format!("error: {}", self.message),
        };
        let causes = self
            .causes
            .iter()
            .map(|cause| format!("caused by: {cause}"));
        let hints = self.hints.iter().map(|hint| format!("hint: {hint}"));
        std::iter::once(first).chain(causes).chain(hints).collect()
    }
}

impl From<std::io::Error> for Error {
    /// For writes to our own output only; reads say what they were reading.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::new(Kind::BrokenPipe, "the output was closed")
        } else {
            Self::new(Kind::Internal, "cannot write the output").because(&error)
        }
    }
}
