//! A fake Kubernetes API server on a loopback port, for tests of the whole binary.
//!
//! It answers from a script, keeps every request (so that a test can also assert what was *not* sent), and must not
//! imitate any logic of the real server.

pub mod refusals;
mod watches;
pub(crate) mod wire;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::certificates::{self, Identity};

pub use watches::Feed;

/// The `Date` header unless a test sets another.
pub const DATE: &str = "Mon, 30 Nov 2026 08:00:00 GMT";

/// The longest wait for a request.
const CEILING: Duration = Duration::from_mins(1);

/// What the server does with a request.
#[derive(Debug, Clone)]
pub enum Answer {
    Reply(Reply),
    /// Reads the request and never answers.
    Hang,
    /// Announces the whole body, sends this many bytes of it, then closes the connection.
    CloseMidBody {
        reply: Reply,
        after: usize,
    },
    /// Announces more than anybody reads, sends the body, then blanks without end.
    Endless(Reply),
    /// One answer a call; the last is repeated.
    Sequence(Vec<Self>),
    Delay(Duration, Box<Self>),
    /// A watch that tells what [`FakeServer::feed`] gives, from the moment on at which it was opened.
    Watch,
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub content_type: String,
    /// Besides `Content-Type`, `Content-Length` and `Date`.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            content_type: content_type.to_owned(),
            headers: Vec::new(),
            body: body.into(),
        }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl Answer {
    /// 200 with a JSON body.
    pub fn json(body: &Value) -> Self {
        Self::json_text(body.to_string())
    }

    /// 200 with JSON as it stands in a file, which need not be valid.
    pub fn json_text(body: impl Into<Vec<u8>>) -> Self {
        Reply::new(200, "application/json", body).into()
    }

    /// 200 with plain text, as `/metrics` has it.
    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Reply::new(
            200,
            "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
            body,
        )
        .into()
    }

    #[must_use]
    pub fn delayed(self, by: Duration) -> Self {
        Self::Delay(by, Box::new(self))
    }

    /// The answer of the given call, counted from nought, if the script has one. No sequence is left in it.
    fn of_call(&self, call: usize) -> Option<Self> {
        match self {
            Self::Sequence(answers) => answers.get(call).or(answers.last())?.of_call(call),
            Self::Delay(by, inner) => Some(inner.of_call(call)?.delayed(*by)),
            other => Some(other.clone()),
        }
    }
}

/// Which request gets which answer.
#[derive(Debug, Clone, Default)]
pub struct Routes(BTreeMap<(String, String), Answer>);

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer for a path with a query exactly as it is sent, or for a path with any query.
    ///
    /// The exact one wins; of two for the same, the later.
    #[must_use]
    pub fn on(mut self, method: &str, target: &str, answer: impl Into<Answer>) -> Self {
        self.0
            .insert((method.to_owned(), target.to_owned()), answer.into());
        self
    }

    #[must_use]
    pub fn get(self, target: &str, answer: impl Into<Answer>) -> Self {
        self.on("GET", target, answer)
    }

    /// Adds an answer for watches of a path, or of a path with a selector (`PATH?fieldSelector=…`, as it is sent).
    ///
    /// Watches that have none are open and silent.
    #[must_use]
    pub fn watch(self, target: &str, answer: impl Into<Answer>) -> Self {
        self.on(watches::WATCH, target, answer)
    }

    fn find(&self, request: &Request) -> Option<(&(String, String), &Answer)> {
        let key = |target: &str| (request.method.clone(), target.to_owned());
        self.0
            .get_key_value(&key(&request.target))
            .or_else(|| self.0.get_key_value(&key(request.path())))
    }
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Path with query, still percent-encoded.
    pub target: String,
    /// In the order sent, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn path(&self) -> &str {
        self.target
            .split_once('?')
            .map_or(self.target.as_str(), |(path, _)| path)
    }

    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Whether it is one of those that change something.
    pub fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

