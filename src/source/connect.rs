//! Makes the client: the chosen cluster and user, the proxy between, and TLS.
//!
//! It reads certificates and runs a credential plugin; it must not send a request. Of kube's configuration it uses the
//! fields, not the loader, which decides on proxies and credentials otherwise than kubectl.
#![expect(
    clippy::disallowed_methods,
    reason = "certificates are a part of the configuration"
)]

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use kube::config::{AuthInfo, Cluster};
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::credentials::{self, CredentialError};
use super::exec::Terms;
use super::failure::Peer;
use super::forward::Forward;
use super::kubeconfig::{self, Chosen, Connection, KubeconfigError};
use super::pin::Fingerprint;
use super::proxy::{self, ProxyError};
use super::transport;
use crate::model::component::ComponentKind;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error("host must be a URL or a host:port pair: {0:?}")]
    Server(String),
    #[error("no server is named for the cluster")]
    NoServer,
    #[error("specifying a root certificates file with the insecure flag is not allowed")]
    InsecureWithAuthority,
    #[error("the certificate authority cannot be used: {0}")]
    Authority(String),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    #[error("a client cannot be made from the kubeconfig")]
    Client(#[source] Box<kube::Error>),
}

/// A client, and what it was made for.
pub(super) struct Connected {
    pub(super) client: Client,
    /// What the client was made of, for one that is used otherwise.
    pub(super) config: Config,
    pub(super) server: Uri,
    pub(super) peer: Peer,
    pub(super) context: Option<String>,
    pub(super) namespace: String,
    /// Its credentials come from a file or a plugin, which may have others by now.
    pub(super) is_renewable: bool,
}

/// Why there is no client for a component.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    #[error("{0:?} is no address of a component; give https://HOST:PORT")]
    Address(String),
    /// What all of them are reached with is not there, in its own words.
    #[error("{0}")]
    Connection(String),
    #[error("a component behind a proxy is not known by its certificate (--pin)")]
    PinnedBehindProxy,
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// What components are reached with at their own addresses: the user's credentials and somebody to verify them by.
pub(super) struct PeerConfig {
    config: Config,
    connection: Connection,
    proxy_of_cluster: Option<String>,
}

/// Gets credentials for components, once for all of them: a plugin may ask a person.
///
/// That the API server's certificate need not be verified is no reason to trust others. The name that it is held against is
/// that of all its replicas, and of no other component.
pub(super) async fn peers(
    connection: &Connection,
    kind: ComponentKind,
    authority_file: Option<&str>,
) -> Result<PeerConfig, ConnectError> {
    let mut connection = connection.clone();
    connection.overrides.insecure_skip_tls_verify = false;
    let mut chosen = kubeconfig::choose(&connection)?;
    chosen.cluster.insecure_skip_tls_verify = None;
    if kind != ComponentKind::KubeApiserver {
        chosen.cluster.tls_server_name = None;
    }
    if let Some(file) = authority_file {
        chosen.cluster.certificate_authority = Some(file.to_owned());
        chosen.cluster.certificate_authority_data = None;
    }
    let proxy_of_cluster = chosen.cluster.proxy_url.clone();
    // Each has its own address; this one stands for them, as one that is verified.
    let anyone = Uri::from_static("https://component.invalid");
    Ok(PeerConfig {
        config: config(&connection, chosen, &anyone).await?,
        connection,
        proxy_of_cluster,
    })
}

/// Makes the client of one component.
pub(super) fn peer(
    configuration: &PeerConfig,
    url: &str,
    fingerprint: Option<Fingerprint>,
) -> Result<(Client, Peer), PeerError> {
    let uri = url.parse::<Uri>().ok();
    let uri = uri.filter(|uri| uri.scheme_str() == Some("https") && has_port_or_none(uri));
    let uri = uri.ok_or_else(|| PeerError::Address(url.to_owned()))?;
    let of_cluster = configuration.proxy_of_cluster.as_deref();
    let proxy = proxy::choose(&uri, of_cluster, &configuration.connection.proxies);
    let mut config = configuration.config.clone();
    config.proxy_url = proxy.map_err(ConnectError::from)?;
    config.cluster_url = uri.clone();
    let peer = of(&config, &uri);
    let client = match fingerprint {
        Some(_) if config.proxy_url.is_some() => return Err(PeerError::PinnedBehindProxy),
        Some(fingerprint) => transport::pinned(&config, fingerprint),
        None => transport::client(config),
    };
    let client = client.map_err(|error| ConnectError::Client(Box::new(error)))?;
    Ok((client, peer))
}

