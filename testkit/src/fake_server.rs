//! A fake Kubernetes API server on a loopback port, for tests of the whole binary.
//!
//! It answers from a script, keeps every request (so that a test can also assert what was *not* sent), and must not
//! imitate any logic of the real server. The words of its `Status` objects are those of Kubernetes 1.35 to 1.37:
//! apimachinery `pkg/api/errors/errors.go`, apiserver `pkg/endpoints/handlers/responsewriters`, and real answers.

mod watches;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

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
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// If there is no loopback interface, or no thread to be had.
    pub fn start(routes: Routes) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let state = State {
            routes,
            ..State::default()
        };
        let shared = Arc::new(Shared {
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
        format!("http://{}", self.address)
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
        let answer = answer.unwrap_or_else(|| unmatched(request.path()));
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
            serve(&stream, &own).ok();
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
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader)? {
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
        match answer {
            Answer::Reply(reply) => write(stream, shared, &reply, reply.body.len())?,
            Answer::CloseMidBody { reply, after } => {
                write(stream, shared, &reply, after)?;
                last = true;
            }
            Answer::Hang => {
                shared.wait(None);
                last = true;
            }
            Answer::Watch => {
                watches::tell(stream, shared, &watched, position)?;
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

fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(bad("no request line"));
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(bad("ends within its headers"));
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None if line.trim_end().is_empty() => break,
            None => return Err(bad("a header without a colon")),
        }
    }
    let mut request = Request {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    if request.header("transfer-encoding").is_some() {
        request.body = read_chunks(reader)?;
    } else if let Some(length) = request.header("content-length") {
        let length = length.parse().map_err(|_| bad("its length is no number"))?;
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body)?;
    }
    Ok(Some(request))
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        if reader.take(length).read_to_end(&mut body)? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        reader.read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

/// Sends a response, with only so many bytes of the body as given.
fn write(mut stream: &TcpStream, shared: &Shared, reply: &Reply, bytes: usize) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
        reply.status,
        phrase(reply.status),
        reply.content_type,
        reply.body.len(),
    );
    let date = shared
        .state()
        .date
        .clone()
        .map(|date| ("Date".to_owned(), date));
    for (name, value) in date.iter().chain(&reply.headers) {
        write!(head, "{name}: {value}\r\n").map_err(io::Error::other)?;
    }
    head.push_str("\r\n");
    let mut message = head.into_bytes();
    message.extend(reply.body.iter().take(bytes));
    stream.write_all(&message)
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

/// Answers of the API server when it refuses, as `metav1.Status` objects in its own words and key order.
pub mod refusals {
    use super::{Answer, Reply, Value};

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
}

/// 404 for what no route has: the named object's, or the resource's.
fn unmatched(path: &str) -> Answer {
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
        _ => return refusals::page_not_found(),
    };
    if let ["namespaces", _, _, ..] = parts.as_slice() {
        parts.drain(..2);
    }
    match parts.as_slice() {
        [plural, name, ..] => refusals::not_found(
            refusals::Resource {
                group,
                name: plural,
            },
            name,
        ),
        _ => refusals::resource_not_found(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::refusals::Resource;
    use super::*;

    const PODS: &str = "/api/v1/namespaces/default/pods";

    /// Sends a request on a connection of its own and reads all that comes.
    fn call(server: &FakeServer, method: &str, target: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        let length = body.len();
        write!(
            stream,
            "{method} {target} HTTP/1.1\r\nHost: x\r\nUser-Agent: me\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .expect("the server reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("the answer is text");
        answer
    }

    fn get(server: &FakeServer, target: &str) -> String {
        call(server, "GET", target, "")
    }

    fn body(answer: &Answer) -> String {
        match answer {
            Answer::Reply(reply) => {
                String::from_utf8(reply.body.clone()).expect("bodies of this file are text")
            }
            other => panic!("not a plain reply: {other:?}"),
        }
    }

    #[test]
    fn a_reply_has_its_headers() {
        let server =
            FakeServer::start(Routes::new().get("/version", Answer::json(&json!({"minor": "37"}))));
        let expected = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\
            Date: Mon, 30 Nov 2026 08:00:00 GMT\r\n\r\n{\"minor\":\"37\"}";
        assert_eq!(get(&server, "/version"), expected);
        server.set_date(Some("Tue, 01 Dec 2026 00:00:00 GMT"));
        assert!(get(&server, "/version").contains("\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\n"));
        server.set_date(None);
        assert!(!get(&server, "/version").contains("Date:"));
    }

    #[test]
    fn the_exact_query_wins_over_the_path() {
        let routes = Routes::new()
            .get(PODS, Answer::text("any"))
            .get(&format!("{PODS}?limit=500"), Answer::text("exact"))
            .on("PATCH", PODS, Answer::text("patched"));
        let server = FakeServer::start(routes);
        assert!(get(&server, PODS).ends_with("\r\n\r\nany"));
        assert!(get(&server, &format!("{PODS}?limit=1")).ends_with("\r\n\r\nany"));
        assert!(get(&server, &format!("{PODS}?limit=500")).ends_with("\r\n\r\nexact"));
        assert!(call(&server, "PATCH", PODS, "{}").ends_with("\r\n\r\npatched"));
        assert!(call(&server, "DELETE", PODS, "").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn requests_are_kept() {
        let server = FakeServer::start(Routes::new());
        get(&server, "/version?x=%20y");
        call(
            &server,
            "PATCH",
            &format!("{PODS}/a/status"),
            "{\"status\":{}}",
        );
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].target, "/version?x=%20y");
        assert_eq!(requests[0].path(), "/version");
        assert_eq!(requests[0].header("User-Agent"), Some("me"));
        assert!(!requests[0].is_write());
        assert!(requests[1].is_write());
        assert_eq!(requests[1].body, b"{\"status\":{}}");
    }

    #[test]
    fn a_connection_serves_several_requests_and_chunks() {
        let server = FakeServer::start(Routes::new().get("/a", Answer::text("A")).on(
            "POST",
            "/b",
            Answer::text("B"),
        ));
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        let post = "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        write!(
            stream,
            "GET /a HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n{post}"
        )
        .expect("the server reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("the answer is text");
        assert_eq!(answer.matches("\r\n\r\nA").count(), 2, "{answer}");
        assert!(answer.ends_with("\r\n\r\nB"), "{answer}");
        assert_eq!(server.requests()[2].body, b"abcde");
    }

    #[test]
    fn a_sequence_repeats_its_last() {
        let answers = Answer::Sequence(vec![
            Answer::text("1"),
            refusals::unavailable(),
            Answer::text("3"),
        ]);
        let server = FakeServer::start(
            Routes::new()
                .get("/a", answers)
                .get("/none", Answer::Sequence(Vec::new())),
        );
        assert!(get(&server, "/a").ends_with("\r\n\r\n1"));
        assert!(get(&server, "/a?q").starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
        assert!(get(&server, "/a").ends_with("\r\n\r\n3"));
        assert!(get(&server, "/a").ends_with("\r\n\r\n3"));
        assert!(get(&server, "/none").starts_with("HTTP/1.1 404 Not Found\r\n"));
    }

    #[test]
    fn a_body_can_end_early() {
        let reply = Reply::new(200, "application/json", "{\"items\":[]}");
        let server =
            FakeServer::start(Routes::new().get("/a", Answer::CloseMidBody { reply, after: 4 }));
        let answer = get(&server, "/a");
        assert!(answer.contains("\r\nContent-Length: 12\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n{\"it"), "{answer}");
    }

    #[test]
    fn a_delayed_answer_comes() {
        let both = Answer::Sequence(vec![Answer::text("1"), Answer::text("2")]);
        let server =
            FakeServer::start(Routes::new().get("/a", both.delayed(Duration::from_millis(5))));
        assert!(get(&server, "/a").ends_with("\r\n\r\n1"));
        assert!(get(&server, "/a").ends_with("\r\n\r\n2"));
    }

    #[test]
    fn dropping_ends_what_hangs_or_waits() {
        let hour = Duration::from_hours(1);
        let routes = Routes::new()
            .get("/hang", Answer::Hang)
            .get("/late", Answer::text("A").delayed(hour));
        let server = FakeServer::start(routes);
        let shared = Arc::downgrade(&server.shared);
        let mut streams = ["/hang", "/late"].map(|target| {
            let mut stream = TcpStream::connect(server.address()).expect("the server listens");
            write!(stream, "GET {target} HTTP/1.1\r\n\r\n").expect("the server reads");
            stream
        });
        let idle = TcpStream::connect(server.address()).expect("the server listens");
        while server.requests().len() < 2 {
            std::thread::yield_now();
        }
        let address = server.address();
        drop(server);
        assert!(
            shared.upgrade().is_none(),
            "a thread still holds the server"
        );
        for stream in &mut streams {
            let mut answer = Vec::new();
            // Closed, whether in order or by a reset.
            stream.read_to_end(&mut answer).ok();
            assert!(answer.is_empty());
        }
        assert!(TcpStream::connect(address).is_err(), "still listening");
        drop(idle);
    }

    #[test]
    fn what_no_route_has_is_not_found_in_the_servers_words() {
        let server = FakeServer::start(Routes::new());
        let answer = get(&server, "/api/v1/namespaces/default/pods/web-0?x=y");
        assert!(
            answer.starts_with("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"),
            "{answer}"
        );
        let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"web-0\" not found","reason":"NotFound","details":{"name":"web-0","kind":"pods"},"code":404}"#;
        assert!(
            answer.ends_with(&format!("\r\n\r\n{expected}\n")),
            "{answer}"
        );
        let message = |path: &str| {
            let status: Value =
                serde_json::from_str(&body(&unmatched(path))).expect("a Status is JSON");
            (status["message"].clone(), status["details"].clone())
        };
        assert_eq!(
            message("/apis/apps/v1/namespaces/a/deployments/x/scale"),
            (
                json!("deployments.apps \"x\" not found"),
                json!({"name": "x", "group": "apps", "kind": "deployments"})
            )
        );
        assert_eq!(
            message("/api/v1/namespaces/a").0,
            json!("namespaces \"a\" not found")
        );
        assert_eq!(
            message("/api/v1/nodes/n1").0,
            json!("nodes \"n1\" not found")
        );
        assert_eq!(
            message(PODS),
            (
                json!("the server could not find the requested resource"),
                json!({})
            )
        );
        assert_eq!(body(&unmatched("/flagz")), "404 page not found\n");
    }

    /// Against answers of real servers: recorded/nominate/1.37 and recorded/features.
    #[test]
    fn refusals_are_those_of_a_real_server() {
        let pods = Resource::core("pods");
        assert_eq!(
            body(&refusals::conflict(pods, "g1")),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Operation cannot be fulfilled on pods \"g1\": the object has been modified; please apply your changes to the latest version and try again","reason":"Conflict","details":{"name":"g1","kind":"pods"},"code":409}"#,
                "\n"
            )
        );
        assert_eq!(
            body(&refusals::uid_mismatch(
                "Pod",
                "cs",
                "00000000-0000-0000-0000-000000000001"
            )),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Pod \"cs\" is invalid: metadata.uid: Invalid value: \"00000000-0000-0000-0000-000000000001\": field is immutable","reason":"Invalid","details":{"name":"cs","kind":"Pod","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"00000000-0000-0000-0000-000000000001\": field is immutable","field":"metadata.uid"}]},"code":422}"#,
                "\n"
            )
        );
        assert_eq!(
            body(&refusals::nominated_but_bound("g1")),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Pod \"g1\" is invalid: status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node","reason":"Invalid","details":{"name":"g1","kind":"Pod","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: may not be set on pods that are already bound to a node","field":"status.nominatedNodeName"}]},"code":422}"#,
                "\n"
            )
        );
        assert_eq!(
            body(&refusals::forbidden(
                "fgmetrics26118",
                "get",
                Resource::core("nodes/proxy"),
                None,
                Some("n37a")
            )),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"nodes \"n37a\" is forbidden: User \"fgmetrics26118\" cannot get resource \"nodes/proxy\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"name":"n37a","kind":"nodes"},"code":403}"#,
                "\n"
            )
        );
        assert_eq!(
            body(&refusals::forbidden_path("mon", "get", "/configz")),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"mon\" cannot get path \"/configz\"","reason":"Forbidden","details":{},"code":403}"#,
                "\n"
            )
        );
        assert_eq!(
            body(&refusals::unauthorized()),
            concat!(
                r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_list_is_forbidden_without_a_name() {
        let events = Resource {
            group: "events.k8s.io",
            name: "events",
        };
        let answer = body(&refusals::forbidden(
            "alice",
            "list",
            events,
            Some("default"),
            None,
        ));
        let status: Value = serde_json::from_str(&answer).expect("a Status is JSON");
        assert_eq!(
            status["message"],
            "events.events.k8s.io is forbidden: User \"alice\" cannot list resource \"events\" in API group \
             \"events.k8s.io\" in the namespace \"default\""
        );
        assert_eq!(
            status["details"],
            json!({"group": "events.k8s.io", "kind": "events"})
        );
    }

    #[test]
    fn kubeconfig_points_at_the_server() {
        let server = FakeServer::start(Routes::new());
        let folder = std::env::temp_dir().join(format!("fake-server-{}", server.address().port()));
        std::fs::create_dir_all(&folder).expect("the temporary folder can be written to");
        let path = server.kubeconfig(&folder);
        let mut text = String::new();
        std::fs::OpenOptions::new()
            .read(true)
            .open(&path)
            .and_then(|mut file| file.read_to_string(&mut text))
            .expect("the file was just written");
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
        assert!(
            text.contains(&format!(
                "    server: http://127.0.0.1:{}\n",
                server.address().port()
            )),
            "{text}"
        );
        assert!(
            text.ends_with("    namespace: default\ncurrent-context: fake\n"),
            "{text}"
        );
    }
}
