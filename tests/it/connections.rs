//! The way to a server: TLS that does not agree, servers that are busy, break off or never end, proxies between.
#![expect(clippy::disallowed_methods, reason = "a test looks at the clock")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use testkit::fake_server::{Answer, FakeServer, Reply, Routes, refusals};
use testkit::proxy::Proxy;
use testkit::{Authority, Fault};

use super::plugin::{Run, command};

pub(super) const POD: &str = "/api/v1/namespaces/default/pods/web";
const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-nominate");
const NOT_FOUND: &str = "Error from server (NotFound): pods \"web\" not found\n";

/// What servers of TLS 1.0 say: an alert (protocol version), or a `ServerHello` of their own version.
const OLD_ALERT: &[u8] = b"\x15\x03\x01\x00\x02\x02\x46";
const OLD_HELLO: &[u8] =
    b"\x16\x03\x01\x00\x2a\x02\x00\x00\x26\x03\x01RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR\x00\xc0\x13\x00";

/// Runs `explain web` with a kubeconfig and an environment.
pub(super) fn explain(kubeconfig: &Path, more: &[&str], variables: &[(&str, &str)]) -> Run {
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let arguments = [&["explain", "web", "--kubeconfig", kubeconfig], more].concat();
    let output = command(BINARY, &arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built by this test run");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("output is UTF-8"),
    }
}

/// A kubeconfig of one server and one user; both are fields in YAML's flow style.
pub(super) fn kubeconfig(folder: &Path, cluster: &str, user: &str) -> PathBuf {
    let path = folder.join("config");
    let text = format!(
        "clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
    );
    std::fs::write(&path, text).expect("the folder takes a file");
    path
}

/// A TLS server that has no Pod, and the fields of its cluster with its authority as a file in the folder.
pub(super) fn secure(folder: &Path) -> (FakeServer, String) {
    let authority = Authority::new("test").expect("an authority");
    let identity = authority
        .server("test", &["127.0.0.1", "api.example"])
        .expect("a certificate");
    std::fs::write(folder.join("ca.crt"), authority.certificate()).expect("a file");
    let server = FakeServer::start_tls(Routes::new(), &identity);
    let cluster = format!(
        "server: \"{}\", certificate-authority: ca.crt",
        server.url()
    );
    (server, cluster)
}

#[track_caller]
fn ends(run: &Run, code: i32, sentence: &str) {
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(code), "", sentence)
    );
}

#[test]
fn what_is_wrong_with_a_certificate_is_told_with_what_to_do() {
    let authority = Authority::new("test").expect("an authority");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("ca.crt"), authority.certificate()).expect("a file");
    for (fault, words) in [
        (
            Fault::NoName,
            "is for no host: it has no subject alternative name, and its common name does not count; it has to be issued again with one",
        ),
        (
            Fault::OtherNames,
            "is for kubernetes, 10.96.0.1, not for 127.0.0.1; if that is the same server, name one of them with --tls-server-name",
        ),
        (
            Fault::Expired,
            "expired at 2020-02-03T00:00:00Z; it has to be renewed, unless the clock of this machine is wrong",
        ),
        (
            Fault::NotYetValid,
            "is valid from 2096-02-03T00:00:00Z on; look at the clock of this machine",
        ),
        (
            Fault::Version1,
            "is of X.509 version 1, which cannot be verified; it has to be issued again as version 3",
        ),
        (
            Fault::AuthorityItself,
            "is that of an authority itself; the authority has to issue one for the server",
        ),
    ] {
        let identity = authority.faulty_server(fault).expect("a certificate");
        let server = FakeServer::start_tls(Routes::new(), &identity);
        let cluster = format!(
            "server: \"{}\", certificate-authority: ca.crt",
            server.url()
        );
        let config = kubeconfig(folder.path(), &cluster, "token: secret");
        let run = explain(&config, &[], &[]);
        let address = server.address();
        let sentence =
            format!("Unable to connect to the server: the certificate of {address} {words}\n");
        ends(&run, 1, &sentence);
        assert_eq!(server.requests(), [], "{fault:?}: nothing was sent");
        // The name that was told does help.
        if fault == Fault::OtherNames {
            let run = explain(&config, &["--tls-server-name", "kubernetes"], &[]);
            ends(&run, 1, NOT_FOUND);
        }
        let flags = ["--insecure-skip-tls-verify"];
        ends(&explain(&config, &flags, &[]), 1, NOT_FOUND);
    }
}

#[test]
fn an_unknown_authority_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    let other = Authority::new("other").expect("an authority");
    std::fs::write(folder.path().join("ca.crt"), other.certificate()).expect("a file");
    let run = explain(&kubeconfig(folder.path(), &cluster, ""), &[], &[]);
    let sentence = format!(
        "Unable to connect to the server: the certificate of {} is signed by an unknown authority; name the right one \
         with --certificate-authority\n",
        server.address()
    );
    ends(&run, 1, &sentence);
}

