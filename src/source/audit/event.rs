//! One audit event: what was asked of which Pod, by whom, and what came of it.
//!
//! Observed on 1.35.4 to 1.37.2: a patch without the key keeps `nominatedNodeName`, one with null or an empty string clears it
//! (strategic merge and merge patch alike). The scheduler's own patches name no version. A binding's answer is a Status.
//! It must not know how an event was wrapped.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::fact::Content;
use crate::model::pod::{Pod, PodName, ResourceVersion, Uid};
use crate::model::write::{Action, After, Asked, Write};
use crate::source::decode;

/// Verbs that change something.
const VERBS: &[&str] = &[
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "apply",
];

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditEvent<'a> {
    #[serde(rename = "auditID", borrow, default)]
    pub(super) audit_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) stage: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) verb: Cow<'a, str>,
    #[serde(rename = "requestURI", borrow, default)]
    pub(super) request_uri: Cow<'a, str>,
    #[serde(default)]
    pub(super) user: User,
    #[serde(default)]
    pub(super) impersonated_user: Option<User>,
    #[serde(borrow, default)]
    pub(super) user_agent: Cow<'a, str>,
    #[serde(default)]
    pub(super) object_ref: Option<ObjectRef>,
    #[serde(default)]
    pub(super) response_status: Option<ResponseStatus>,
    #[serde(borrow, default)]
    pub(super) request_object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) response_object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) request_received_timestamp: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) stage_timestamp: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ObjectRef {
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) subresource: String,
    #[serde(rename = "apiGroup")]
    pub(super) api_group: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseStatus {
    pub(super) code: Option<u16>,
    pub(super) message: Option<String>,
    pub(super) reason: Option<String>,
}

