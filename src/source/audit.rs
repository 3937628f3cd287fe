//! The API server's audit log: JSON lines (audit.k8s.io/v1), of which only writes to Pods are parsed.
//!
//! One pass; a line that cannot matter is passed over before it is parsed, and none is kept. It must not judge.
//!
//! Observed on 1.35.4 to 1.37.2: a patch without the key keeps `nominatedNodeName`, one with null or an empty string clears it
//! (strategic merge and merge patch alike). The scheduler's own patches name no version. A binding's answer is a Status.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::decode;
use crate::model::fact::Content;
use crate::model::pod::{PodName, ResourceVersion, Uid};
use crate::model::write::{Action, After, Asked, Write};

/// A longer line is no audit event that an API server wrote: its objects are limited to a few megabytes.
const MAX_LINE: usize = 64 << 20;

/// Verbs that change something.
const VERBS: &[&str] = &[
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "apply",
];

/// What a log told.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) contents: Vec<Content>,
    /// Lines read, whatever they were about.
    pub(crate) lines: usize,
    /// Lines that are no audit event.
    pub(crate) broken: usize,
    /// The first of them, and why it is none.
    pub(crate) first_fault: Option<String>,
    /// Writes to Pods of which the log's level does not tell what they asked for.
    pub(crate) bodiless: usize,
    /// Time of the first and last request that was parsed.
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    /// Pods as their creators asked for them, where the answer was not logged; the binding has their UID.
    drafts: BTreeMap<PodName, Value>,
}

/// Drafts that are kept at a time.
const MAX_DRAFTS: usize = 10_000;

/// Of which Pods lines are read; of a large log only few matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Focus {
    /// Null is all of them.
    pub(crate) names: Option<Vec<String>>,
}

impl Focus {
    /// Whether a line may be about one of these Pods, or about a victim of theirs.
    fn may_matter(&self, line: &[u8]) -> bool {
        let holds = |word: &[u8]| memchr::memmem::find(line, word).is_some();
        match &self.names {
            None => true,
            Some(names) => {
                names.iter().any(|name| holds(name.as_bytes())) || holds(b"PreemptionByScheduler")
            }
        }
    }
}

/// Whether bytes begin as an audit log does.
pub(crate) fn recognises(start: &[u8]) -> bool {
    let line = start
        .split(|byte| *byte == b'\n')
        .find(|line| !line.is_empty());
    let Some(line) = line else { return false };
    let holds = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    line.starts_with(b"{")
        && (holds(b"\"audit.k8s.io/") || (holds(b"\"stage\"") && holds(b"\"objectRef\"")))
}

/// Reads a log to its end. What stands before a fault is used, and so is what stands after it.
pub(crate) fn read(reader: &mut dyn BufRead, focus: &Focus) -> Log {
    let mut log = Log::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        match next_line(reader, &mut line) {
            Ok(None) => return log,
            Ok(Some(Length::Whole)) => {
                log.lines += 1;
                log.line(&line, focus);
            }
            Ok(Some(Length::TooLong)) => {
                log.lines += 1;
                log.fault(format!("line {} is longer than 64 MiB", log.lines));
            }
            Err(error) => {
                log.fault(format!("after line {}: {error}", log.lines));
                return log;
            }
        }
    }
}

impl Log {
    /// A Pod whose objects were not logged, by what was asked for at its creation and the UID that its binding names.
    fn drafted(&mut self, event: &AuditEvent<'_>, write: &Write) -> Option<Content> {
        if !write.is_accepted() {
            return None;
        }
        match write.action {
            Action::Create { .. } if self.drafts.len() < MAX_DRAFTS => {
                let mut draft: Value = serde_json::from_str(event.request_object?.get()).ok()?;
                let created = write.at.map(|at| format!("{at:.0}"));
                let metadata = draft.get_mut("metadata")?.as_object_mut()?;
                metadata.insert("name".to_owned(), write.pod.name.clone().into());
                metadata.insert("namespace".to_owned(), write.pod.namespace.clone().into());
                metadata.insert("creationTimestamp".to_owned(), created.into());
                self.drafts.insert(write.pod.clone(), draft);
                None
            }
            Action::Bind { .. } => {
                let uid = write.uid.as_ref()?;
                let mut draft = self.drafts.remove(&write.pod).unwrap_or_else(|| {
                    json!({"metadata": {"name": write.pod.name, "namespace": write.pod.namespace}})
                });
                let metadata = draft.get_mut("metadata")?.as_object_mut()?;
                metadata.insert("uid".to_owned(), uid.0.clone().into());
                let decoder = decode::find("v1", "Pod")?;
                (decoder.decode)(&draft.to_string()).ok()
            }
            _ => None,
        }
    }
}

