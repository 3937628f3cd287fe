//! The fake server against its own promises, and its words against those of real servers.

use serde_json::json;

use super::refusals::{Resource, unmatched};
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
    let server = FakeServer::start(Routes::new().get("/a", both.delayed(Duration::from_millis(5))));
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
