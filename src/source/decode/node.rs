//! Decodes core/v1 Node.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Amount, amounts, list, object, time};
use crate::model::fact::Content;
use crate::model::node::{Declared, ListOwner, Node, Ready, Taint};

#[derive(Deserialize)]
struct NodeObject<'a> {
    #[serde(borrow)]
    metadata: NodeMetadata<'a>,
    #[serde(default, deserialize_with = "object")]
    spec: Spec,
    #[serde(default, deserialize_with = "object")]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeMetadata<'a> {
    #[serde(default)]
    name: String,
    #[serde(default, deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(borrow, default)]
    managed_fields: Option<Vec<ManagedFieldsEntry<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFieldsEntry<'a> {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    subresource: Option<String>,
    #[serde(default, deserialize_with = "time")]
    time: Option<Timestamp>,
    #[serde(borrow, default)]
    fields_v1: Option<&'a RawValue>,
}

/// Of managedFields whether the list of features is owned; the rest is passed over.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "f:status")]
    status: StatusFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusFields {
    #[serde(rename = "f:declaredFeatures")]
    declared: Option<IgnoredAny>,
    #[serde(rename = "f:conditions")]
    conditions: ConditionFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConditionFields {
    #[serde(rename = r#"k:{"type":"Ready"}"#)]
    ready: ReadyFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReadyFields {
    #[serde(rename = "f:lastHeartbeatTime")]
    heartbeat: Option<IgnoredAny>,
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
    #[serde(rename = "declaredFeatures")]
    declared: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Info {
    kubelet_version: Option<String>,
    container_runtime_version: Option<String>,
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

fn ready(status: &str) -> Ready {
    match status {
        "True" => Ready::True,
        "False" => Ready::False,
        _ => Ready::Unknown,
    }
}

fn owners(entries: Vec<ManagedFieldsEntry<'_>>) -> Vec<ListOwner> {
    // Most entries are of other fields, and need not be read twice.
    let status = |entry: &ManagedFieldsEntry<'_>| {
        let text = entry.fields_v1.map(RawValue::get);
        let text = text.filter(|text| text.contains("f:declaredFeatures"))?;
        let fields: Fields = serde_json::from_str(text).ok()?;
        fields.status.declared.is_some().then_some(fields.status)
    };
    entries
        .into_iter()
        .filter_map(|entry| {
            let status = status(&entry)?;
            Some(ListOwner {
                manager: entry.manager,
                subresource: entry.subresource,
                time: entry.time,
                is_of_kubelet: status.conditions.ready.heartbeat.is_some(),
            })
        })
        .collect()
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let object: NodeObject<'_> = serde_json::from_str(json)?;
    let conditions = object.status.conditions;
    let of_ready = conditions
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
    Ok(Content::Node(Box::new(Node {
        ready: of_ready.map(|condition| ready(&condition.status)),
        ready_since: of_ready.and_then(|condition| condition.last_transition_time),
        heartbeat: of_ready.and_then(|condition| condition.last_heartbeat_time),
        declared: Declared {
            features: object.status.declared,
            owners: object.metadata.managed_fields.map(owners),
        },
        container_runtime: info
            .container_runtime_version
            .filter(|version| !version.is_empty()),
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
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(json: &str) -> Node {
        match decode(json) {
            Ok(Content::Node(node)) => *node,
            other => panic!("no Node: {other:?}"),
        }
    }

    #[test]
    fn a_list_is_kept_as_it_stands() {
        for list in [
            vec![],
            vec!["B", "A", "A"],
            vec!["lowerCase", "Bogus/deep", ""],
        ] {
            let json = serde_json::json!({"metadata": {"name": "n"}, "status": {"declaredFeatures": list}});
            let features = node(&json.to_string()).declared.features;
            assert_eq!(features.expect("there is a list"), list);
        }
        let many: Vec<String> = (0..10_000).map(|number| format!("F{number}")).collect();
        let json = serde_json::json!({"metadata": {}, "status": {"declaredFeatures": many}});
        assert_eq!(node(&json.to_string()).declared.features, Some(many));
    }

    #[test]
    fn a_node_without_status_declares_nothing() {
        for json in [
            r#"{"metadata": {"name": "n"}}"#,
            r#"{"metadata": {"name": "n", "managedFields": null}, "status": {"declaredFeatures": null}}"#,
        ] {
            let node = node(json);
            assert_eq!(node.declared, Declared::default());
            assert_eq!((node.ready, node.heartbeat), (None, None));
        }
    }

    #[test]
    fn the_owner_of_the_list_is_one_of_the_entries() {
        let json = r#"{"metadata": {"managedFields": [
            {"manager": "kubelet", "subresource": "status", "time": "2026-11-30T08:00:00Z", "fieldsV1": {"f:status": {"f:conditions": {}}}},
            {"manager": "kubectl-patch", "subresource": "status", "time": "2026-11-30T08:01:00Z", "fieldsV1": {"f:status": {"f:declaredFeatures": {}}}},
            {"manager": "odd", "fieldsV1": {"f:status": "f:declaredFeatures"}}, {}]},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastHeartbeatTime": "2026-11-30T08:00:30Z"}]}}"#;
        let node = node(json);
        let owner = ListOwner {
            manager: "kubectl-patch".to_owned(),
            subresource: Some("status".to_owned()),
            time: "2026-11-30T08:01:00Z".parse().ok(),
            is_of_kubelet: false,
        };
        assert_eq!(node.declared.owners, Some(vec![owner]));
        assert_eq!(node.ready, Some(Ready::Unknown));
        assert_eq!(node.heartbeat, "2026-11-30T08:00:30Z".parse().ok());
        assert!(node.is_unready());
    }
}
