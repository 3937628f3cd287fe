//! Fills a cluster with copies of an object that it holds, faster than its API server would take them.
//!
//! A copy is what the API server itself stored, byte for byte, with another name and UID of the same length. It goes
//! straight to etcd, a hundred in a transaction; the API server learns of it by its watch. It must not change what is
//! there, and the components that would act on copies must have ended before.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::Request;
use serde_json::{Value, json};

use crate::client::ClientError;
use crate::cluster::Cluster;

/// etcd takes at most 128 operations in a transaction.
const AT_ONCE: usize = 100;

/// Why there are no copies.
#[derive(Debug, thiserror::Error)]
pub enum CrowdError {
    /// No client.
    #[error("no client for {url}")]
    Url {
        url: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// etcd did not answer.
    #[error("etcd did not do {path}")]
    Etcd {
        path: &'static str,
        source: Box<kube::Error>,
    },
    /// What is to be copied is not there.
    #[error("etcd does not hold exactly one object below {0}")]
    NoOriginal(String),
    /// Lengths stand in the encoding.
    #[error("{0:?} and what stands for it differ in length")]
    Length(String),
    /// The cluster's own answer.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Writes copies into one cluster.
pub struct Crowd {
    etcd: kube::Client,
}

impl Crowd {
    /// Makes a client for the cluster's etcd, inside the runtime that calls.
    pub fn of(cluster: &Cluster) -> Result<Self, CrowdError> {
        let url = cluster.etcd();
        let bad = |source: Box<dyn std::error::Error + Send + Sync>| CrowdError::Url {
            url: url.clone(),
            source,
        };
        let address = url
            .parse()
            .map_err(|error: http::uri::InvalidUri| bad(error.into()))?;
        let mut config = kube::Config::new(address);
        config.proxy_url = None;
        config.default_retry = false;
        let etcd = kube::Client::try_from(config).map_err(|error| bad(error.into()))?;
        Ok(Self { etcd })
    }

    /// Copies the one object whose key begins so, once for each list of replacements.
    pub async fn copy(
        &self,
        key: &str,
        copies: impl Iterator<Item = Vec<(String, String)>>,
    ) -> Result<(), CrowdError> {
        let range = json!({"key": encode(key.as_bytes()), "range_end": encode(&end_of(key))});
        let answer = self.post("/v3/kv/range", &range).await?;
        let kvs = answer.get("kvs").and_then(Value::as_array);
        let [original] = kvs.map_or(&[][..], Vec::as_slice) else {
            return Err(CrowdError::NoOriginal(key.to_owned()));
        };
        let bytes = |part: &str| {
            let text = original.get(part).and_then(Value::as_str);
            BASE64_STANDARD.decode(text.unwrap_or_default())
        };
        let (Ok(key), Ok(value)) = (bytes("key"), bytes("value")) else {
            return Err(CrowdError::NoOriginal(key.to_owned()));
        };
        let mut puts = Vec::new();
        for replacements in copies {
            let (mut key, mut value) = (key.clone(), value.clone());
            for (from, to) in &replacements {
                if from.len() != to.len() {
                    return Err(CrowdError::Length(from.clone()));
                }
                replace(&mut key, from.as_bytes(), to.as_bytes());
                replace(&mut value, from.as_bytes(), to.as_bytes());
            }
            puts.push(json!({"requestPut": {"key": encode(&key), "value": encode(&value)}}));
            if puts.len() == AT_ONCE {
                self.put(&mut puts).await?;
            }
        }
        self.put(&mut puts).await
    }

    async fn put(&self, puts: &mut Vec<Value>) -> Result<(), CrowdError> {
        if !puts.is_empty() {
            let all = json!({"success": std::mem::take(puts)});
            self.post("/v3/kv/txn", &all).await?;
        }
        Ok(())
    }

    async fn post(&self, path: &'static str, body: &Value) -> Result<Value, CrowdError> {
        let failed = |error| CrowdError::Etcd {
            path,
            source: Box::new(error),
        };
        let request = Request::post(path)
            .body(body.to_string().into_bytes())
            .map_err(|error| failed(kube::Error::HttpError(error)))?;
        self.etcd.request(request).await.map_err(failed)
    }
}

fn encode(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// The first key after all that begin so.
fn end_of(key: &str) -> Vec<u8> {
    let mut end = key.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    end
}

/// Writes one text over another of the same length, wherever it stands.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while let Some(window) = bytes.get_mut(at..at + from.len()) {
        if window == from {
            window.copy_from_slice(to);
            at += from.len();
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_over_wherever_it_stands() {
        let mut bytes = *b"n-00 is n-00";
        replace(&mut bytes, b"n-00", b"n-17");
        assert_eq!(&bytes, b"n-17 is n-17");
        assert_eq!(end_of("/a/b"), b"/a/c");
    }
}
