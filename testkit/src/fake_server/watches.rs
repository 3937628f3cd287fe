//! Watches of the fake server: open answers that tell what the test feeds.
//!
//! It must not know what objects are: a test says what each watch tells, and when it ends.

use std::io::{self, Write};
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
    stream: &mut impl Write,
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
        stream.write_all(b"\r\n")?;
        stream.flush()
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpStream;

    use super::super::{Answer, Routes, refusals};
    use super::*;

    const PODS: &str = "/api/v1/pods";

    /// Opens a watch and gives what it tells, when the request has arrived.
    fn open(server: &FakeServer, query: &str) -> BufReader<TcpStream> {
        let arrived = server.requests().len() + 1;
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        write!(
            stream,
            "GET {PODS}?{query}watch=true HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        .expect("the server reads");
        assert!(server.wait_for_requests(arrived));
        BufReader::new(stream)
    }

    /// The rest of an answer, after its head.
    fn rest(stream: BufReader<TcpStream>) -> Vec<String> {
        let lines = stream.lines().map_while(Result::ok);
        lines.skip_while(|line| !line.is_empty()).skip(1).collect()
    }

    #[test]
    fn a_watch_tells_what_is_fed_after_it_was_opened_and_for_its_selector() {
        let server = FakeServer::start(Routes::new());
        server.feed(PODS, Feed::Raw(b"before".to_vec()));
        let one = open(&server, "fieldSelector=a&");
        let other = open(&server, "fieldSelector=b&");
        server.feed(
            &format!("{PODS}?fieldSelector=a"),
            Feed::Raw(b"one".to_vec()),
        );
        server.feed(PODS, Feed::Raw(b"both".to_vec()));
        server.feed("/api/v1/nodes", Feed::Raw(b"none".to_vec()));
        server.feed(PODS, Feed::Close);
        assert_eq!(rest(one), ["3", "one", "4", "both", "0", ""]);
        assert_eq!(rest(other), ["4", "both", "0", ""]);
    }

    #[test]
    fn a_watch_may_break_or_be_refused_or_end_with_the_server() {
        let refused = refusals::unavailable();
        let routes = Routes::new().watch(
            PODS,
            Answer::Sequence(vec![Answer::Watch, refused, Answer::Watch]),
        );
        let server = FakeServer::start(routes.get(PODS, Answer::text("a list")));
        let broken = open(&server, "");
        server.feed(PODS, Feed::Break);
        assert_eq!(rest(broken), [""; 0], "no last chunk");
        let mut refused = open(&server, "");
        let mut head = String::new();
        refused.read_line(&mut head).expect("a line");
        assert_eq!(head, "HTTP/1.1 503 Service Unavailable\r\n");
        let open = open(&server, "");
        drop(server);
        assert_eq!(rest(open), [""; 0]);
    }
}
