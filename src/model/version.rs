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

/// A release of Kubernetes 1, without what a vendor appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release {
    pub(crate) minor: Minor,
    pub(crate) patch: u32,
}

impl Release {
    /// Reads a git version, `v1.33.5`, also with a vendor's suffix: `v1.33.5-eks-1a2b3c`, `v1.34.1+k3s1`, `v1.35.0-gke.100`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let end = text.find(['-', '+', '_']).unwrap_or(text.len());
        let mut parts = text.get(..end)?.split('.');
        let number = |part: Option<&str>| {
            let part = part?;
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse::<u32>().ok())?
        };
        let (major, minor, patch) = (
            number(parts.next())?,
            number(parts.next())?,
            number(parts.next()),
        );
        (major == 1).then_some(Self {
            minor: Minor(minor),
            patch: patch.unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendors_suffix_is_no_part_of_the_release() {
        let of = |text| Release::parse(text).map(|it| (it.minor.0, it.patch));
        assert_eq!(of("v1.33.5-eks-1a2b3c"), Some((33, 5)));
        assert_eq!(of("v1.34.1+k3s1"), Some((34, 1)));
        assert_eq!(of("1.37"), Some((37, 0)));
        assert_eq!(of("v1.38.0-alpha.1"), Some((38, 0)));
        assert_eq!(of("v2.1.0"), None);
        assert_eq!(of("v1.x.0"), None);
        assert_eq!(of(""), None);
        assert_eq!(Minor::parse("28+"), Some(Minor(28)));
        assert_eq!(Minor::parse("1.37"), Some(Minor(37)));
        assert_eq!(Minor::parse("-1"), None);
    }
}
