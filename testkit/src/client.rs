//! A JSON client of the API server for scenarios: objects are plain values, paths are written out.
//!
//! It waits by a real watch, with a ceiling. It must not sleep, and it must not try again what the server refused.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::WatchEvent;
use serde_json::Value;

/// The longest that anything is waited for.
pub(crate) const CEILING: Duration = Duration::from_mins(1);

/// Why a request brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig does not lead to a server.
    #[error("no client from {path}")]
    Kubeconfig {
        path: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server said no.
    #[error("{verb} {path} was refused: {code} {reason}: {message}")]
    Refused {
        verb: String,
        path: String,
        code: u16,
        reason: String,
        message: String,
    },
    /// No answer, or not one that can be read.
    #[error("{verb} {path} failed")]
    Failed {
        verb: String,
        path: String,
        source: Box<kube::Error>,
    },
    /// The body is not JSON.
    #[error("{path} answered something that is not JSON")]
    NotJson {
        path: String,
        source: serde_json::Error,
    },
    /// A request that cannot be written down.
    #[error("{path} is no path for a request")]
    BadPath { path: String, source: http::Error },
    /// What was waited for did not come.
    #[error("waited {} seconds in vain for {what}; last seen: {last}", CEILING.as_secs())]
    TimedOut { what: String, last: String },
}

impl ClientError {
    /// The HTTP status of a refusal.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

/// Speaks with one API server as one user, inside the runtime that it was made in.
#[derive(Clone)]
pub struct Client {
    kube: kube::Client,
    field_manager: String,
}

impl Client {
    /// Makes a client of what a kubeconfig says.
    pub async fn from_kubeconfig(path: &Path) -> Result<Self, ClientError> {
        Self::with_port(path, None).await
    }

    /// Makes a client of a kubeconfig for another port of the same host.
    pub(crate) async fn with_port(path: &Path, port: Option<u16>) -> Result<Self, ClientError> {
        Self::with_server(path, |host| {
            port.map(|port| format!("https://{host}:{port}/"))
        })
        .await
    }

    /// Makes a client of a kubeconfig for another server of the same cluster.
    pub async fn at(path: &Path, server: &str) -> Result<Self, ClientError> {
        Self::with_server(path, |_| Some(server.to_owned())).await
    }

    /// Makes a client of a kubeconfig, perhaps for another server than it names, by its host.
    async fn with_server(
        path: &Path,
        server: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Self, ClientError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ClientError::Kubeconfig {
            path: path.display().to_string(),
            source,
        };
        let kubeconfig = Kubeconfig::read_from(path).map_err(|error| failed(error.into()))?;
        let mut config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(|error| failed(error.into()))?;
        if let Some(server) = server(config.cluster_url.host().unwrap_or_default()) {
            config.cluster_url = server
                .parse()
                .map_err(|error: http::uri::InvalidUri| failed(error.into()))?;
        }
        // The servers are on loopback, and a failure has to be seen, not repeated.
        config.proxy_url = None;
        config.default_retry = false;
        let kube = kube::Client::try_from(config).map_err(|error| failed(error.into()))?;
        Ok(Self {
            kube,
            field_manager: "testkit".to_owned(),
        })
    }

    /// Sets the field manager that writes go by.
    #[must_use]
    pub fn with_field_manager(mut self, name: &str) -> Self {
        name.clone_into(&mut self.field_manager);
        self
    }

    /// Reads a path and returns the body as the server wrote it.
    pub async fn raw(&self, path: &str) -> Result<String, ClientError> {
        let request = request("GET", path, "", &[])?;
        self.kube
            .request_text(request)
            .await
            .map_err(|error| refused("GET", path, error))
    }