/// Makes the client of a component that is reached through its Pod, where it has the name that a component gives itself in its
/// own certificate (`MaybeDefaultWithSelfSignedCerts`, apiserver 1.37).
pub(super) fn peer_in_pod(
    configuration: &PeerConfig,
    forward: Forward,
    fingerprint: Option<Fingerprint>,
) -> Result<(Client, Peer), PeerError> {
    let mut config = configuration.config.clone();
    config.cluster_url = Uri::from_static("https://localhost");
    let peer = Peer {
        server: forward.to_string(),
        ..of(&config, &config.cluster_url)
    };
    let client = transport::over(&config, forward, fingerprint);
    let client = client.map_err(|error| ConnectError::Client(Box::new(error)))?;
    Ok((client, peer))
}

/// Makes the client of a server that is no part of the cluster: none of the user's credentials, but a token of its own, which plain
/// HTTP does not carry.
pub(super) fn stranger(
    url: &Uri,
    authority_file: Option<&str>,
    token: Option<&str>,
    proxies: &proxy::Environment,
) -> Result<(Client, Peer), ConnectError> {
    let mut config = Config::new(url.clone());
    config.root_cert = authority(&Cluster {
        certificate_authority: authority_file.map(str::to_owned),
        ..Cluster::default()
    })?;
    config.proxy_url = proxy::choose(url, None, proxies)?;
    config.connect_timeout = None;
    config.default_retry = false;
    let is_verified = url.scheme_str() == Some("https");
    config.auth_info.token = token.filter(|_| is_verified).map(Into::into);
    let peer = of(&config, url);
    let client = transport::client(config);
    let client = client.map_err(|error| ConnectError::Client(Box::new(error)))?;
    Ok((client, peer))
}

/// Makes clients of the server of which each has a connection of its own; credentials are got once for all of them.
pub(super) struct Fresh {
    config: Config,
    pub(super) peer: Peer,
}

impl Fresh {
    pub(super) async fn of(connection: &Connection) -> Result<Self, ConnectError> {
        let chosen = kubeconfig::choose(connection)?;
        let server = server(&chosen.cluster)?;
        let config = config(connection, chosen, &server).await?;
        let peer = of(&config, &server);
        Ok(Self { config, peer })
    }

    /// One more client; it sends nothing yet.
    pub(super) fn client(&self) -> Result<Client, ConnectError> {
        let client = transport::client(self.config.clone());
        client.map_err(|error| ConnectError::Client(Box::new(error)))
    }
}

/// Makes a client of the server that can change the protocol of a connection, which HTTP/2 cannot.
pub(super) fn switching(config: &Config) -> Result<Client, ConnectError> {
    let client = Client::try_from(config.clone());
    client.map_err(|error| ConnectError::Client(Box::new(error)))
}

/// Chooses, gets credentials, and makes the client.
pub(super) async fn connect(connection: &Connection) -> Result<Connected, ConnectError> {
    let chosen = kubeconfig::choose(connection)?;
    let server = server(&chosen.cluster)?;
    let is_renewable = chosen.user.exec.is_some() || chosen.user.token_file.is_some();
    let (context, namespace) = (chosen.context.clone(), chosen.namespace.clone());
    let config = config(connection, chosen, &server).await?;
    let peer = of(&config, &server);
    let client = transport::client(config.clone());
    Ok(Connected {
        client: client.map_err(|error| ConnectError::Client(Box::new(error)))?,
        config,
        server,
        peer,
        is_renewable,
        context,
        namespace: namespace.unwrap_or_else(|| "default".to_owned()),
    })
}

