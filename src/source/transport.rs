//! The connection that requests travel on: one, by HTTP/2, and no waiting in its socket.
//!
//! kube's own transport speaks HTTP/1.1, so that requests sent together need a TLS handshake each, and leaves Nagle's
//! algorithm on, so that the first request of each waits for the server's delayed acknowledgement (40 ms on Linux).
//! All that a kubeconfig says is kube's to do. It must not know what is asked.

use http::Uri;
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::{Client, Config};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tower::{BoxError, Service, ServiceBuilder};
use tower_http::decompression::DecompressionLayer;

use super::pin::{self, Fingerprint};

/// Makes a client; sends nothing yet.
pub(super) fn client(config: Config) -> Result<Client, kube::Error> {
    let name = config.tls_server_name.clone().map(ServerName::try_from);
    if config.proxy_url.is_some() || matches!(name, Some(Err(_))) {
        // A tunnel through a proxy is kube's to dig, and kube says what is wrong with a name.
        return Client::try_from(config);
    }
    let tcp = tcp(&config);
    over(&config, tcp, None)
}

/// The same to a server that is known by its certificate; a tunnel through a proxy is not dug for that.
pub(super) fn pinned(config: &Config, fingerprint: Fingerprint) -> Result<Client, kube::Error> {
    let tcp = tcp(config);
    over(config, tcp, Some(fingerprint))
}

fn tcp(config: &Config) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp
}

/// The same over connections that somebody else makes.
pub(super) fn over<C, S>(
    config: &Config,
    connector: C,
    fingerprint: Option<Fingerprint>,
) -> Result<Client, kube::Error>
where
    C: Service<Uri, Response = TokioIo<S>> + Clone + Send + Sync + 'static,
    C::Future: Send,
    C::Error: Into<BoxError>,
    S: AsyncRead + AsyncWrite + Connection + Send + Unpin + 'static,
{
    let mut verifying = config.rustls_client_config()?;
    if let Some(fingerprint) = fingerprint {
        pin::pin(&mut verifying, fingerprint);
    }
    let mut tls = HttpsConnectorBuilder::new()
        .with_tls_config(verifying)
        .https_or_http();
    let name = config.tls_server_name.clone();
    if let Some(Ok(name)) = name.map(ServerName::try_from) {
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let connector = tls.enable_http1().enable_http2().wrap_connector(connector);
    let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .build::<_, Body>(connector);
    let gzip = DecompressionLayer::new()
        .no_br()
        .no_deflate()
        .no_zstd()
        .gzip(!config.disable_compression);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer(gzip)
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}
