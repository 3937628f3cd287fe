//! Watches of the fake server: open answers that tell what the test feeds.
//!
//! It must not know what objects are: a test says what each watch tells, and when it ends.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{FakeServer, Request, Shared, State};

/// Stands for the method of a watch's route.
pub(super) const WATCH: &str = "WATCH";

/// What a watch tells next.
#[derive(Debug, Clone)]
pub enum Feed {
    /// A line.
    Line(Value),
    /// Bytes as they are, which need not be a line.
    Raw(Vec<u8>),
    /// Ends in order, as after `timeoutSeconds`.
    Close,
    /// Ends in the middle.
    Break,
}

impl Feed {
    /// A change of an object: `ADDED`, `MODIFIED`, `DELETED`.
    pub fn change(kind: &str, object: &Value) -> Self {
        Self::Line(json!({"type": kind, "object": object}))
    }

    /// A bookmark, which only tells a version.
    pub fn bookmark(kind: &str, version: &str) -> Self {
        let object = json!({"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": version, "creationTimestamp": null}});
        Self::Line(json!({"type": "BOOKMARK", "object": object}))
    }

    /// The words with which a real server ends a watch whose version is too old.
    pub fn gone() -> Self {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410});
        Self::Line(json!({"type": "ERROR", "object": status}))
    }
}

/// All that was fed, each with the watch that it is for.
#[derive(Debug, Default)]
pub(super) struct Feeds(Vec<(String, Feed)>);

impl Feeds {
    /// What was fed up to now.
    pub(super) fn position(&self) -> usize {
        self.0.len()
    }
}

impl FakeServer {
    /// Tells the open watches of a path, or of a path with a selector; see [`super::Routes::watch`].
    pub fn feed(&self, target: &str, feed: Feed) {
        self.shared.state().feeds.0.push((target.to_owned(), feed));
        self.shared.fed.notify_all();
    }
}

/// A watch's request as its route has it: the path with the selector, by the method [`WATCH`].
pub(super) fn watched(request: &Request) -> Option<Request> {
    let (path, query) = request.target.split_once('?')?;
    let mut words = query.split('&');
    if !words.clone().any(|word| word == "watch=true") {
        return None;
    }
    let selector = words.find(|word| word.starts_with("fieldSelector="));
    Some(Request {
        method: WATCH.to_owned(),
        target: selector.map_or_else(|| path.to_owned(), |selector| format!("{path}?{selector}")),
        ..request.clone()
    })
}

/// Answers a watch until it is told to end, or the server ends.
pub(super) fn tell(
    mut stream: &TcpStream,
    shared: &Shared,
    watch: &Request,
    mut position: usize,
) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    let mut send = |bytes: &[u8]| {
        write!(stream, "{:x}\r\n", bytes.len())?;
        stream.write_all(bytes)?;
        stream.write_all(b"\r\n")
    };
    loop {
        let waiting = |state: &mut State| !state.stop && state.feeds.0.len() <= position;
        let state = shared
            .fed
            .wait_while(shared.state(), waiting)
            .unwrap_or_else(PoisonError::into_inner);
        if state.stop {
            return Ok(());
        }
        let Some((target, feed)) = state.feeds.0.get(position).cloned() else {
            continue;
        };
        drop(state);
        position += 1;
        if target != watch.target && target != watch.path() {
            continue;
        }
        match feed {
            Feed::Line(line) => send(format!("{line}\n").as_bytes())?,
            Feed::Raw(bytes) => send(&bytes)?,
            Feed::Close => return send(b""),
            Feed::Break => return Ok(()),
        }
    }
}
