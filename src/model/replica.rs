//! Traces that the replicas of an API server leave: leases and addresses. Neither tells a version or a gate.

use jiff::Timestamp;

/// One trace of one replica.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Replica {
    /// Its identity Lease (KEP-1965). Replicas on hosts of one name share one, of which the address is the last one's.
    Lease {
        name: String,
        /// Label `kubernetes.io/hostname`.
        host: Option<String>,
        /// Annotation `kubernetes.io/peer-advertise-address`, `IP:PORT`.
        address: Option<String>,
        renewed: Option<Timestamp>,
        /// Seconds that it holds after it was renewed.
        seconds: i64,
    },
    /// An address of the Service `kubernetes` (`EndpointSlice`), `IP:PORT`.
    Address(String),
}