enum Length {
    Whole,
    TooLong,
}

/// Reads a line without its end. Of one that is too long nothing is kept.
fn next_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<Length>> {
    let mut any = false;
    let mut too_long = false;
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            break;
        }
        any = true;
        let end = memchr::memchr(b'\n', chunk);
        let (part, _) = chunk.split_at(end.unwrap_or(chunk.len()));
        if line.len() + part.len() > MAX_LINE {
            too_long = true;
            line.clear();
        }
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(any.then_some(if too_long {
        Length::TooLong
    } else {
        Length::Whole
    }))
}

impl Log {
    fn fault(&mut self, fault: String) {
        self.broken += 1;
        self.first_fault.get_or_insert(fault);
    }

    fn line(&mut self, line: &[u8], focus: &Focus) {
        let line = line.trim_ascii();
        // The cheapest question first: most lines of a log are not about Pods.
        if line.is_empty()
            || memchr::memmem::find(line, b"\"pods\"").is_none()
            || !focus.may_matter(line)
        {
            return;
        }
        let event: AuditEvent<'_> = match serde_json::from_slice(line) {
            Ok(event) => event,
            Err(error) => return self.fault(format!("line {}: {error}", self.lines)),
        };
        let Some(write) = event.write() else { return };
        self.since = self.since.min(write.at).or(write.at);
        self.until = self.until.max(write.at);
        self.bodiless += usize::from(
            write.asked == Asked::Unknown && write.after == After::Unlogged && write.is_accepted(),
        );
        let pod = event
            .pod_after(&write)
            .or_else(|| self.drafted(&event, &write));
        self.contents.extend(pod);
        self.contents.push(Content::Write(Box::new(write)));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditEvent<'a> {
    #[serde(rename = "auditID", borrow, default)]
    audit_id: Cow<'a, str>,
    #[serde(borrow, default)]
    stage: Cow<'a, str>,
    #[serde(borrow, default)]
    verb: Cow<'a, str>,
    #[serde(rename = "requestURI", borrow, default)]
    request_uri: Cow<'a, str>,
    #[serde(default)]
    user: User,
    #[serde(default)]
    impersonated_user: Option<User>,
    #[serde(borrow, default)]
    user_agent: Cow<'a, str>,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: Option<ResponseStatus>,
    #[serde(borrow, default)]
    request_object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_received_timestamp: Cow<'a, str>,
    #[serde(borrow, default)]
    stage_timestamp: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    namespace: String,
    name: String,
    uid: String,
    subresource: String,
    #[serde(rename = "apiGroup")]
    api_group: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: Option<u16>,
    message: Option<String>,
    reason: Option<String>,
}

