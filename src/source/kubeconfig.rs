//! Which cluster, as whom: kubeconfig files merged, a context chosen, flags put on top, as client-go does.
//!
//! It reads files and may run a credential plugin; it must not send a request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};

/// Name of the context that flags were put on; never shown.
const CHOSEN: &str = "chosen";

/// kubectl's connection flags, resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    /// Files to merge, in the order of KUBECONFIG; one that is missing is skipped unless it was named by flag.
    pub(crate) kubeconfigs: Vec<PathBuf>,
    /// The files come from `--kubeconfig` itself.
    pub(crate) explicit: bool,
    pub(crate) context: Option<String>,
    /// Null means no limit.
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) overrides: Overrides,
}

/// What flags put on top of the chosen context.
#[derive(Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) tls_server_name: Option<String>,
    pub(crate) insecure_skip_tls_verify: bool,
    pub(crate) certificate_authority: Option<String>,
    pub(crate) client_certificate: Option<String>,
    pub(crate) client_key: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) as_user: Option<String>,
    pub(crate) as_uid: Option<String>,
    pub(crate) as_groups: Vec<String>,
    /// Key and value.
    pub(crate) as_extra: Vec<(String, String)>,
    pub(crate) disable_compression: bool,
}

impl std::fmt::Debug for Overrides {
    /// A token must not get into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overrides")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("no kubeconfig was found")]
    NoKubeconfig,
    #[error("the kubeconfig {0:?} does not exist")]
    Missing(PathBuf),
    #[error("the kubeconfig cannot be read")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    #[error("Error in configuration: context was not found for specified context: {0}")]
    NoContext(String),
    #[error("the kubeconfig has no current-context")]
    NoCurrentContext,
    #[error("the kubeconfig has no cluster {0:?}")]
    NoCluster(String),
    #[error("the kubeconfig has no user {0:?}")]
    NoUser(String),
    #[error("the in-cluster configuration cannot be read")]
    InCluster(#[source] kube::config::InClusterError),
    #[error("a client cannot be made from the kubeconfig")]
    Client(#[source] kube::Error),
}

/// The outcome of a choice.
pub(super) struct Chosen {
    pub(super) config: Config,
    /// Null in a cluster, or where flags alone say everything.
    pub(super) context: Option<String>,
}

/// Chooses a context and makes a configuration of it.
pub(super) async fn choose(
    connection: &Connection,
    in_cluster: bool,
) -> Result<Chosen, ConnectError> {
    let overrides = &connection.overrides;
    let merged = merge(connection)?;
    if merged.is_none() && overrides.server.is_none() {
        if in_cluster {
            let config = Config::incluster().map_err(ConnectError::InCluster)?;
            return Ok(Chosen {
                config,
                context: None,
            });
        }
        return Err(ConnectError::NoKubeconfig);
    }
    let kubeconfig = merged.unwrap_or_default();
    let (name, context) = context(&kubeconfig, connection)?;
    let cluster = cluster(&kubeconfig, &context, overrides)?;
    let user = user(&kubeconfig, &context, overrides)?;
    let chosen = Kubeconfig {
        clusters: vec![NamedCluster {
            name: CHOSEN.to_owned(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: CHOSEN.to_owned(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: CHOSEN.to_owned(),
            context: Some(Context {
                cluster: CHOSEN.to_owned(),
                user: Some(CHOSEN.to_owned()),
                namespace: context.namespace.filter(|namespace| !namespace.is_empty()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(CHOSEN.to_owned()),
        ..Kubeconfig::default()
    };
    let config = Config::from_custom_kubeconfig(chosen, &KubeConfigOptions::default())
        .await
        .map_err(ConnectError::Kubeconfig)?;
    Ok(Chosen {
        config,
        context: name,
    })
}

/// The context that was asked for, else the current one; none is needed where a flag names the server.
fn context(
    kubeconfig: &Kubeconfig,
    connection: &Connection,
) -> Result<(Option<String>, Context), ConnectError> {
    let asked = connection
        .context
        .clone()
        .or(kubeconfig.current_context.clone())
        .filter(|name| !name.is_empty());
    let Some(name) = asked else {
        let overrides = &connection.overrides;
        let enough = overrides.server.is_some() || overrides.cluster.is_some();
        return if enough {
            Ok((None, Context::default()))
        } else {
            Err(ConnectError::NoCurrentContext)
        };
    };
    let found = kubeconfig
        .contexts
        .iter()
        .find(|known| known.name == name)
        .and_then(|known| known.context.clone());
    found
        .map(|context| (Some(name.clone()), context))
        .ok_or(ConnectError::NoContext(name))
}

fn cluster(
    kubeconfig: &Kubeconfig,
    context: &Context,
    overrides: &Overrides,
) -> Result<Cluster, ConnectError> {
    let name = overrides.cluster.as_ref().unwrap_or(&context.cluster);
    let found = kubeconfig
        .clusters
        .iter()
        .find(|known| known.name == *name)
        .and_then(|known| known.cluster.clone());
    let mut cluster = match found {
        Some(cluster) => cluster,
        None if overrides.server.is_some() => Cluster::default(),
        None => return Err(ConnectError::NoCluster(name.clone())),
    };
    replace(&mut cluster.server, overrides.server.as_ref());
    replace(
        &mut cluster.tls_server_name,
        overrides.tls_server_name.as_ref(),
    );
    if overrides.insecure_skip_tls_verify {
        // As client-go: what would verify is dropped, so that the flag means what it says.
        cluster.insecure_skip_tls_verify = Some(true);
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
    }
    if let Some(path) = &overrides.certificate_authority {
        cluster.certificate_authority = Some(path.clone());
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = None;
    }
    if overrides.disable_compression {
        cluster.disable_compression = Some(true);
    }
    Ok(cluster)
}

fn user(
    kubeconfig: &Kubeconfig,
    context: &Context,
    overrides: &Overrides,
) -> Result<AuthInfo, ConnectError> {
    let name = overrides.user.as_ref().or(context.user.as_ref());
    let found = name
        .and_then(|name| {
            kubeconfig
                .auth_infos
                .iter()
                .find(|known| known.name == *name)
        })
        .and_then(|known| known.auth_info.clone());
    let mut user = match (found, &overrides.user) {
        (Some(user), _) => user,
        (None, Some(asked)) => return Err(ConnectError::NoUser(asked.clone())),
        // A context whose user is missing means nobody, as in client-go.
        (None, None) => AuthInfo::default(),
    };
    if let Some(token) = &overrides.token {
        user.token = Some(token.clone().into());
        user.token_file = None;
        user.exec = None;
        user.auth_provider = None;
    }
    if let Some(path) = &overrides.client_certificate {
        user.client_certificate = Some(path.clone());
        user.client_certificate_data = None;
    }
    if let Some(path) = &overrides.client_key {
        user.client_key = Some(path.clone());
        user.client_key_data = None;
    }
    replace(&mut user.impersonate, overrides.as_user.as_ref());
    replace(&mut user.impersonate_uid, overrides.as_uid.as_ref());
    if !overrides.as_groups.is_empty() {
        user.impersonate_groups = Some(overrides.as_groups.clone());
    }
    if !overrides.as_extra.is_empty() {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in &overrides.as_extra {
            extra.entry(key.clone()).or_default().push(value.clone());
        }
        user.impersonate_user_extra = Some(extra.into_iter().collect());
    }
    Ok(user)
}

fn replace(value: &mut Option<String>, by: Option<&String>) {
    if let Some(by) = by {
        *value = Some(by.clone());
    }
}

/// Merges the files as client-go does: the first to say something wins.
fn merge(connection: &Connection) -> Result<Option<Kubeconfig>, ConnectError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in &connection.kubeconfigs {
        if !path.exists() {
            if connection.explicit {
                return Err(ConnectError::Missing(path.clone()));
            }
            continue;
        }
        let next = Kubeconfig::read_from(path).map_err(ConnectError::Kubeconfig)?;
        merged = Some(match merged {
            Some(known) => known.merge(next).map_err(ConnectError::Kubeconfig)?,
            None => next,
        });
    }
    Ok(merged)
}
