//! Which proxy leads to a server: kubectl and `explain` decide alike, on the real server behind a real proxy.
//!
//! Loopback servers are never proxied by the environment, so the server goes by a name here, which only a hosts file of a
//! mount namespace and the proxy know.

use std::error::Error;
use std::net::SocketAddr;

use testkit::Cluster;
use testkit::fake_server::{FakeServer, Routes};
use testkit::proxy::Proxy;

use crate::both::Due;
use crate::connections::Files;
use crate::machinery::Check;
use crate::plugin::same;

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("connections::proxies_are_chosen_as_by_kubectl", chosen),
    (
        "connections::networks_in_no_proxy_mean_what_they_mean_to_kubectl",
        networks,
    ),
];

/// A name that the server's certificate is for.
const NAME: &str = "kubernetes.default.svc";

/// A mount namespace where the name leads to the server.
const HOSTS: &str = "set -e
mount --bind \"$HOSTS\" /etc/hosts
exec \"$@\"";

/// The variable that kubectl looks at first for an https server.
fn by_environment(value: &str) -> (&'static str, &str) {
    ("HTTPS_PROXY", value)
}

fn chosen(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    let address: SocketAddr = cluster.server().trim_start_matches("https://").parse()?;
    let proxy = Proxy::start(&[(NAME, address)], None);
    let guarded = Proxy::start(&[(NAME, address)], Some("me:p@ss"));
    let hosts = files.write("hosts", &format!("{} {NAME}\n", address.ip()))?;
    let (open, shut) = (proxy.address(), guarded.address());
    let url = format!("http://{open}");
    let bare = open.to_string();
    let socks = format!("socks5://{open}");
    let remote = format!("socks5h://{open}");
    let with_password = format!("http://me:p%40ss@{shut}");
    let without = format!("http://{shut}");
    let port = address.port();
    let named = format!("https://{NAME}:{port}");
    let local = cluster.server().to_owned();
    let with_port = format!("{NAME}:{port}");
    let config = |server: &str, proxy_url: &str| {
        let fields =
            format!("server: '{server}', certificate-authority: ca.crt, proxy-url: '{proxy_url}'");
        files.whole("config", &fields, &files.token(), "current-context: x")
    };
    for (server, proxy_url, variables, due) in [
        (named.as_str(), "", vec![], Some(false)),
        (&named, "", vec![by_environment(&url)], Some(true)),
        (&named, "", vec![by_environment(&bare)], Some(true)),
        (&named, "", vec![by_environment(&socks)], Some(true)),
        (&named, "", vec![by_environment(&remote)], Some(true)),
        (&named, "", vec![by_environment(&with_password)], Some(true)),
        (&named, "", vec![by_environment(&without)], None),
        (&named, "", vec![("https_proxy", &url)], Some(true)),
        (&named, "", vec![("HTTP_PROXY", &url)], Some(false)),
        (&named, "", vec![("ALL_PROXY", &url)], Some(false)),
        // The first variable counts, even if it is empty the second does.
        (
            &named,
            "",
            vec![by_environment(""), ("https_proxy", &url)],
            Some(true),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", NAME)],
            Some(false),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("no_proxy", NAME)],
            Some(false),
        ),
        (
            &named,
            "",
            vec![
                by_environment(&url),
                ("NO_PROXY", "other"),
                ("no_proxy", NAME),
            ],
            Some(true),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", ".svc")],
            Some(false),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", "svc")],
            Some(false),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", "*.svc")],
            Some(false),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", "*svc")],
            Some(true),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", "vc")],
            Some(true),
        ),
        (
            &named,
            "",
            vec![
                by_environment(&url),
                ("NO_PROXY", ".kubernetes.default.svc"),
            ],
            Some(true),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", "KUBERNETES.default.svc")],
            Some(false),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", &with_port)],
            Some(false),
        ),
        (
            &named,
            "",
            vec![
                by_environment(&url),
                ("NO_PROXY", "kubernetes.default.svc:1"),
            ],
            Some(true),
        ),
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", ",, x , *")],
            Some(false),
        ),
        (
            &named,
            "",
            vec![
                by_environment(&url),
                ("NO_PROXY", "127.0.0.0/8,:,[,kubernetes.default.svc."),
            ],
            Some(true),
        ),
        // The proxy's own address is not what it is about.
        (
            &named,
            "",
            vec![by_environment(&url), ("NO_PROXY", "127.0.0.1,127.0.0.0/8")],
            Some(true),
        ),
        // This machine: never by the environment, always by the kubeconfig.
        (&local, "", vec![by_environment(&url)], Some(false)),
        (&local, &url, vec![("NO_PROXY", "*")], Some(true)),
        (
            &local,
            &socks,
            vec![("NO_PROXY", "127.0.0.0/8")],
            Some(true),
        ),
        (&local, &with_password, vec![], Some(true)),
        (&local, &without, vec![], None),
        (&named, &url, vec![by_environment(&without)], Some(true)),
        (&local, "ftp://127.0.0.1:1", vec![], None),
        (&local, &bare, vec![], None),
    ] {
        let config = config(server, proxy_url)?;
        let mut conditions = files
            .with(&config)
            .variables(&variables)
            .variables(&[("HOSTS", &hosts)]);
        conditions.wrapper = vec!["unshare", "--mount", "sh", "-c", HOSTS, "sh"];
        let opened = || proxy.opened().len() + guarded.opened().len();
        let mut used = Vec::new();
        for words in [["get", "pod"], ["nominate", "explain"]] {
            let before = opened();
            conditions.run(cluster, &words)?;
            used.push(opened() > before);
        }
        let proxied = due.unwrap_or(false);
        same(&used, &vec![proxied, proxied]).map_err(|error| format!("{conditions:?}: {error}"))?;
        let due = if due.is_some() {
            Due::Works
        } else {
            Due::Fails("proxy")
        };
        conditions.hold(cluster, due)?;
    }
    differs(cluster, &files)
}

