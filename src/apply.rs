//! The only module that sends a writing verb: it carries out changes that an analysis planned, and takes back what it made.
//!
//! It must not decide anything. What it makes is noted before it is sent, so that also an interrupted request is taken back.

use http::{Method, Request};
use serde_json::{Value, json};

use crate::model::change::Change;
use crate::source::live::{Live, Unwritten, place};

/// Our name in managedFields.
const MANAGER: &str = "kubectl-features";

const CONFLICT: u16 = 409;
const NOT_FOUND: u16 = 404;

/// Whether a change is only tried: the server judges it and stores nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Store,
    /// `dryRun=All`
    DryRun,
}

/// Sends changes, and remembers what it made.
pub(crate) struct Applier<'l> {
    live: &'l Live,
    mode: Mode,
    made: Vec<Made>,
}

/// What was made, or may have been.
struct Made {
    removal: Change,
    /// Null where the server's answer did not come.
    uid: Option<String>,
}

impl<'l> Applier<'l> {
    pub(crate) fn new(live: &'l Live, mode: Mode) -> Self {
        Self {
            live,
            mode,
            made: Vec::new(),
        }
    }

    /// The object as the server has it then.
    pub(crate) async fn apply(&mut self, change: &Change) -> Result<Value, Unwritten> {
        let removal = change.removal().filter(|_| self.mode == Mode::Store);
        let is_made = removal.is_some();
        self.made
            .extend(removal.map(|removal| Made { removal, uid: None }));
        let done = self.send(change).await;
        match &done {
            Ok(object) if is_made => {
                let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
                if let Some(made) = self.made.last_mut() {
                    made.uid = uid.map(str::to_owned);
                }
            }
            // The server refused it: what has the name is somebody else's.
            Err(Unwritten { code: Some(_), .. }) if is_made => {
                self.made.pop();
            }
            _ => {}
        }
        done
    }

    /// Removes everything that was made, the last thing first. What could not be removed is told, and why; where the server gave
    /// no answer it is tried again the next time.
    pub(crate) async fn undo(&mut self) -> Vec<(Change, Unwritten)> {
        let mut left = Vec::new();
        let mut unanswered = 0;
        while let Some(made) = self.made.len().checked_sub(unanswered + 1) {
            let Some(next) = self.made.get(made) else {
                break;
            };
            let mut removal = next.removal.clone();
            if let (Some(uid), Some(body)) = (&next.uid, &mut removal.body) {
                body["preconditions"] = json!({"uid": uid});
            }
            match self.send(&removal).await {
                // It is gone, or another object has its name.
                Ok(_)
                | Err(Unwritten {
                    code: Some(NOT_FOUND | CONFLICT),
                    ..
                }) => {}
                Err(error) if error.code.is_none() => {
                    unanswered += 1;
                    left.push((removal, error));
                    continue;
                }
                Err(error) => left.push((removal, error)),
            }
            // Only now: a signal in between must not forget it.
            self.made.remove(made);
        }
        left
    }

    async fn send(&self, change: &Change) -> Result<Value, Unwritten> {
        let unusable = |error: http::Error| Unwritten {
            code: None,
            detail: error.to_string(),
        };
        let request = request(change, self.mode).map_err(unusable)?;
        self.live.write(request).await
    }
}

fn request(change: &Change, mode: Mode) -> Result<Request<Vec<u8>>, http::Error> {
    let (method, kind) = match change.right.verb {
        "create" => (Method::POST, "application/json"),
        "patch" => (Method::PATCH, "application/merge-patch+json"),
        _ => (Method::DELETE, "application/json"),
    };
    let mut query = Vec::new();
    if mode == Mode::DryRun {
        query.push("dryRun=All".to_owned());
    }
    if method != Method::DELETE {
        query.push(format!("fieldManager={MANAGER}"));
    }
    let mut path = place(&change.right);
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let body = change
        .body
        .as_ref()
        .map(Value::to_string)
        .unwrap_or_default();
    Request::builder()
        .method(method)
        .uri(path)
        .header("Accept", "application/json")
        .header("Content-Type", kind)
        .body(body.into_bytes())
}