/// The running server; dropping it closes all connections and ends its threads.
pub struct FakeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accept: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// A free port of 127.0.0.1.
    const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// If there is no loopback interface, or no thread to be had.
    pub fn start(routes: Routes) -> Self {
        Self::start_with(routes, None, Self::ANYWHERE)
    }

    /// The same over TLS.
    ///
    /// # Panics
    /// As [`FakeServer::start`], and if the identity is none.
    pub fn start_tls(routes: Routes, identity: &Identity) -> Self {
        Self::start_tls_at(Self::ANYWHERE, routes, identity)
    }

    /// The same at an address, in the place of a component that has ended, say.
    ///
    /// # Panics
    /// As [`FakeServer::start_tls`], and if the address is taken.
    pub fn start_tls_at(address: SocketAddr, routes: Routes, identity: &Identity) -> Self {
        Self::start_with(routes, Some(certificates::serving(identity)), address)
    }

    fn start_with(routes: Routes, tls: Option<Arc<ServerConfig>>, address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("the address is free");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let state = State {
            routes,
            ..State::default()
        };
        let shared = Arc::new(Shared {
            tls,
            state: Mutex::new(state),
            stopped: Condvar::new(),
            arrived: Condvar::new(),
            fed: Condvar::new(),
        });
        let accept = std::thread::Builder::new()
            .name("fake-apiserver".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept(&listener, &shared)
            })
            .expect("a thread can be started");
        Self {
            address,
            shared,
            accept: Some(accept),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// All requests up to now, in the order they arrived.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// Waits until so many requests have arrived; false if they have not within a minute.
    pub fn wait_for_requests(&self, count: usize) -> bool {
        let state = self.shared.state();
        let few = |state: &mut State| state.requests.len() < count;
        let waited = self.shared.arrived.wait_timeout_while(state, CEILING, few);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits until the requests are as wanted; false if they are not within a minute.
    pub fn wait_until(&self, is_due: impl Fn(&[Request]) -> bool) -> bool {
        let state = self.shared.state();
        let not_yet = |state: &mut State| !is_due(&state.requests);
        let waited = self
            .shared
            .arrived
            .wait_timeout_while(state, CEILING, not_yet);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Answers otherwise from now on; see [`Routes::on`].
    pub fn set(&self, method: &str, target: &str, answer: impl Into<Answer>) {
        let key = (method.to_owned(), target.to_owned());
        self.shared.state().routes.0.insert(key, answer.into());
    }

    /// Sets the `Date` header of what follows (as in [`DATE`]); without one no such header is sent.
    pub fn set_date(&self, date: Option<&str>) {
        self.shared.state().date = date.map(str::to_owned);
    }

    /// Writes a kubeconfig for this server into the folder: context `fake`, namespace `default`, no credentials.
    ///
    /// # Panics
    /// If the folder can't be written to.
    pub fn kubeconfig(&self, folder: &Path) -> PathBuf {
        let path = folder.join("kubeconfig");
        let text = format!(
            "\
apiVersion: v1
kind: Config
clusters:
- name: fake
  cluster:
    server: {}
users:
- name: fake
  user: {{}}
contexts:
- name: fake
  context:
    cluster: fake
    user: fake
    namespace: default
current-context: fake
",
            self.url()
        );
        std::fs::write(&path, text).expect("the test's folder can be written to");
        path
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.stop = true;
            for connection in state.connections.values() {
                // An error means that the peer has closed it already.
                connection.shutdown(Shutdown::Both).ok();
            }
        }
        self.shared.stopped.notify_all();
        self.shared.fed.notify_all();
        // `accept` returns only with a connection; this one is the last.
        TcpStream::connect(self.address).ok();
        if let Some(accept) = self.accept.take() {
            accept.join().ok();
        }
    }
}

struct Shared {
    /// Null speaks plain HTTP.
    tls: Option<Arc<ServerConfig>>,
    state: Mutex<State>,
    stopped: Condvar,
    arrived: Condvar,
    fed: Condvar,
}

struct State {
    routes: Routes,
    feeds: watches::Feeds,
    stop: bool,
    date: Option<String>,
    requests: Vec<Request>,
    calls: BTreeMap<(String, String), usize>,
    /// Open connections, so that they can be closed from outside.
    connections: BTreeMap<u64, TcpStream>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            routes: Routes::default(),
            feeds: watches::Feeds::default(),
            stop: false,
            date: Some(DATE.to_owned()),
            requests: Vec::new(),
            calls: BTreeMap::new(),
            connections: BTreeMap::new(),
        }
    }
}