    /// Reads a path.
    pub async fn get(&self, path: &str) -> Result<Value, ClientError> {
        let text = self.raw(path).await?;
        serde_json::from_str(&text).map_err(|source| ClientError::NotJson {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads a collection with query parameters and returns its items.
    pub async fn list(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<Value>, ClientError> {
        let mut list = self.get(&with_query(path, query)).await?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Creates an object in a collection.
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, ClientError> {
        let path = with_query(path, &[("fieldManager", &self.field_manager)]);
        self.send("POST", &path, "application/json", Some(object))
            .await
    }

    /// Deletes an object, or a collection, with a grace period in seconds if one is given.
    pub async fn delete(&self, path: &str, grace: Option<u32>) -> Result<Value, ClientError> {
        let options = grace.map(|seconds| serde_json::json!({"gracePeriodSeconds": seconds}));
        self.send("DELETE", path, "application/json", options.as_ref())
            .await
    }

    /// Merges a patch into an object or a subresource.
    pub async fn merge_patch(&self, path: &str, change: &Value) -> Result<Value, ClientError> {
        let path = with_query(path, &[("fieldManager", &self.field_manager)]);
        self.send("PATCH", &path, "application/merge-patch+json", Some(change))
            .await
    }

    /// Watches a collection until one object is as wanted, and returns it.
    ///
    /// The watch begins with the objects that are there already. `what` is for the error.
    pub async fn watch_until(
        &self,
        what: &str,
        path: &str,
        field_selector: &str,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, ClientError> {
        let mut latest = Value::Null;
        let waiting = async {
            loop {
                // Without a resource version the server first sends what is there, then what changes.
                let query = [("watch", "true"), ("fieldSelector", field_selector)];
                let wanted = |object: &Value, gone: bool| !gone && wanted(object);
                if let Some(found) = self
                    .watch(&with_query(path, &query), &mut latest, wanted)
                    .await?
                {
                    return Ok(found);
                }
            }
        };
        let found = tokio::time::timeout(CEILING, waiting).await;
        found.unwrap_or_else(|_| Err(timed_out(what, &latest)))
    }

    /// Watches a collection until no object of a name is left in it.
    pub async fn watch_until_gone(&self, path: &str, name: &str) -> Result<(), ClientError> {
        let mut latest = Value::Null;
        let selector = format!("metadata.name={name}");
        let waiting = async {
            loop {
                let found = self
                    .get(&with_query(path, &[("fieldSelector", &selector)]))
                    .await?;
                if found.pointer("/items/0").is_none() {
                    return Ok(());
                }
                // From the version of the list on, so that the end cannot be missed in between.
                let version = found
                    .pointer("/metadata/resourceVersion")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let query = [
                    ("watch", "true"),
                    ("fieldSelector", &selector),
                    ("resourceVersion", version),
                ];
                self.watch(&with_query(path, &query), &mut latest, |_, gone| gone)
                    .await?;
            }
        };
        let gone = tokio::time::timeout(CEILING, waiting).await;
        gone.unwrap_or_else(|_| Err(timed_out(&format!("the end of {path}/{name}"), &latest)))
    }

    /// Follows one watch until an object is as wanted.
    ///
    /// Returns none when the server ends the watch, as it may at any time.
    async fn watch(
        &self,
        path: &str,
        last: &mut Value,
        mut wanted: impl FnMut(&Value, bool) -> bool,
    ) -> Result<Option<Value>, ClientError> {
        let failed = |error| refused("WATCH", path, error);
        let request = request("GET", path, "", &[])?;
        let events = self
            .kube
            .request_events::<Value>(request)
            .await
            .map_err(failed)?;
        let mut events = pin!(events);
        while let Some(event) = events.try_next().await.map_err(failed)? {
            let (object, gone) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(status) => return Err(failed(kube::Error::Api(status))),
            };
            if wanted(&object, gone) {
                return Ok(Some(object));
            }
            *last = object;
        }
        Ok(None)
    }

    async fn send(
        &self,
        verb: &str,
        path: &str,
        content: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClientError> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request(verb, path, content, body.as_bytes())?;
        self.kube
            .request(request)
            .await
            .map_err(|error| refused(verb, path, error))
    }
}

fn request(
    verb: &str,
    path: &str,
    content: &str,
    body: &[u8],
) -> Result<Request<Vec<u8>>, ClientError> {
    let mut request = Request::builder().method(verb).uri(path);
    if !body.is_empty() {
        request = request.header("Content-Type", content);
    }
    request
        .body(body.to_vec())
        .map_err(|source| ClientError::BadPath {
            path: path.to_owned(),
            source,
        })
}

fn timed_out(what: &str, last: &Value) -> ClientError {
    ClientError::TimedOut {
        what: what.to_owned(),
        last: last.to_string(),
    }
}

fn refused(verb: &str, path: &str, error: kube::Error) -> ClientError {
    let (verb, path) = (verb.to_owned(), path.to_owned());
    match error {
        kube::Error::Api(status) => ClientError::Refused {
            verb,
            path,
            code: status.code,
            reason: status.reason,
            message: status.message,
        },
        other => ClientError::Failed {
            verb,
            path,
            source: Box::new(other),
        },
    }
}

fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    let mut path = path.to_owned();
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        path.push(if path.contains('?') { '&' } else { '?' });
        path.push_str(name);
        path.push('=');
        path.extend(value.bytes().map(percent_encoded));
    }
    path
}

/// Writes a byte as it may stand in a query's value (RFC 3986, unreserved characters).
fn percent_encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return char::from(byte).to_string();
    }
    format!("%{byte:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_encoded_and_empty_ones_left_out() {
        let query = [
            ("watch", "true"),
            ("labelSelector", ""),
            ("fieldSelector", "metadata.name=n1,spec.x!=y"),
        ];
        assert_eq!(
            with_query("/api/v1/nodes", &query),
            "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dn1%2Cspec.x%21%3Dy"
        );
        assert_eq!(with_query("/a?b=c", &[("d", "e")]), "/a?b=c&d=e");
    }
}
