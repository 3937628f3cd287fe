//! Decodes coordination.k8s.io/v1 Lease: the identity of an API server's replica (KEP-1965), and the sign of life of a node's kubelet
//! (KEP-589). Other Leases tell nothing here.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::time;
use crate::model::fact::Content;
use crate::model::node::NodeLease;
use crate::model::replica::Replica;

/// Label of the identity Leases, with this value (kubernetes `pkg/controlplane/apiserver/server.go`, 1.37).
const IDENTITY: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");
const HOST: &str = "kubernetes.io/hostname";

/// Namespace of the Leases that kubelets renew (core/v1 `NamespaceNodeLease`).
const OF_NODES: &str = "kube-node-lease";

#[derive(Deserialize)]
struct Lease {
    metadata: LeaseMetadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct LeaseMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "kubernetes.io/peer-advertise-address", default)]
    address: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    lease_duration_seconds: Option<i64>,
    #[serde(deserialize_with = "time")]
    renew_time: Option<Timestamp>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let lease: Lease = serde_json::from_str(json)?;
    if lease.metadata.namespace.as_deref() == Some(OF_NODES) {
        return Ok(Content::NodeLease(Box::new(NodeLease {
            node: lease.metadata.name,
            renewed: lease.spec.renew_time,
            seconds: lease.spec.lease_duration_seconds,
        })));
    }
    let labels = lease.metadata.labels.unwrap_or_default();
    let (label, value) = IDENTITY;
    if labels.get(label).map(String::as_str) != Some(value) {
        return Ok(Content::Replicas(Vec::new()));
    }
    Ok(Content::Replicas(vec![Replica::Lease {
        name: lease.metadata.name,
        host: labels.get(HOST).cloned(),
        address: lease
            .metadata
            .annotations
            .and_then(|annotations| annotations.address),
        renewed: lease.spec.renew_time,
        seconds: lease.spec.lease_duration_seconds.unwrap_or_default(),
    }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_identity_of_an_api_server_counts() {
        let lease = |label: &str| {
            let json = format!(
                r#"{{"metadata": {{"name": "apiserver-a", "labels": {{"{label}": "kube-apiserver", "{HOST}": "h"}}, "annotations": {{"kubernetes.io/peer-advertise-address": "10.0.0.1:6443"}}}},
                "spec": {{"leaseDurationSeconds": 3600, "renewTime": "2026-11-30T08:00:00.000000Z"}}}}"#
            );
            decode(&json).expect("it is a Lease")
        };
        let due = Replica::Lease {
            name: "apiserver-a".to_owned(),
            host: Some("h".to_owned()),
            address: Some("10.0.0.1:6443".to_owned()),
            renewed: "2026-11-30T08:00:00Z".parse().ok(),
            seconds: 3600,
        };
        assert_eq!(lease(IDENTITY.0), Content::Replicas(vec![due]));
        assert_eq!(lease("other"), Content::Replicas(vec![]));
    }

    #[test]
    fn a_lease_of_a_node_is_a_sign_of_life() {
        let lease = |namespace: &str| {
            let json = format!(
                r#"{{"metadata": {{"name": "n1", "namespace": "{namespace}"}}, "spec": {{"leaseDurationSeconds": 40, "renewTime": "2026-11-30T08:00:00.000000Z"}}}}"#
            );
            decode(&json).expect("it is a Lease")
        };
        let due = NodeLease {
            node: "n1".to_owned(),
            renewed: "2026-11-30T08:00:00Z".parse().ok(),
            seconds: Some(40),
        };
        assert_eq!(lease(OF_NODES), Content::NodeLease(Box::new(due)));
        assert_eq!(lease("kube-system"), Content::Replicas(vec![]));
    }
}
