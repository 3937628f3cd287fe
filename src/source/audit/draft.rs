//! Pods whose objects an audit log does not hold, put together from what was asked for.
//!
//! A draft has what its creator wrote and what scheduler and kubelet reported; what admission and defaults made of it is not known.
//! It must not be taken for an object: the model keeps the two apart.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::event::AuditEvent;
use crate::model::fact::Content;
use crate::model::pod::{Pod, PodName};
use crate::model::write::{Action, Write};
use crate::source::decode;

/// Drafts that are kept at a time; a log of a level that needs them has few bytes a Pod.
const MAX_DRAFTS: usize = 10_000;

/// Fields of a status that a kubelet writes whole, and that tell of a placement.
const REPORTED: &[&str] = &["phase", "reason", "message", "startTime"];

#[derive(Debug, Clone, Default)]
pub(super) struct Drafts {
    open: BTreeMap<PodName, Value>,
    /// Earlier incarnations.
    closed: Vec<Value>,
}

impl Drafts {
    /// Takes in an accepted write.
    pub(super) fn note(&mut self, write: &Write, event: &AuditEvent<'_>) {
        if self.open.len() + self.closed.len() >= MAX_DRAFTS && !self.open.contains_key(&write.pod)
        {
            return;
        }
        let asked = event.asked_for();
        let bare = || json!({"metadata": {}, "status": {}});
        if matches!(write.action, Action::Create { .. }) {
            let mut draft = asked.filter(Value::is_object).unwrap_or_else(bare);
            // What a creator writes of a status is dropped (observed, 1.37.2).
            set(&mut draft, "status", json!({}));
            let created = write.at.map(|at| format!("{at:.0}"));
            set(metadata(&mut draft), "creationTimestamp", created.into());
            identify(&mut draft, write);
            self.closed
                .extend(self.open.insert(write.pod.clone(), draft));
            return;
        }
        let draft = self.open.entry(write.pod.clone()).or_insert_with(bare);
        identify(draft, write);
        let status = asked.as_ref().and_then(|asked| asked.get("status"));
        if let Some(status) = status.and_then(Value::as_object) {
            for field in REPORTED {
                if let Some(value) = status.get(*field) {
                    set(member(draft, "status"), field, value.clone());
                }
            }
            let conditions = status.get("conditions").and_then(Value::as_array);
            for condition in conditions.into_iter().flatten() {
                report(member(draft, "status"), condition);
            }
        }
    }

    /// The object was logged: its draft is not needed.
    pub(super) fn forget(&mut self, pod: &Pod) {
        let of_another = |draft: &Value| {
            let uid = draft.pointer("/metadata/uid").and_then(Value::as_str);
            uid.is_some_and(|uid| *uid != *pod.uid.0)
        };
        if self
            .open
            .get(&pod.name)
            .is_some_and(|draft| !of_another(draft))
        {
            self.open.remove(&pod.name);
        }
    }

    pub(super) fn into_pods(self) -> Vec<Pod> {
        let Some(decoder) = decode::find("v1", "Pod") else {
            return Vec::new();
        };
        let drafts = self.closed.into_iter().chain(self.open.into_values());
        drafts
            .filter_map(|draft| match decoder.decode(&draft.to_string()) {
                Ok(Content::Pod(pod)) => Some(*pod),
                _ => None,
            })
            .collect()
    }
}

/// Keeps the last word of a scheduler, which writes the condition whole; a kubelet patches parts of it.
fn report(status: &mut Value, condition: &Value) {
    let is_whole = condition["type"] == "PodScheduled" && condition["status"] == "False";
    if is_whole && condition["reason"].is_string() {
        set(status, "conditions", json!([condition]));
    }
}

fn identify(draft: &mut Value, write: &Write) {
    let metadata = metadata(draft);
    set(metadata, "name", write.pod.name.clone().into());
    set(metadata, "namespace", write.pod.namespace.clone().into());
    if let Some(uid) = &write.uid {
        set(metadata, "uid", uid.0.to_string().into());
    }
}

fn metadata(draft: &mut Value) -> &mut Value {
    member(draft, "metadata")
}

/// A member that is an object, whatever it was.
fn member<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let member = &mut value[key];
    if !member.is_object() {
        *member = Value::Object(Map::new());
    }
    member
}

fn set(value: &mut Value, key: &str, to: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), to);
    }
}