impl Shared {
    /// A test that panicked elsewhere must not hide its message behind a poisoned lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, but not beyond the server's end; returns whether to go on.
    fn wait(&self, time: Option<Duration>) -> bool {
        let state = self.state();
        let running = |state: &mut State| !state.stop;
        let state = match time {
            Some(time) => {
                let waited = self.stopped.wait_timeout_while(state, time, running);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self
                .stopped
                .wait_while(state, running)
                .unwrap_or_else(PoisonError::into_inner),
        };
        !state.stop
    }

    /// Serves one connection.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        match &self.tls {
            Some(config) => {
                let session =
                    ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                serve(StreamOwned::new(session, stream), self)
            }
            None => serve(stream, self),
        }
    }

    /// Keeps a request and finds its answer.
    fn take(&self, request: Request) -> Answer {
        let mut state = self.state();
        let watch = watches::watched(&request);
        let found = match &watch {
            Some(watched) => state.routes.find(watched),
            None => state.routes.find(&request),
        };
        let answer = match found.map(|(key, answer)| (key.clone(), answer.clone())) {
            Some((key, answer)) => {
                let calls = state.calls.entry(key).or_default();
                let answer = answer.of_call(*calls);
                *calls += 1;
                answer
            }
            None => watch.map(|_| Answer::Watch),
        };
        let answer = answer.unwrap_or_else(|| refusals::unmatched(request.path()));
        state.requests.push(request);
        self.arrived.notify_all();
        answer
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (id, stream) in (0_u64..).zip(listener.incoming()) {
        if shared.state().stop {
            break;
        }
        let Some((stream, twin)) = stream
            .and_then(|stream| Ok((stream.try_clone()?, stream)))
            .ok()
        else {
            continue;
        };
        {
            let mut state = shared.state();
            // Stopped since: nobody would close this one.
            if state.stop {
                break;
            }
            state.connections.insert(id, twin);
        }
        let own = Arc::clone(shared);
        threads.retain(|thread| !thread.is_finished());
        threads.push(std::thread::spawn(move || {
            // An error means that a peer has gone, which is its right.
            own.serve(&stream).ok();
            // The twin holds the socket open as well.
            stream.shutdown(Shutdown::Both).ok();
            own.state().connections.remove(&id);
        }));
    }
    for thread in threads {
        thread.join().ok();
    }
}

/// Answers the requests of one connection until either side ends it.
fn serve(stream: impl Read + Write, shared: &Shared) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = wire::read(&mut stream)? {
        let mut last = request
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let watched = watches::watched(&request).unwrap_or_else(|| request.clone());
        // Before the request counts as arrived: what is fed afterwards is told.
        let position = shared.state().feeds.position();
        let mut answer = shared.take(request);
        while let Answer::Delay(time, inner) = answer {
            if !shared.wait(Some(time)) {
                return Ok(());
            }
            answer = *inner;
        }
        let date = shared.state().date.clone();
        let date = date.as_deref();
        let out = stream.get_mut();
        match answer {
            Answer::Reply(reply) => wire::write(out, date, &reply, reply.body.len(), None)?,
            Answer::CloseMidBody { reply, after } => {
                wire::write(out, date, &reply, after, None)?;
                last = true;
            }
            Answer::Endless(reply) => {
                wire::write(out, date, &reply, reply.body.len(), Some(u64::MAX >> 1))?;
                // Ends with the connection: the peer's patience, or the server's end.
                loop {
                    out.write_all(&[b' '; 4096])?;
                }
            }
            Answer::Hang => {
                shared.wait(None);
                last = true;
            }
            Answer::Watch => {
                watches::tell(out, shared, &watched, position)?;
                last = true;
            }
            Answer::Delay(..) | Answer::Sequence(_) => unreachable!("both were resolved above"),
        }
        if last {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