/// All that a client needs.
async fn config(
    connection: &Connection,
    chosen: Chosen,
    server: &Uri,
) -> Result<Config, ConnectError> {
    let mut config = Config::new(server.clone());
    config.accept_invalid_certs = chosen.cluster.insecure_skip_tls_verify == Some(true);
    config.root_cert = authority(&chosen.cluster)?;
    if config.accept_invalid_certs && config.root_cert.is_some() {
        return Err(ConnectError::InsecureWithAuthority);
    }
    let name = chosen.cluster.tls_server_name.clone();
    config.tls_server_name = name.filter(|name| !name.is_empty());
    config.disable_compression = chosen.cluster.disable_compression == Some(true);
    let of_cluster = chosen.cluster.proxy_url.as_deref();
    config.proxy_url = proxy::choose(server, of_cluster, &connection.proxies)?;
    // Each request has a limit of its own, which holds for this as well.
    config.connect_timeout = None;
    // kube's own retries are made for controllers: a command would sit on a 503 for minutes.
    config.default_retry = false;
    let terms = Terms {
        limit: connection.request_timeout,
        is_interactive: connection.is_interactive,
    };
    config.auth_info = if server.scheme_str() == Some("https") {
        credentials::resolve(&chosen.user_name, chosen.user, &chosen.cluster, terms).await?
    } else {
        without_credentials(chosen.user)
    };
    Ok(config)
}

/// Whom a client talks to.
fn of(config: &Config, server: &Uri) -> Peer {
    let host = server.host().unwrap_or_default();
    Peer {
        server: server.authority().map_or("", |it| it.as_str()).to_owned(),
        name: config
            .tls_server_name
            .clone()
            .unwrap_or_else(|| host.to_owned()),
        proxy: config.proxy_url.as_ref().map(without_password),
    }
}

/// The server's URL; without a scheme it is http, as for client-go.
fn server(cluster: &Cluster) -> Result<Uri, ConnectError> {
    let text = cluster.server.as_deref().unwrap_or_default();
    if text.is_empty() {
        return Err(ConnectError::NoServer);
    }
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let uri = full.parse::<Uri>().ok();
    uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && has_port_or_none(uri))
        .ok_or_else(|| ConnectError::Server(text.to_owned()))
}

/// Whether what stands for a port is one: the URL's own reader takes `host:1x`.
pub(super) fn has_port_or_none(uri: &Uri) -> bool {
    let authority = uri.authority().map_or("", |it| it.as_str());
    let after_address = authority
        .rsplit_once(']')
        .map_or(authority, |(_, rest)| rest);
    !after_address.contains(':') || uri.port_u16().is_some()
}

/// Whom to speak for, and nothing to prove it with: what plain HTTP may carry.
fn without_credentials(user: AuthInfo) -> AuthInfo {
    AuthInfo {
        impersonate: user.impersonate,
        impersonate_uid: user.impersonate_uid,
        impersonate_groups: user.impersonate_groups,
        impersonate_user_extra: user.impersonate_user_extra,
        ..AuthInfo::default()
    }
}

/// The certificates that the server's must be signed by; null means the system's.
fn authority(cluster: &Cluster) -> Result<Option<Vec<Vec<u8>>>, ConnectError> {
    let present = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let data = present(&cluster.certificate_authority_data);
    let pem = match (data, present(&cluster.certificate_authority)) {
        (Some(data), _) => STANDARD
            .decode(data)
            .map_err(|error| ConnectError::Authority(error.to_string()))?,
        (None, Some(path)) => std::fs::read(&path)
            .map_err(|error: io::Error| ConnectError::Authority(format!("{path:?}: {error}")))?,
        (None, None) => return Ok(None),
    };
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(&pem)
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|error| ConnectError::Authority(error.to_string()))?;
    if certificates.is_empty() {
        return Err(ConnectError::Authority(
            "it holds no certificate (PEM)".to_owned(),
        ));
    }
    Ok(Some(certificates))
}

fn without_password(proxy: &Uri) -> String {
    let host = proxy.authority().map_or("", |authority| {
        let text = authority.as_str();
        text.rsplit_once('@').map_or(text, |(_, host)| host)
    });
    format!("{}://{host}", proxy.scheme_str().unwrap_or_default())
}