/// What docs/connections.md says that differs.
fn differs(cluster: &Cluster, files: &Files) -> Result<(), Box<dyn Error>> {
    // The fake server knows no Pods; our proxy does not forward, it only tunnels.
    let server = FakeServer::start(Routes::new());
    let proxy = Proxy::start(&[("api.example", server.address())], None);
    let url = format!("http://{}", proxy.address());
    let config = files.whole(
        "config",
        "server: 'http://api.example:80'",
        "",
        "current-context: x",
    )?;
    let conditions = files.with(&config).variables(&[("HTTP_PROXY", &url)]);
    conditions.hold(cluster, Due::WorksHereOnly)?;
    same(&server.requests().len(), &1)?;

    let proxy = Proxy::start(&[], None);
    let fields = format!(
        "server: '{}', certificate-authority: ca.crt, proxy-url: 'socks5://me:secret@{}'",
        files.server,
        proxy.address()
    );
    let config = files.whole("config", &fields, &files.token(), "current-context: x")?;
    let conditions = files.with(&config);
    let get = conditions.run(cluster, &["get", "pod"])?;
    same(
        &(get.stderr.contains("NotFound"), proxy.opened().is_empty()),
        &(true, false),
    )?;
    let explain = conditions.run(cluster, &["nominate", "explain"])?;
    let due = "error: the proxy URL of the cluster cannot be used: a user name for a SOCKS5 proxy is not supported\n";
    same(&(explain.code, explain.stderr.as_str()), &(Some(1), due))
}

/// Addresses that are elsewhere, in a network namespace that has nothing: the way that was tried is told by the error.
fn networks(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let files = Files::new(cluster)?;
    for (server, rule, proxied) in [
        ("https://10.99.1.2:6443", "", true),
        ("https://10.99.1.2:6443", "10.0.0.0/8", false),
        (
            "https://10.99.1.2:6443",
            "10.98.0.0/16, 10.99.0.0/16",
            false,
        ),
        ("https://10.99.1.2:6443", "10.98.0.0/16", true),
        ("https://10.99.1.2:6443", "10.99.1.2", false),
        ("https://10.99.1.2:6443", "10.99.1.2:6443", false),
        ("https://10.99.1.2:6443", "10.99.1.2:443", true),
        ("https://10.99.1.2:6443", ".2", true),
        ("https://10.99.1.2:6443", "99.1.2", true),
        ("https://10.99.1.2", "10.99.1.2:443", false),
        ("https://[2001:db8::7]:6443", "", true),
        ("https://[2001:db8::7]:6443", "2001:db8::/32", false),
        ("https://[2001:db8::7]:6443", "2001:db8::7", false),
        ("https://[2001:db8::7]:6443", "[2001:db8::7]:6443", false),
        ("https://[2001:db8::7]:6443", "[2001:db8::7]:1", true),
        ("https://localhost:6443", "", false),
        ("https://127.9.9.9:6443", "", false),
        ("https://[::1]:6443", "", false),
        ("http://10.99.1.2:8080", "", false),
    ] {
        let fields = format!("server: '{server}'");
        let config = files.whole("config", &fields, &files.token(), "current-context: x")?;
        let mut conditions = files
            .with(&config)
            .variables(&[("HTTPS_PROXY", "http://127.0.0.1:9"), ("NO_PROXY", rule)]);
        conditions.wrapper = vec!["unshare", "--net"];
        let get = conditions.run(cluster, &["get", "pod"])?;
        let explain = conditions.run(cluster, &["nominate", "explain"])?;
        let tried = (
            get.stderr.contains("proxyconnect"),
            explain.stderr.contains("through the proxy"),
        );
        same(&tried, &(proxied, proxied))
            .map_err(|error| format!("{server} {rule:?}: {error}\n{get:?}\n{explain:?}"))?;
    }
    Ok(())
}
