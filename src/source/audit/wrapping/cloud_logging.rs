//! GKE: Cloud Audit Logs, where the event is taken apart into `protoPayload`.
//!
//! Shape: cloud.google.com, "GKE audit logging" and `google.cloud.audit.AuditLog`; `gcloud logging read --format=json` prints an
//! array, a sink writes a line each. `operation.id` is the audit ID, `status.code` a gRPC code (0 is not written). The address of the
//! request is not kept, so a dry run of a create or a patch cannot be told from a real one.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::event::{AuditEvent, ObjectRef, ResponseStatus, User};
use super::Found;

const METHOD: &str = "io.k8s.core.v1.pods.";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogEntry<'a> {
    #[serde(borrow)]
    proto_payload: Option<Payload<'a>>,
    insert_id: String,
    operation: Operation,
    timestamp: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Operation {
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Payload<'a> {
    method_name: String,
    resource_name: String,
    authentication_info: AuthenticationInfo,
    request_metadata: RequestMetadata,
    status: Status,
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AuthenticationInfo {
    principal_email: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequestMetadata {
    caller_supplied_user_agent: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    message: Option<String>,
}

pub(super) fn open(entry: &[u8], found: Found<'_>) -> serde_json::Result<bool> {
    // The other clouds' entries have some of these keys with values of other types.
    if memchr::memmem::find(entry, b"\"protoPayload\"").is_none() {
        return Ok(false);
    }
    let entry: LogEntry<'_> = serde_json::from_slice(entry)?;
    let Some(payload) = entry.proto_payload else {
        return Ok(false);
    };
    // Those of other services and kinds are no events of Pods.
    let Some(method) = payload.method_name.strip_prefix(METHOD) else {
        return Ok(true);
    };
    let (subresource, verb) = method.rsplit_once('.').unwrap_or(("", method));
    let place = payload.resource_name.rsplit_once("namespaces/");
    let mut parts = place.map_or("", |(_, place)| place).split('/');
    let namespace = parts.next().unwrap_or_default();
    let name = parts.nth(1).unwrap_or_default();
    let id = if entry.operation.id.is_empty() {
        entry.insert_id
    } else {
        entry.operation.id
    };
    let refused = payload.status.code != 0;
    let answered: Option<ResponseStatus> = payload
        .response
        .filter(|_| refused)
        .and_then(|response| serde_json::from_str(response.get()).ok());
    let code = match answered.as_ref().and_then(|answered| answered.code) {
        Some(code) => code,
        None => http_code(payload.status.code),
    };
    let words = answered.and_then(|answered| answered.message);
    found(&AuditEvent {
        audit_id: Cow::Owned(id),
        stage: Cow::Borrowed("ResponseComplete"),
        verb: Cow::Borrowed(verb),
        user: User {
            username: payload.authentication_info.principal_email,
        },
        user_agent: Cow::Owned(payload.request_metadata.caller_supplied_user_agent),
        object_ref: Some(ObjectRef {
            resource: "pods".to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            ..ObjectRef::default()
        }),
        response_status: Some(ResponseStatus {
            code: Some(code),
            message: payload.status.message.or(words),
            reason: None,
        }),
        request_object: payload.request,
        response_object: payload.response,
        stage_timestamp: Cow::Owned(entry.timestamp),
        ..AuditEvent::default()
    });
    Ok(true)
}

/// HTTP's word for a gRPC code (google.rpc.Code), where the answer does not tell.
fn http_code(code: u16) -> u16 {
    match code {
        0 => 200,
        3 | 9 | 11 => 400,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        16 => 401,
        _ => 500,
    }
}
