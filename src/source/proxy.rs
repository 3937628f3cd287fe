//! Which proxy leads to a server, as kubectl decides it: `proxy-url` of the cluster, else the environment.
//!
//! The rules are Go's (x/net `http/httpproxy`), which kubectl 1.37 was seen to follow (tests/live/connections.rs): a server
//! on this machine is never reached through a proxy of the environment, and `proxy-url` knows no exception. kube's own
//! choice is not used: kube 5.0 holds `NO_PROXY` against the proxy instead of the server. It must not connect.

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;

/// The variables that name proxies; upper case before lower case.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    /// `HTTPS_PROXY`.
    pub(crate) https: Option<String>,
    /// `HTTP_PROXY`.
    pub(crate) http: Option<String>,
    /// `NO_PROXY`.
    pub(crate) none: Option<String>,
}

impl std::fmt::Debug for Environment {
    /// A proxy's password must not get into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("the proxy URL of the cluster cannot be used: {0}")]
    OfCluster(&'static str),
    #[error("the proxy in {variable} cannot be used: {cause}")]
    OfEnvironment {
        variable: &'static str,
        cause: &'static str,
    },
}

/// The proxy to the server, if any.
pub(super) fn choose(
    server: &Uri,
    of_cluster: Option<&str>,
    environment: &Environment,
) -> Result<Option<Uri>, ProxyError> {
    if let Some(url) = of_cluster.filter(|url| !url.is_empty()) {
        return usable(url).map(Some).map_err(ProxyError::OfCluster);
    }
    let (variable, url) = match server.scheme_str() {
        Some("http") => ("HTTP_PROXY", &environment.http),
        _ => ("HTTPS_PROXY", &environment.https),
    };
    let Some(url) = url.as_deref().filter(|_| !bypasses(server, environment)) else {
        return Ok(None);
    };
    let url = if url.contains("://") {
        url.to_owned()
    } else {
        format!("http://{url}")
    };
    usable(&url)
        .map(Some)
        .map_err(|cause| ProxyError::OfEnvironment { variable, cause })
}

/// The URL, if it is one that we can speak with. It may hold a password, so an error must not show it.
fn usable(url: &str) -> Result<Uri, &'static str> {
    // Both names mean to Go that the proxy looks up the server's name.
    let url = match url.split_once("://") {
        Some(("socks5h", rest)) => format!("socks5://{rest}"),
        _ => url.to_owned(),
    };
    let uri: Uri = url.parse().map_err(|_| "it is not a URL")?;
    let credentials = uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'));
    match uri.scheme_str() {
        Some("socks5") if credentials => Err("a user name for a SOCKS5 proxy is not supported"),
        Some("http" | "https" | "socks5") => Ok(uri),
        _ => Err("its scheme must be http, https, or socks5"),
    }
}

/// Whether the environment's proxy is not for this server.
fn bypasses(server: &Uri, environment: &Environment) -> bool {
    let host = server.host().unwrap_or_default().to_ascii_lowercase();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = server
        .port_u16()
        .unwrap_or(if server.scheme_str() == Some("http") {
            80
        } else {
            443
        })
        .to_string();
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    let rules = environment.none.as_deref().unwrap_or_default();
    rules
        .split(',')
        .any(|rule| matches(&rule.trim().to_ascii_lowercase(), host, &port, address))
}

/// One entry of `NO_PROXY`; one that makes no sense matches nothing.
fn matches(rule: &str, host: &str, port: &str, address: Option<IpAddr>) -> bool {
    if rule == "*" {
        return true;
    }
    if let Ok(net) = rule.parse::<IpNet>() {
        return address.is_some_and(|address| net.contains(&address));
    }
    let (name, of_port) = split_port(rule);
    if of_port.is_some_and(|only| !only.is_empty() && only != port) {
        return false;
    }
    if let Ok(only) = name.parse::<IpAddr>() {
        return address == Some(only);
    }
    let name = name
        .strip_prefix('*')
        .filter(|rest| rest.starts_with('.'))
        .unwrap_or(name);
    match name.strip_prefix('.') {
        // The end of an address means nothing.
        _ if name.is_empty() || address.is_some() => false,
        Some(_) => host.ends_with(name),
        None => host == name || host.ends_with(&format!(".{name}")),
    }
}

/// `name:port`, `[v6]:port`, or no port at all.
fn split_port(rule: &str) -> (&str, Option<&str>) {
    if let Some(rest) = rule.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((name, port)) => (name, port.strip_prefix(':')),
            None => (rule, None),
        };
    }
    match rule.split_once(':') {
        // Two colons: an address of version 6.
        Some((_, port)) if port.contains(':') => (rule, None),
        Some((name, port)) => (name, Some(port)),
        None => (rule, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(server: &str, none: &str) -> bool {
        let environment = Environment {
            https: Some("proxy.example:3128".to_owned()),
            http: None,
            none: Some(none.to_owned()),
        };
        let server = server.parse().expect("a URL");
        choose(&server, None, &environment)
            .expect("the proxy is usable")
            .is_some()
    }

    /// tests/live/connections.rs holds the same kinds of rules against kubectl.
    #[test]
    fn no_proxy_is_held_against_the_server() {
        let v6 = "https://[2001:db8::7]:6443";
        for (server, none, proxied) in [
            ("https://api.example:6443", "", true),
            ("https://api.example:6443", "proxy.example", true),
            ("https://api.example:6443", "*", false),
            ("https://api.example:6443", " other , API.example ", false),
            ("https://api.example:6443", "api.example:6443", false),
            ("https://api.example:6443", "api.example:443", true),
            ("https://api.example", "api.example:443", false),
            ("https://a.api.example", "api.example", false),
            ("https://a.api.example", ".example", false),
            ("https://api.example", ".api.example", true),
            ("https://a.api.example", "*.api.example", false),
            ("https://myapi.example", "api.example", true),
            ("https://10.1.2.3:6443", "10.0.0.0/8", false),
            ("https://10.1.2.3:6443", "10.1.2.3", false),
            ("https://10.1.2.3:6443", "10.1.2.3:443,,", true),
            ("https://11.1.2.3:6443", "10.0.0.0/8,:,[", true),
            ("https://10.1.2.3:6443", ".3,2.3", true),
            (v6, "2001:db8::/32", false),
            (v6, "[2001:db8::7]:6443", false),
            (v6, "2001:db8::7", false),
            ("https://127.77.1.1:6443", "", false),
            ("https://localhost:6443", "", false),
            ("https://[::1]:6443", "", false),
        ] {
            assert_eq!(through(server, none), proxied, "{server} with {none:?}");
        }
    }

    #[test]
    fn a_proxy_url_knows_no_exception_and_its_password_is_never_told() {
        let server = "https://127.0.0.1:6443".parse().expect("a URL");
        let environment = Environment {
            none: Some("*".to_owned()),
            ..Environment::default()
        };
        let of = |url: &str| choose(&server, Some(url), &environment);
        assert!(of("http://u:p@proxy.example:3128").is_ok_and(|proxy| proxy.is_some()));
        let socks =
            of("socks5h://proxy.example:1080").map(|proxy| proxy.map(|uri| uri.to_string()));
        assert!(socks.is_ok_and(|uri| uri.as_deref() == Some("socks5://proxy.example:1080/")));
        for bad in ["ftp://u:secret@x", "socks5://u:secret@x", "u:secret@x:y z"] {
            let error = of(bad).expect_err("it is refused").to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(of("").is_ok_and(|proxy| proxy.is_none()));
    }
}
