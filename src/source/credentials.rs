//! What a kubeconfig's user proves itself with: certificate, token, token file, credential plugin, in kubectl's order.
//!
//! kube's own reading is not used: kube 5.0 sends the line end of a token file, runs a plugin several times and without
//! a limit, and shows what it printed. It must not log or show a secret.
#![expect(
    clippy::disallowed_methods,
    reason = "a token file is a part of the configuration"
)]

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster};
use secrecy::ExposeSecret;

use super::exec::{self, ExecError, Terms};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialError {
    #[error(
        "more than one authentication method found for {0}; found [token basicAuth], only one is allowed"
    )]
    TokenAndPassword(String),
    #[error("the user {0:?} has only a user name and a password, which API servers no longer take")]
    Password(String),
    #[error(
        "the user {user:?} needs the auth provider {provider:?}, which kubectl does not have any more"
    )]
    Provider { user: String, provider: String },
    #[error(
        "client-key-data or client-key must be specified for {0} to use the clientCert authentication method."
    )]
    NoKey(String),
    #[error("the token file {path:?} of the user {user:?} cannot be read")]
    TokenFile {
        user: String,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("getting credentials: {0}")]
    Exec(#[from] ExecError),
}

/// Turns a user into one that kube only has to send.
pub(super) async fn resolve(
    name: &str,
    mut user: AuthInfo,
    cluster: &Cluster,
    terms: Terms,
) -> Result<AuthInfo, CredentialError> {
    let password = user.username.take().is_some() | user.password.take().is_some();
    if let Some(path) = user.token_file.take().filter(|path| !path.is_empty()) {
        let token =
            std::fs::read_to_string(&path).map_err(|source| CredentialError::TokenFile {
                user: name.to_owned(),
                path,
                source,
            })?;
        // Files end with a line end, and headers may not.
        user.token = Some(token.trim().into());
    }
    user.token = user.token.filter(|token| !token.expose_secret().is_empty());
    let has_certificate =
        user.client_certificate.is_some() || user.client_certificate_data.is_some();
    if has_certificate && user.client_key.is_none() && user.client_key_data.is_none() {
        return Err(CredentialError::NoKey(name.to_owned()));
    }
    match (password, user.token.is_some()) {
        (true, true) => return Err(CredentialError::TokenAndPassword(name.to_owned())),
        (true, false) if !has_certificate && user.exec.is_none() => {
            return Err(CredentialError::Password(name.to_owned()));
        }
        _ => {}
    }
    if let Some(provider) = user.auth_provider.take() {
        // What OpenID Connect left in the file is a token like any other until it expires.
        match provider.config.get("id-token") {
            Some(token) if provider.name == "oidc" => user.token = Some(token.as_str().into()),
            _ => {
                return Err(CredentialError::Provider {
                    user: name.to_owned(),
                    provider: provider.name,
                });
            }
        }
    }
    if let (Some(plugin), None) = (user.exec.take(), &user.token) {
        let credentials = exec::run(name, &plugin, cluster, terms).await?;
        user.token = credentials.token.map(Into::into);
        if let Some(identity) = credentials.identity {
            (user.client_certificate, user.client_key) = (None, None);
            user.client_certificate_data = Some(STANDARD.encode(identity.certificate));
            user.client_key_data = Some(STANDARD.encode(identity.key).into());
        }
    }
    Ok(user)
}