/// A server of one connection that reads something, answers these bytes, and waits for the other side to close as well.
fn raw(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        // An error means that the peer has gone.
        for mut stream in listener.incoming().take(1).flatten() {
            stream.set_read_timeout(Some(Duration::from_secs(10))).ok();
            stream.read_exact(&mut [0]).ok();
            stream.write_all(answer).ok();
            stream.shutdown(Shutdown::Write).ok();
            stream.read_to_end(&mut Vec::new()).ok();
        }
    });
    address
}

#[test]
fn a_server_that_speaks_something_else_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |scheme: &str, address: SocketAddr| {
        let cluster = format!("server: \"{scheme}://{address}\", insecure-skip-tls-verify: true");
        explain(&kubeconfig(folder.path(), &cluster, ""), &[], &[])
    };
    let http = raw(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    ends(
        &of("https", http),
        1,
        &format!(
            "Unable to connect to the server: {http} does not speak TLS; if it speaks plain HTTP, its URL begins with http://\n"
        ),
    );
    for old in [OLD_ALERT, OLD_HELLO] {
        let old = raw(old);
        ends(
            &of("https", old),
            1,
            &format!(
                "Unable to connect to the server: {old} speaks no version of TLS that is still safe; it has to offer 1.2 or 1.3\n"
            ),
        );
    }
    let https =
        raw(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    ends(
        &of("http", https),
        1,
        "Unable to connect to the server: it speaks HTTPS; its URL has to begin with https://\n",
    );
}

/// A server with this answer for the Pod, and what came of asking it.
fn asked(answer: Answer, more: &[&str]) -> (Run, usize, Duration, SocketAddr) {
    let server = FakeServer::start(Routes::new().get(POD, answer));
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Instant::now();
    let run = explain(&server.kubeconfig(folder.path()), more, &[]);
    let took = begun.elapsed();
    (run, server.requests().len(), took, server.address())
}

#[test]
fn a_busy_server_is_asked_again_a_few_times_and_no_longer_than_it_may_take() {
    let missing = || refusals::not_found(refusals::Resource::core("pods"), "web");
    let busy = |seconds| refusals::too_many_requests(seconds);
    let (run, requests, took, _) = asked(Answer::Sequence(vec![busy(1), missing()]), &[]);
    ends(&run, 1, NOT_FOUND);
    assert_eq!(requests, 2);
    assert!(took >= Duration::from_secs(1), "{took:?}");

    let twice = vec![refusals::unavailable(), refusals::unavailable(), missing()];
    let (run, requests, ..) = asked(Answer::Sequence(twice), &[]);
    ends(&run, 1, NOT_FOUND);
    assert_eq!(requests, 3);

    let (run, requests, ..) = asked(refusals::unavailable(), &[]);
    let sentence = "Error from server (ServiceUnavailable): the server is currently unable to handle the request\n";
    ends(&run, 1, sentence);
    assert_eq!(requests, 3);

    let (run, requests, ..) = asked(busy(600), &[]);
    let sentence = "Error from server (TooManyRequests): the server has received too many requests and has asked us to try again later; it asks to come back in 600s\n";
    ends(&run, 1, sentence);
    assert_eq!(requests, 1, "nobody waits ten minutes");

    let (run, requests, ..) = asked(busy(2), &["--request-timeout", "1s"]);
    assert_eq!((run.code, requests), (Some(1), 1), "{}", run.stderr);
    assert!(run.stderr.contains("TooManyRequests"), "{}", run.stderr);
}

#[test]
fn an_answer_that_breaks_off_or_never_ends_is_told_in_time() {
    let pod = Reply::new(200, "application/json", r#"{"kind":"Pod"}"#);
    let cut = Answer::CloseMidBody {
        reply: pod.clone(),
        after: 5,
    };
    let (run, requests, _, address) = asked(cut, &[]);
    let sentence = format!(
        "Unable to connect to the server: {address} closed the connection before its answer was complete\n"
    );
    ends(&run, 1, &sentence);
    assert_eq!(requests, 1);

    let limit = ["--request-timeout", "700ms"];
    let (run, _, took, address) = asked(Answer::Endless(pod), &limit);
    let late = format!(
        "Unable to connect to the server: {address} did not finish its answer within 0.7s\n"
    );
    // A quick machine may get so much of it that there is no room for more.
    let large = format!("Unable to connect to the server: {address}: length limit exceeded\n");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr == late || run.stderr == large, "{}", run.stderr);
    assert!(took < Duration::from_secs(20), "{took:?}");

    // It takes the connection, and that is all: the kernel does it for whoever listens.
    let silent = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = silent.local_addr().expect("an address");
    let folder = tempfile::tempdir().expect("a folder");
    for scheme in ["http", "https"] {
        let cluster = format!("server: \"{scheme}://{address}\"");
        let run = explain(&kubeconfig(folder.path(), &cluster, ""), &limit, &[]);
        let sentence =
            format!("Unable to connect to the server: {address} gave no answer within 0.7s\n");
        ends(&run, 1, &sentence);
    }
}

#[test]
fn a_server_below_a_path_keeps_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = "/k8s/clusters/c-m-1";
    let routes = Routes::new().get(
        &format!("{prefix}{POD}"),
        refusals::not_found(refusals::Resource::core("pods"), "web"),
    );
    let server = FakeServer::start(routes);
    for slash in ["", "/"] {
        let cluster = format!("server: \"{}{prefix}{slash}\"", server.url());
        let run = explain(&kubeconfig(folder.path(), &cluster, ""), &[], &[]);
        ends(&run, 1, NOT_FOUND);
    }
    let paths: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.path().to_owned())
        .collect();
    let due = format!("{prefix}{POD}");
    assert_eq!(paths, [due.clone(), due]);
}

