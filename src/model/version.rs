//! Versions of Kubernetes, which stand in for gates that were not observed.

use std::fmt;

/// Minor version of Kubernetes 1, e.g. 37. The emulated one where the server emulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minor(pub(crate) u32);

impl Minor {
    /// Reads `1.37` or `37`; some providers append a plus sign. Null for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('+');
        let digits = text.strip_prefix("1.").unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?.map(Self)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}", self.0)
    }
}
