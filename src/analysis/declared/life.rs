//! Whether a kubelet lives, by its last sign of life: its Lease (KEP-589) and the condition Ready.
//!
//! A sign of life dates no list: both are renewed by a kubelet that writes nothing else. Defaults: a Lease holds 40 s and is renewed
//! every 10 s; Ready is written at least every 7.5 minutes; the node lifecycle controller sets it Unknown 50 s after the last sign
//! (kubernetes 1.36 `pkg/kubelet/apis/config/v1beta1/defaults.go`, `pkg/controller/nodelifecycle/config/v1alpha1/defaults.go`).

use jiff::{SignedDuration, Timestamp};

use crate::model::node::{Node, NodeLease, Ready};

/// Without a Lease, a Ready that was written longer ago than a living kubelet leaves it.
const READY_HOLDS: SignedDuration = SignedDuration::from_mins(10);

/// Seconds that a Lease holds which does not say.
const LEASE_HOLDS: i64 = 40;

/// A kubelet, as far as it was heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Life {
    /// Its last sign of life; null where there is none.
    pub(super) seen: Option<Timestamp>,
    /// Why it is not known to live: a cause and a sentence. Null where it lives.
    pub(super) silence: Option<(&'static str, String)>,
}

pub(super) fn of(
    node: &Node,
    lease: Option<&NodeLease>,
    max_age: Option<SignedDuration>,
    now: Timestamp,
) -> Life {
    let renewed = lease.and_then(|lease| lease.renewed);
    let seen = renewed.max(node.heartbeat);
    let silence = silence(node, lease, seen, max_age, now);
    Life { seen, silence }
}

fn silence(
    node: &Node,
    lease: Option<&NodeLease>,
    seen: Option<Timestamp>,
    max_age: Option<SignedDuration>,
    now: Timestamp,
) -> Option<(&'static str, String)> {
    let Some(seen) = seen else {
        let text = "its kubelet gave no sign of life: no Lease, no condition Ready";
        return Some(("no-sign-of-life", text.to_owned()));
    };
    let age = now.duration_since(seen);
    let silent = |text: String| Some(("kubelet-silent", text));
    if let Some(max) = max_age
        && age > max
    {
        let text =
            format!("its kubelet's last sign of life is of {seen:.0}, longer ago than --max-age");
        return Some(("past-max-age", text));
    }
    if node.ready == Some(Ready::Unknown) {
        return silent(format!(
            "its kubelet was last heard of at {seen:.0}: the condition Ready is Unknown"
        ));
    }
    let renewed = lease.and_then(|lease| Some((lease.renewed?, lease.seconds)));
    if let Some((renewed, seconds)) = renewed {
        let holds = SignedDuration::from_secs(seconds.unwrap_or(LEASE_HOLDS));
        return (now.duration_since(renewed) > holds)
            .then(|| format!("its kubelet's Lease was last renewed at {renewed:.0}, and ran out"))
            .and_then(silent);
    }
    if age > READY_HOLDS {
        return silent(format!(
            "its kubelet last wrote the condition Ready at {seen:.0}, and no Lease was seen"
        ));
    }
    None
}
