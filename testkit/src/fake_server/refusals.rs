//! Answers of the API server when it refuses, as `metav1.Status` objects in its own words and key order.
//!
//! The words are those of Kubernetes 1.35 to 1.37: apimachinery `pkg/api/errors/errors.go`, apiserver
//! `pkg/endpoints/handlers/responsewriters`, and real answers. It must not decide when to refuse.

use serde_json::Value;

use super::{Answer, Reply};

/// A resource as it stands in a path: group (empty for core), and plural name with any subresource.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    pub group: &'a str,
    /// `pods`, `pods/status`, …
    pub name: &'a str,
}

impl<'a> Resource<'a> {
    /// Of the core group.
    pub fn core(name: &'a str) -> Self {
        Self { group: "", name }
    }

    /// Without the subresource.
    fn plural(self) -> &'a str {
        self.name
            .split_once('/')
            .map_or(self.name, |(plural, _)| plural)
    }

    /// `deployments.apps`; `pods` for core.
    fn qualified(self) -> String {
        match self.group {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// Keys of `details`, without braces.
    fn details(self, name: &str) -> String {
        let mut details = Vec::new();
        if !name.is_empty() {
            details.push(format!("\"name\":{}", quoted(name)));
        }
        if !self.group.is_empty() {
            details.push(format!("\"group\":{}", quoted(self.group)));
        }
        details.push(format!("\"kind\":{}", quoted(self.plural())));
        details.join(",")
    }
}

/// Any failure; `details` is the JSON inside its braces, left out if none.
pub fn status(code: u16, reason: &str, message: &str, details: Option<&str>) -> Answer {
    Reply::new(
        code,
        "application/json",
        status_body(code, reason, message, details),
    )
    .into()
}

/// The body of [`status`], in the key order of the server and with its line end.
pub fn status_body(code: u16, reason: &str, message: &str, details: Option<&str>) -> String {
    let details = details
        .map(|inner| format!("\"details\":{{{inner}}},"))
        .unwrap_or_default();
    format!(
        "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{{}},\"status\":\"Failure\",\"message\":{},\
         \"reason\":{},{details}\"code\":{code}}}\n",
        quoted(message),
        quoted(reason),
    )
}

/// 401: no credentials, or wrong ones.
pub fn unauthorized() -> Answer {
    status(401, "Unauthorized", "Unauthorized", None)
}

/// 403 from RBAC. No `name` for a list, no `namespace` for the cluster scope.
pub fn forbidden(
    user: &str,
    verb: &str,
    resource: Resource<'_>,
    namespace: Option<&str>,
    name: Option<&str>,
) -> Answer {
    let object = name
        .map(|name| format!(" {}", quoted(name)))
        .unwrap_or_default();
    let scope = match namespace {
        Some(namespace) => format!("in the namespace {}", quoted(namespace)),
        None => "at the cluster scope".to_owned(),
    };
    let message = format!(
        "{}{object} is forbidden: User {} cannot {verb} resource {} in API group {} {scope}",
        resource.qualified(),
        quoted(user),
        quoted(resource.name),
        quoted(resource.group),
    );
    status(
        403,
        "Forbidden",
        &message,
        Some(&resource.details(name.unwrap_or_default())),
    )
}

/// 403 for a path that is no resource, such as `/metrics`.
pub fn forbidden_path(user: &str, verb: &str, path: &str) -> Answer {
    let message = format!(
        "forbidden: User {} cannot {verb} path {}",
        quoted(user),
        quoted(path)
    );
    status(403, "Forbidden", &message, Some(""))
}

/// 404 for an object.
pub fn not_found(resource: Resource<'_>, name: &str) -> Answer {
    let message = format!("{} {} not found", resource.qualified(), quoted(name));
    status(404, "NotFound", &message, Some(&resource.details(name)))
}

/// 404 for a resource that the server does not have, where a handler answers.
pub fn resource_not_found() -> Answer {
    status(
        404,
        "NotFound",
        "the server could not find the requested resource",
        Some(""),
    )
}

/// 404 as plain text: what a real server says where no handler is, e.g. for an API group that is off.
pub fn page_not_found() -> Answer {
    Reply::new(404, "text/plain; charset=utf-8", "404 page not found\n")
        .header("X-Content-Type-Options", "nosniff")
        .into()
}

/// 409: the resource version is not the newest.
pub fn conflict(resource: Resource<'_>, name: &str) -> Answer {
    let message = format!(
        "Operation cannot be fulfilled on {} {}: the object has been modified; please apply your changes to the \
         latest version and try again",
        resource.qualified(),
        quoted(name),
    );
    status(409, "Conflict", &message, Some(&resource.details(name)))
}

/// 410: the resource version, or the list's continue token, is too old.
pub fn expired(message: &str) -> Answer {
    status(410, "Expired", message, None)
}

/// 422 for one field. `kind` is the object's kind (`Pod`), `detail` what follows the field's name.
pub fn invalid(kind: &str, name: &str, field: &str, cause: &str, detail: &str) -> Answer {
    let message = format!("{kind} {} is invalid: {field}: {detail}", quoted(name));
    let details = format!(
        "\"name\":{},\"kind\":{},\"causes\":[{{\"reason\":{},\"message\":{},\"field\":{}}}]",
        quoted(name),
        quoted(kind),
        quoted(cause),
        quoted(detail),
        quoted(field),
    );
    status(422, "Invalid", &message, Some(&details))
}

/// 422: the uid of a patch is another object's.
pub fn uid_mismatch(kind: &str, name: &str, uid: &str) -> Answer {
    let detail = format!("Invalid value: {}: field is immutable", quoted(uid));
    invalid(kind, name, "metadata.uid", "FieldValueInvalid", &detail)
}

/// 422: a bound Pod can't be nominated.
pub fn nominated_but_bound(name: &str) -> Answer {
    let detail = "Forbidden: may not be set on pods that are already bound to a node";
    invalid(
        "Pod",
        name,
        "status.nominatedNodeName",
        "FieldValueForbidden",
        detail,
    )
}

/// 429 by priority and fairness, which is plain text.
pub fn too_many_requests(retry_after: u32) -> Answer {
    Reply::new(
        429,
        "text/plain; charset=utf-8",
        "Too many requests, please try again later.\n",
    )
    .header("Retry-After", &retry_after.to_string())
    .header("X-Content-Type-Options", "nosniff")
    .into()
}

/// 500.
pub fn internal_error(what: &str) -> Answer {
    let details = format!("\"causes\":[{{\"message\":{}}}]", quoted(what));
    status(
        500,
        "InternalError",
        &format!("Internal error occurred: {what}"),
        Some(&details),
    )
}

/// 503.
pub fn unavailable() -> Answer {
    let message = "the server is currently unable to handle the request";
    status(503, "ServiceUnavailable", message, None)
}

/// A JSON string; Go's `%q`, which the messages use, agrees with it for names.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// 404 for what no route has: the named object's, or the resource's.
pub(super) fn unmatched(path: &str) -> Answer {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let group = match parts.as_slice() {
        ["api", _, ..] => {
            parts.drain(..2);
            ""
        }
        ["apis", group, _, ..] => {
            let group = *group;
            parts.drain(..3);
            group
        }
        _ => return page_not_found(),
    };
    if let ["namespaces", _, _, ..] = parts.as_slice() {
        parts.drain(..2);
    }
    match parts.as_slice() {
        [plural, name, ..] => not_found(
            Resource {
                group,
                name: plural,
            },
            name,
        ),
        _ => resource_not_found(),
    }
}
