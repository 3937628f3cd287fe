//! Decodes core/v1 Node.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::{Amount, amounts, list, time};
use crate::model::fact::Content;
use crate::model::node::{Node, Taint};

#[derive(Deserialize)]
struct NodeObject {
    metadata: NodeMetadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeMetadata {
    #[serde(default)]
    name: String,
    #[serde(default, deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    unschedulable: Option<bool>,
    #[serde(deserialize_with = "list")]
    taints: Vec<TaintObject>,
}

#[derive(Deserialize)]
struct TaintObject {
    #[serde(default)]
    key: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    effect: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "list")]
    conditions: Vec<Condition>,
    allocatable: Option<BTreeMap<String, Amount>>,
    #[serde(rename = "nodeInfo")]
    info: Info,
    #[serde(deserialize_with = "list")]
    addresses: Vec<Address>,
    #[serde(rename = "daemonEndpoints")]
    endpoints: Endpoints,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Info {
    kubelet_version: Option<String>,
}

#[derive(Deserialize)]
struct Address {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    address: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Endpoints {
    kubelet_endpoint: Option<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    #[serde(rename = "Port", default)]
    port: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    status: String,
    #[serde(default, deserialize_with = "time")]
    last_transition_time: Option<Timestamp>,
    #[serde(default, deserialize_with = "time")]
    last_heartbeat_time: Option<Timestamp>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let object: NodeObject = serde_json::from_str(json)?;
    let conditions = object.status.conditions;
    let ready = conditions
        .iter()
        .find(|condition| condition.kind == "Ready");
    let info = object.status.info;
    let address = object
        .status
        .addresses
        .into_iter()
        .find(|address| address.kind == "InternalIP");
    let port = object.status.endpoints.kubelet_endpoint;
    let kubelet_endpoint = address
        .zip(port.filter(|endpoint| endpoint.port > 0))
        .map(|(address, endpoint)| (address.address, endpoint.port));
    Ok(Content::Node(Node {
        ready: ready.map(|condition| condition.status == "True"),
        ready_since: ready.and_then(|condition| condition.last_transition_time),
        newest_observation: conditions
            .iter()
            .flat_map(|condition| {
                [
                    condition.last_transition_time,
                    condition.last_heartbeat_time,
                ]
            })
            .flatten()
            .max(),
        labels: object.metadata.labels.unwrap_or_default(),
        kubelet_version: info.kubelet_version.filter(|version| !version.is_empty()),
        kubelet_endpoint,
        name: object.metadata.name,
        created: object.metadata.creation_timestamp,
        unschedulable: object.spec.unschedulable == Some(true),
        taints: object
            .spec
            .taints
            .into_iter()
            .map(|taint| Taint {
                key: taint.key,
                value: taint.value,
                effect: taint.effect,
            })
            .collect(),
        allocatable: amounts(object.status.allocatable.as_ref()),
    }))
}