/// A Pod, a Binding, a Status, `DeleteOptions` or an Eviction, as far as a write needs it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Body {
    kind: String,
    metadata: BodyMetadata,
    spec: Option<BodySpec>,
    status: Option<BodyStatus>,
    target: Option<Target>,
    dry_run: Option<Vec<Value>>,
    delete_options: Option<DeleteOptions>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeleteOptions {
    dry_run: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BodyMetadata {
    name: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BodySpec {
    node_name: Option<String>,
}

/// A status that is an object; that of a Status is a word.
#[derive(Deserialize)]
#[serde(untagged)]
enum BodyStatus {
    Pod(PodStatus),
    Word(serde::de::IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodStatus {
    nominated_node_name: Key,
    conditions: Option<Vec<BodyCondition>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BodyCondition {
    #[serde(rename = "type")]
    kind: String,
    status: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Target {
    name: String,
}

/// One step of a JSON patch (RFC 6902).
#[derive(Deserialize)]
struct Step<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
    #[serde(borrow)]
    path: Cow<'a, str>,
    /// Null where it is absent, which the server refuses.
    #[serde(default)]
    value: Value,
}

/// The answer to a deletecollection.
#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

/// A key of a patch: absent, null or empty, or a text are three different things.
#[derive(Debug, Default, PartialEq, Eq)]
enum Key {
    #[default]
    Absent,
    Empty,
    Text(String),
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text
            .filter(|text| !text.is_empty())
            .map_or(Self::Empty, Self::Text))
    }
}

impl Body {
    /// An array is no body: a derived decoder would take its items for fields.
    fn read(raw: Option<&RawValue>) -> Option<Self> {
        let text = raw?.get();
        text.starts_with('{')
            .then(|| serde_json::from_str(text).ok())
            .flatten()
    }

    fn pod_status(&self) -> Option<&PodStatus> {
        match &self.status {
            Some(BodyStatus::Pod(status)) => Some(status),
            _ => None,
        }
    }

    fn is_dry(&self) -> bool {
        let nested = self.delete_options.as_ref();
        let nested = nested.and_then(|options| options.dry_run.as_ref());
        self.dry_run
            .as_ref()
            .or(nested)
            .is_some_and(|all| !all.is_empty())
    }
}

fn filled(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

impl AuditEvent<'_> {
    /// Whether anything in it is an audit event's.
    pub(super) fn is_event(&self) -> bool {
        !self.stage.is_empty() || self.object_ref.is_some()
    }

    /// Whether it is the end of a request that would change a Pod. A request that panicked, or has only come in, changed nothing
    /// that is known.
    pub(super) fn is_write_to_pods(&self) -> bool {
        let Some(object) = &self.object_ref else {
            return false;
        };
        // What goes on inside a Pod changes nothing of it.
        let inside = matches!(
            object.subresource.as_str(),
            "exec" | "attach" | "portforward" | "proxy" | "log"
        );
        object.resource == "pods"
            && object.api_group.is_empty()
            && self.stage == "ResponseComplete"
            && VERBS.contains(&self.verb.as_ref())
            && !inside
            && !self.is_dry()
    }

    /// Whether the server was only asked what it would do: a parameter of the address, or a field of `DeleteOptions`.
    fn is_dry(&self) -> bool {
        self.request_uri.contains("dryRun=")
            || Body::read(self.request_object).is_some_and(|body| body.is_dry())
    }

    pub(super) fn was_carried_out(&self) -> bool {
        let code = self.response_status.as_ref().and_then(|status| status.code);
        code.is_some_and(|code| (200..300).contains(&code))
    }

    /// The body of the request.
    pub(super) fn asked_for(&self) -> Option<Value> {
        serde_json::from_str(self.request_object?.get()).ok()
    }

    /// The writes that the request made or tried: one, or one for each Pod that a deletecollection deleted.
    pub(super) fn writes(&self) -> Vec<Write> {
        let collected = self
            .response_object
            .filter(|_| self.verb == "deletecollection");
        let Some(raw) = collected else {
            return self.write(None).into_iter().collect();
        };
        let listed: Option<Listed<'_>> = serde_json::from_str(raw.get()).ok();
        let items = listed.into_iter().flat_map(|listed| listed.items);
        items.filter_map(|item| self.write(Some(item))).collect()
    }

    fn write(&self, deleted: Option<&RawValue>) -> Option<Write> {
        let object = self.object_ref.as_ref()?;
        let request = Body::read(self.request_object);
        let answer = Body::read(deleted.or(self.response_object));
        let pod = answer
            .as_ref()
            .filter(|answer| answer.kind == "Pod" || deleted.is_some());
        let names = [
            pod.and_then(|pod| pod.metadata.name.as_ref()),
            Some(&object.name),
            request
                .as_ref()
                .and_then(|body| body.metadata.name.as_ref()),
        ];
        let name = names.into_iter().find_map(filled)?;
        let uids = [
            pod.and_then(|pod| pod.metadata.uid.as_ref()),
            Some(&object.uid),
            request.as_ref().and_then(|body| body.metadata.uid.as_ref()),
        ];
        let uid = uids.into_iter().find_map(filled);
        let status = self.response_status.as_ref();
        let action = self.action(object, request.as_ref());
        let asked = match action {
            Action::Change => self.asked(object, request.as_ref()),
            // A binding empties the field by itself; what a creator writes of it is dropped.
            _ => Asked::Keep,
        };
        let asked_status = request.as_ref().and_then(Body::pod_status);
        let reports = asked_status
            .and_then(|status| status.conditions.as_ref())
            .is_some_and(|conditions| {
                conditions.iter().any(|condition| {
                    condition.kind == "PodScheduled" && condition.status.as_deref() == Some("False")
                })
            });
        let at = [&self.stage_timestamp, &self.request_received_timestamp]
            .into_iter()
            .find_map(|text| text.parse().ok());
        let (user, impersonator) = match &self.impersonated_user {
            Some(user) => (user.username.clone(), Some(self.user.username.clone())),
            None => (self.user.username.clone(), None),
        };
        Some(Write {
            // Lines without an ID are still told apart, and so are the Pods of one request.
            id: if self.audit_id.is_empty() {
                format!("{}/{name}@{}", object.namespace, self.stage_timestamp)
            } else if deleted.is_some() {
                format!("{}/{name}", self.audit_id)
            } else {
                self.audit_id.to_string()
            },
            pod: PodName {
                namespace: object.namespace.clone(),
                name: name.clone(),
            },
            uid: uid.map(|uid| Uid(uid.as_str().into())),
            at,
            user,
            impersonator,
            agent: self.user_agent.to_string(),
            code: status.and_then(|status| status.code),
            refusal: status
                .filter(|status| status.code.is_some_and(|code| code >= 400))
                .map(|status| {
                    let words = status.message.clone().or(status.reason.clone());
                    words.unwrap_or_default()
                }),
            version: pod
                .and_then(|pod| pod.metadata.resource_version.as_ref()?.parse().ok())
                .map(ResourceVersion),
            action,
            reports,
            asked,
            after: match pod.map(Body::pod_status) {
                Some(Some(PodStatus {
                    nominated_node_name: Key::Text(node),
                    ..
                })) => After::Node(node.clone()),
                Some(Some(_)) => After::Empty,
                _ => After::Unlogged,
            },
        })
    }

    fn action(&self, object: &ObjectRef, request: Option<&Body>) -> Action {
        match (self.verb.as_ref(), object.subresource.as_str()) {
            ("create", "binding") => Action::Bind {
                node: request
                    .and_then(|body| body.target.as_ref())
                    .map(|target| target.name.clone()),
            },
            ("create", "eviction") | ("delete" | "deletecollection", _) => Action::Delete,
            ("create", "") => Action::Create {
                node: request
                    .and_then(|body| body.spec.as_ref()?.node_name.clone())
                    .filter(|node| !node.is_empty()),
            },
            _ => Action::Change,
        }
    }

    /// What a change asks of the field. Only a status can nominate.
    fn asked(&self, object: &ObjectRef, request: Option<&Body>) -> Asked {
        if object.subresource != "status" {
            return Asked::Keep;
        }
        let Some(body) = request else {
            let steps = self
                .request_object
                .and_then(|raw| serde_json::from_str::<Vec<Step<'_>>>(raw.get()).ok());
            return steps.map_or(Asked::Unknown, |steps| asked_by_steps(&steps));
        };
        let key = body.pod_status().map(|status| &status.nominated_node_name);
        match key.unwrap_or(&Key::Absent) {
            Key::Text(node) => Asked::Set(node.clone()),
            Key::Empty => Asked::Clear,
            // A whole object without the key has it empty; a patch without it leaves it.
            Key::Absent if self.verb == "update" => Asked::Clear,
            // A patch that names its kind may be a server-side apply, which takes back what its manager no longer names.
            Key::Absent if !body.kind.is_empty() => Asked::Unknown,
            Key::Absent => Asked::Keep,
        }
    }

    /// The Pod as the answer shows it.
    pub(super) fn pod_after(&self, write: &Write) -> Option<Box<Pod>> {
        let raw = self.response_object?;
        write.version?;
        let decoder = decode::find("v1", "Pod")?;
        let of_list: Option<Listed<'_>> = (self.verb == "deletecollection")
            .then(|| serde_json::from_str(raw.get()).ok())
            .flatten();
        let raws = match &of_list {
            Some(listed) => listed.items.as_slice(),
            None => std::slice::from_ref(&raw),
        };
        raws.iter().find_map(|raw| match decoder.decode(raw.get()) {
            Ok(Content::Pod(pod)) if pod.name == write.pod => Some(pod),
            _ => None,
        })
    }
}

/// What a JSON patch asks of the field: its last word counts.
fn asked_by_steps(steps: &[Step<'_>]) -> Asked {
    let mut asked = Asked::Keep;
    for step in steps {
        let read = |value: &Value| Key::deserialize(value).ok();
        let key = match (step.op.as_ref(), step.path.as_ref()) {
            ("test", _) => continue,
            ("remove", "/status/nominatedNodeName") => Some(Key::Empty),
            ("add" | "replace", "/status/nominatedNodeName") => read(&step.value),
            ("add" | "replace", "/status") => {
                let status = PodStatus::deserialize(&step.value).ok();
                status.map(|status| match status.nominated_node_name {
                    Key::Absent => Key::Empty,
                    key => key,
                })
            }
            (_, "/status/nominatedNodeName" | "/status" | "") => None,
            _ => continue,
        };
        asked = match key {
            Some(Key::Text(node)) => Asked::Set(node),
            Some(_) => Asked::Clear,
            None => Asked::Unknown,
        };
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: &str) -> Asked {
        let line = format!(
            r#"{{"stage":"ResponseComplete","verb":"patch","objectRef":{{"resource":"pods","namespace":"a","name":"p","subresource":"status"}},"responseStatus":{{"code":200}},"requestObject":{body}}}"#
        );
        let event: AuditEvent<'_> = serde_json::from_str(&line).expect("it is an event");
        assert!(event.is_write_to_pods());
        let mut writes = event.writes();
        assert_eq!(writes.len(), 1);
        writes.remove(0).asked
    }

    #[test]
    fn each_kind_of_patch_says_what_it_asks_of_the_field() {
        let set = Asked::Set("n1".to_owned());
        assert_eq!(asked(r#"{"status":{"nominatedNodeName":"n1"}}"#), set);
        assert_eq!(
            asked(r#"{"status":{"nominatedNodeName":null}}"#),
            Asked::Clear
        );
        assert_eq!(
            asked(r#"{"status":{"nominatedNodeName":""}}"#),
            Asked::Clear
        );
        assert_eq!(asked(r#"{"status":{"conditions":[]}}"#), Asked::Keep);
        let step = |op: &str, rest: &str| format!(r#"[{{"op":"{op}","path":"/status/{rest}}}]"#);
        assert_eq!(
            asked(&step("add", r#"nominatedNodeName","value":"n1""#)),
            set
        );
        assert_eq!(
            asked(&step("replace", r#"nominatedNodeName","value":null"#)),
            Asked::Clear
        );
        assert_eq!(
            asked(&step("remove", r#"nominatedNodeName""#)),
            Asked::Clear
        );
        assert_eq!(
            asked(&step(
                "copy",
                r#"nominatedNodeName","from":"/metadata/name""#
            )),
            Asked::Unknown
        );
        assert_eq!(
            asked(&step("replace", r#"phase","value":"Running""#)),
            Asked::Keep
        );
        assert_eq!(
            asked(r#"[{"op":"replace","path":"/status","value":{"phase":"Pending"}}]"#),
            Asked::Clear
        );
        // A server-side apply without the key takes back what its manager had.
        assert_eq!(
            asked(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"status":{}}"#),
            Asked::Unknown
        );
    }

    #[test]
    fn a_dry_run_is_no_write() {
        let line = r#"{"stage":"ResponseComplete","verb":"delete","objectRef":{"resource":"pods","namespace":"a","name":"p"},"responseStatus":{"code":200},"requestObject":{"kind":"DeleteOptions","dryRun":["All"]}}"#;
        let event: AuditEvent<'_> = serde_json::from_str(line).expect("it is an event");
        assert!(!event.is_write_to_pods());
    }
}
