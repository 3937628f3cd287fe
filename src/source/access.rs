//! Asks the API server whether this user has a right (authorization.k8s.io/v1, `SelfSubjectAccessReview`).
//!
//! The request is a POST because a review is created to be answered; the server stores nothing, and no object of the
//! cluster changes. Every authenticated user may ask by default (cluster role `system:basic-user`, 1.37).

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use http::Request;
use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::Failure;
use super::live::{AT_ONCE, Live};
use crate::model::access::{Allowed, Permission, Right};
use crate::model::coverage::State;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[derive(Deserialize)]
struct Review {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    allowed: bool,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    evaluation_error: String,
}

impl Live {
    /// What the server says of each right; why not, where it could not be asked at all.
    pub(crate) async fn review(
        &self,
        rights: &[Right],
    ) -> Result<BTreeMap<Right, Permission>, String> {
        let answers: Vec<Result<Permission, Failure>> = stream::iter(rights)
            .map(async |right| self.review_one(right).await)
            .buffered(AT_ONCE)
            .collect()
            .await;
        let is_away = |answer: &Result<Permission, Failure>| {
            answer
                .as_ref()
                .is_err_and(|failure| failure.state == State::Unreachable)
        };
        if let (true, Some(Err(failure))) = (answers.iter().all(is_away), answers.first()) {
            return Err(failure.detail.clone());
        }
        let answers = answers.into_iter().map(|answer| {
            answer.unwrap_or_else(|failure| Permission {
                allowed: Allowed::Unknown,
                detail: Some(failure.detail),
            })
        });
        Ok(rights.iter().cloned().zip(answers).collect())
    }

    async fn review_one(&self, right: &Right) -> Result<Permission, Failure> {
        let request = Request::post(REVIEWS)
            .header("Accept", "application/json")
            .header("Content-Type", "application/json")
            .body(question(right).to_string().into_bytes())
            .map_err(|error| Failure {
                state: State::Unreadable,
                detail: error.to_string(),
            })?;
        let page = self.send(request).await?;
        Ok(permission(&page.bytes))
    }
}

/// The review to be answered.
fn question(right: &Right) -> Value {
    let spec = if right.is_path() {
        json!({"nonResourceAttributes": {"verb": right.verb, "path": right.resource}})
    } else {
        let (resource, part) = right
            .resource
            .split_once('/')
            .unwrap_or((right.resource, ""));
        json!({"resourceAttributes": {
            "verb": right.verb,
            "group": right.group,
            "version": "v1",
            "resource": resource,
            "subresource": part,
            // Empty is all of them.
            "namespace": right.namespace.as_deref().unwrap_or_default(),
            "name": right.name.as_deref().unwrap_or_default(),
        }})
    };
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec})
}

/// What an answered review says.
fn permission(bytes: &[u8]) -> Permission {
    let Ok(Review { status }) = serde_json::from_slice(bytes) else {
        return Permission {
            allowed: Allowed::Unknown,
            detail: Some("the server's answer is not a review".to_owned()),
        };
    };
    let allowed = match (status.allowed, status.denied) {
        (true, _) => Allowed::Yes,
        // An authorizer failed, and none that answered said no: nobody decided.
        (false, false) if !status.evaluation_error.is_empty() => Allowed::Unknown,
        (false, _) => Allowed::No,
    };
    let causes = [status.reason, status.evaluation_error];
    let causes = causes.map(|cause| cause.trim().to_owned());
    let said: Vec<&str> = causes
        .iter()
        .map(String::as_str)
        .filter(|cause| !cause.is_empty())
        .collect();
    Permission {
        allowed,
        // Why something is allowed (a role binding's name) is nobody's question here.
        detail: (allowed != Allowed::Yes && !said.is_empty()).then(|| said.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authorizer_that_failed_decides_nothing() {
        let of = |status: &str| permission(format!(r#"{{"status":{status}}}"#).as_bytes()).allowed;
        assert_eq!(
            of(r#"{"allowed":true,"evaluationError":"x"}"#),
            Allowed::Yes
        );
        assert_eq!(of(r#"{"allowed":false}"#), Allowed::No);
        assert_eq!(
            of(r#"{"allowed":false,"evaluationError":"x"}"#),
            Allowed::Unknown
        );
        assert_eq!(
            of(r#"{"allowed":false,"denied":true,"evaluationError":"x"}"#),
            Allowed::No
        );
        assert_eq!(permission(b"{}").allowed, Allowed::Unknown);
    }

    #[test]
    fn the_question_is_as_narrow_as_the_read() {
        let asked = question(&Right::get("", "pods", Some("shop"), "web"));
        let attributes = &asked["spec"]["resourceAttributes"];
        assert_eq!(
            (&attributes["name"], &attributes["namespace"]),
            (&"web".into(), &"shop".into())
        );
        let path = question(&Right::get("", "/version", None, ""));
        assert_eq!(path["spec"]["nonResourceAttributes"]["path"], "/version");
    }
}
