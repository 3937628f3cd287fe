//! The API server's version, which stands in for gates that were not observed.

/// Minor version of Kubernetes 1, e.g. 37. The emulated one where the server emulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minor(pub(crate) u32);