/// A Pod, a Binding or a Status, as far as a write needs it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    kind: String,
    metadata: BodyMetadata,
    spec: Option<BodySpec>,
    status: Option<BodyStatus>,
    target: Option<Target>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BodyMetadata {
    name: String,
    uid: String,
    resource_version: String,
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
    status: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Target {
    name: String,
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
    fn read(raw: Option<&RawValue>) -> Option<Self> {
        serde_json::from_str(raw?.get()).ok()
    }

    fn pod_status(&self) -> Option<&PodStatus> {
        match &self.status {
            Some(BodyStatus::Pod(status)) => Some(status),
            _ => None,
        }
    }
}

impl AuditEvent<'_> {
    /// The write, if the event is a finished one of a Pod that was carried out or refused.
    fn write(&self) -> Option<Write> {
        let object = &self.object_ref;
        let of_pods = object.resource == "pods" && object.api_group.is_empty();
        let finished = self.stage == "ResponseComplete";
        let dry = self.request_uri.contains("dryRun=");
        let is_write = VERBS.contains(&self.verb.as_ref());
        // What goes on inside a Pod changes nothing of it.
        let inside = matches!(
            object.subresource.as_str(),
            "exec" | "attach" | "portforward" | "proxy" | "log"
        );
        if !of_pods || !finished || dry || !is_write || inside {
            return None;
        }
        let request = Body::read(self.request_object);
        let answer = Body::read(self.response_object);
        let pod = answer.as_ref().filter(|answer| answer.kind == "Pod");
        let name = [
            Some(&object.name),
            pod.map(|pod| &pod.metadata.name),
            request.as_ref().map(|body| &body.metadata.name),
        ];
        let name = name.into_iter().flatten().find(|name| !name.is_empty())?;
        let uids = [
            pod.map(|pod| &pod.metadata.uid),
            Some(&object.uid),
            request.as_ref().map(|body| &body.metadata.uid),
        ];
        let uid = uids.into_iter().flatten().find(|uid| !uid.is_empty());
        let status = self.response_status.as_ref();
        let action = match (self.verb.as_ref(), object.subresource.as_str()) {
            ("create", "binding") => Action::Bind {
                node: request
                    .as_ref()
                    .and_then(|body| body.target.as_ref())
                    .map(|target| target.name.clone()),
            },
            ("create", "eviction") | ("delete" | "deletecollection", _) => Action::Delete,
            ("create", "") => Action::Create {
                node: request
                    .as_ref()
                    .and_then(|body| body.spec.as_ref()?.node_name.clone())
                    .filter(|node| !node.is_empty()),
            },
            _ => Action::Change,
        };
        let asked_status = request.as_ref().and_then(Body::pod_status);
        let asked = match (&action, &request) {
            // Only a status can nominate, and a binding empties the field by itself.
            (Action::Change, _) if !matches!(object.subresource.as_str(), "status" | "") => {
                Asked::Keep
            }
            (Action::Change, _) if object.subresource.is_empty() => Asked::Keep,
            (Action::Change, None) => Asked::Unknown,
            (Action::Change, Some(_)) => {
                match asked_status.map_or(&Key::Absent, |status| &status.nominated_node_name) {
                    Key::Text(node) => Asked::Set(node.clone()),
                    Key::Empty => Asked::Clear,
                    // A whole object without the key has it empty; a patch without it leaves it.
                    Key::Absent if self.verb == "update" => Asked::Clear,
                    Key::Absent => Asked::Keep,
                }
            }
            _ => Asked::Keep,
        };
        let reports = asked_status
            .and_then(|status| status.conditions.as_ref())
            .is_some_and(|conditions| {
                conditions.iter().any(|condition| {
                    condition.kind == "PodScheduled" && condition.status == "False"
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
            // Lines without an ID are still told apart.
            id: if self.audit_id.is_empty() {
                format!("{}/{name}@{}", object.namespace, self.stage_timestamp)
            } else {
                self.audit_id.to_string()
            },
            pod: PodName {
                namespace: object.namespace.clone(),
                name: name.clone(),
            },
            uid: uid.map(|uid| Uid(uid.clone())),
            at,
            user,
            impersonator,
            agent: self.user_agent.to_string(),
            code: status.and_then(|status| status.code),
            refusal: status
                .filter(|status| status.code.is_some_and(|code| code >= 400))
                .map(|status| {
                    status
                        .message
                        .clone()
                        .or(status.reason.clone())
                        .unwrap_or_default()
                }),
            version: pod
                .and_then(|pod| pod.metadata.resource_version.parse().ok())
                .map(ResourceVersion),
            action,
            reports,
            asked,
            after: match pod.and_then(Body::pod_status) {
                Some(PodStatus {
                    nominated_node_name: Key::Text(node),
                    ..
                }) => After::Node(node.clone()),
                Some(_) => After::Empty,
                None => After::Unlogged,
            },
        })
    }

    /// The Pod as the answer shows it.
    fn pod_after(&self, write: &Write) -> Option<Content> {
        let raw = self.response_object?;
        write.version?;
        let decoder = decode::find("v1", "Pod")?;
        (decoder.decode)(raw.get()).ok()
    }
}
