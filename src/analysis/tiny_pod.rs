//! A Pod that does nothing: what trials on a live cluster are made of.
//!
//! It passes the restricted Pod Security Standard, asks for no room, and is bound to nodes by affinity, never by nodeName. It must
//! not know what is tried.

use serde_json::{Value, json};

/// Its specification, for these nodes alone; for any where there are none.
pub(super) fn spec<'n>(image: &str, nodes: impl IntoIterator<Item = &'n String>) -> Value {
    // Only one value is allowed for a field, so there is a term for each node.
    let terms = nodes.into_iter().map(|node| {
        json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]})
    });
    let terms: Vec<Value> = terms.collect();
    let mut affinity = json!({});
    if !terms.is_empty() {
        affinity["nodeAffinity"] = json!({
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
        });
    }
    json!({
        "automountServiceAccountToken": false,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65535,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": affinity,
        "containers": [container("pause", image)],
    })
}

pub(super) fn container(name: &str, image: &str) -> Value {
    json!({
        "name": name,
        "image": image,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
        },
    })
}