#[test]
fn a_proxy_url_leads_through_the_proxy_even_to_this_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    for (password, scheme) in [
        (None, "http://"),
        (None, "socks5://"),
        (None, "socks5h://"),
        (Some("me:p@ss w"), "http://me:p%40ss%20w@"),
    ] {
        let proxy = Proxy::start(&[], password);
        let proxied = format!("{cluster}, proxy-url: \"{scheme}{}\"", proxy.address());
        let config = kubeconfig(folder.path(), &proxied, "token: secret");
        let run = explain(
            &config,
            &[],
            &[("NO_PROXY", "*,,"), ("HTTPS_PROXY", "http://nowhere:1")],
        );
        ends(&run, 1, NOT_FOUND);
        assert_eq!(proxy.opened(), [server.address().to_string()], "{scheme}");
    }
}

#[test]
fn a_proxy_of_the_environment_leads_to_servers_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    let proxy = Proxy::start(&[("api.example", server.address())], None);
    let address = proxy.address().to_string();
    let url = format!("http://{address}");
    let socks = format!("socks5://{address}");
    let by_name = cluster.replace("127.0.0.1", "api.example");
    let config = kubeconfig(folder.path(), &by_name, "");
    let mut opened = 0;
    for variable in ["HTTPS_PROXY", "https_proxy"] {
        for value in [&address, &url, &socks] {
            let variables = [
                (variable, value.as_str()),
                ("NO_PROXY", "127.0.0.1, other.example"),
            ];
            ends(&explain(&config, &[], &variables), 1, NOT_FOUND);
            opened += 1;
            assert_eq!(proxy.opened().len(), opened, "{variable}={value}");
        }
    }
    // This machine is never reached through it.
    let local = kubeconfig(folder.path(), &cluster, "");
    ends(
        &explain(&local, &[], &[("HTTPS_PROXY", &url)]),
        1,
        NOT_FOUND,
    );
    assert_eq!(proxy.opened().len(), opened);
}

#[test]
fn a_proxy_that_does_not_help_is_named_without_its_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let (server, cluster) = secure(folder.path());
    let proxy = Proxy::start(&[], Some("me:right"));
    let address = proxy.address();
    let of = |url: &str| {
        let cluster = format!("{cluster}, proxy-url: \"{url}\"");
        explain(&kubeconfig(folder.path(), &cluster, ""), &["-v", "9"], &[])
    };
    let run = of(&format!("http://me:hunter2@{address}"));
    assert_eq!(run.code, Some(1));
    let words = format!(
        "Unable to connect to the server: through the proxy http://{address}: tunnel error: proxy authorization required\n"
    );
    assert!(run.stderr.ends_with(&words), "{}", run.stderr);
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    assert_eq!(proxy.refused(), ["password"]);
    drop(proxy);
    for scheme in ["http", "socks5"] {
        let run = of(&format!("{scheme}://{address}"));
        assert_eq!(run.code, Some(1));
        let words = format!("through the proxy {scheme}://{address}: ");
        assert!(run.stderr.contains(&words), "{}", run.stderr);
        assert!(
            !run.stderr.contains("was refused - did you"),
            "{}",
            run.stderr
        );
    }
    let run = of("socks5://me:hunter2@127.0.0.1:1");
    ends(
        &run,
        1,
        "error: the proxy URL of the cluster cannot be used: a user name for a SOCKS5 proxy is not supported\n",
    );
    assert_eq!(server.requests(), []);
}

#[test]
fn no_server_no_list_of_rights() {
    let server = FakeServer::start(Routes::new());
    let (address, folder) = (server.address(), tempfile::tempdir().expect("a folder"));
    let config = server.kubeconfig(folder.path());
    drop(server);
    let sentence = format!(
        "The connection to the server {address} was refused - did you specify the right host or port?\n"
    );
    for output in ["table", "json"] {
        let run = explain(&config, &["--show-access", "-o", output], &[]);
        ends(&run, 1, &sentence);
    }
}

#[test]
fn a_cache_folder_is_accepted_and_stays_empty() {
    let server = FakeServer::start(Routes::new());
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let flags = ["--cache-dir", cache.to_str().expect("the path is UTF-8")];
    let run = explain(&server.kubeconfig(folder.path()), &flags, &[]);
    ends(&run, 1, NOT_FOUND);
    assert!(!cache.exists());
}
