//! Which cluster, as whom: kubeconfig files merged, a context chosen, flags put on top, as client-go does.
//!
//! It reads kubeconfigs and no other file; it must not send a request. Where client-go reads on to `localhost:8080`, which
//! nobody serves any more, it says what is missing.
#![expect(
    clippy::disallowed_methods,
    reason = "a Pod's namespace is part of its configuration"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster};

use super::proxy::Environment;

/// Name of a Pod's own cluster and of its user there.
const IN_CLUSTER: &str = "in-cluster";

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
    /// Somebody may type: a credential plugin may ask them.
    pub(crate) is_interactive: bool,
    pub(crate) proxies: Environment,
    /// Null outside of a cluster.
    pub(crate) pod: Option<Pod>,
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
pub(crate) enum KubeconfigError {
    #[error("no kubeconfig was found")]
    None,
    #[error("the kubeconfig {0:?} does not exist")]
    Missing(PathBuf),
    #[error("the kubeconfig {0:?} cannot be read")]
    Unreadable(PathBuf, #[source] kube::config::KubeconfigError),
    #[error("the kubeconfigs cannot be merged")]
    Merge(#[source] kube::config::KubeconfigError),
    #[error("Error in configuration: context was not found for specified context: {0}")]
    NoContext(String),
    #[error("the kubeconfig has no current-context")]
    NoCurrentContext,
    #[error("no server found for cluster {0:?}")]
    NoCluster(String),
    #[error("auth info {0:?} does not exist")]
    NoUser(String),
}

/// The outcome of a choice, flags put on top.
pub(super) struct Chosen {
    /// Null in a cluster, or where flags alone say everything.
    pub(super) context: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) cluster: Cluster,
    /// Its name in the kubeconfig; empty where it has none.
    pub(super) user_name: String,
    pub(super) user: AuthInfo,
}

/// Chooses a context. Where there is none, a Pod's own cluster is it, as for kubectl.
pub(super) fn choose(connection: &Connection) -> Result<Chosen, KubeconfigError> {
    let merged = merge(connection)?;
    let is_there = merged.is_some();
    let mut kubeconfig = merged.unwrap_or_default();
    let overrides = &connection.overrides;
    let asked = connection
        .context
        .clone()
        .or(kubeconfig.current_context.take())
        .filter(|name| !name.is_empty());
    let context = match (&asked, &connection.pod) {
        (Some(name), _) => {
            let mut known = kubeconfig.contexts.iter();
            let found = known.find(|known| known.name == *name);
            found
                .and_then(|known| known.context.clone())
                .ok_or_else(|| KubeconfigError::NoContext(name.clone()))?
        }
        (None, Some(pod)) if overrides.server.is_none() => pod.add_to(&mut kubeconfig),
        _ if overrides.server.is_some() || overrides.cluster.is_some() => Context::default(),
        _ if is_there => return Err(KubeconfigError::NoCurrentContext),
        _ => return Err(KubeconfigError::None),
    };
    let user = overrides.user.as_ref().or(context.user.as_ref());
    Ok(Chosen {
        cluster: cluster(&kubeconfig, &context, overrides)?,
        user_name: user.cloned().unwrap_or_default(),
        user: self::user(&kubeconfig, &context, overrides)?,
        namespace: context.namespace.filter(|name| !name.is_empty()),
        context: asked,
    })
}

/// Names of all contexts, sorted.
pub(crate) fn contexts(connection: &Connection) -> Result<Vec<String>, KubeconfigError> {
    let merged = merge(connection)?.ok_or(KubeconfigError::None)?;
    let mut names: Vec<String> = merged.contexts.into_iter().map(|it| it.name).collect();
    names.sort();
    Ok(names)
}

/// What a Pod is given to reach its own API server.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    pub(crate) host: String,
    pub(crate) port: String,
    /// Null: the one of its service account.
    pub(crate) namespace: Option<String>,
}

impl Pod {
    /// The files of the service account; where there is no token, this is no Pod that may ask.
    pub(crate) const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

    /// Adds it as a cluster and a user, so that flags mean the same as elsewhere; the context that joins them.
    fn add_to(&self, kubeconfig: &mut Kubeconfig) -> Context {
        let file = |name: &str| format!("{}/{name}", Self::FOLDER);
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        let cluster = Cluster {
            server: Some(format!("https://{host}:{}", self.port)),
            certificate_authority: Some(file("ca.crt")),
            ..Cluster::default()
        };
        let user = AuthInfo {
            token_file: Some(file("token")),
            ..AuthInfo::default()
        };
        kubeconfig.clusters.push(NamedCluster {
            name: IN_CLUSTER.to_owned(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        });
        kubeconfig.auth_infos.push(NamedAuthInfo {
            name: IN_CLUSTER.to_owned(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        });
        let of_the_account = || std::fs::read_to_string(file("namespace")).ok();
        Context {
            cluster: IN_CLUSTER.to_owned(),
            user: Some(IN_CLUSTER.to_owned()),
            namespace: self
                .namespace
                .clone()
                .or_else(of_the_account)
                .map(|name| name.trim().to_owned()),
            ..Context::default()
        }
    }
}

fn cluster(
    kubeconfig: &Kubeconfig,
    context: &Context,
    overrides: &Overrides,
) -> Result<Cluster, KubeconfigError> {
    let name = overrides.cluster.as_ref().unwrap_or(&context.cluster);
    let found = kubeconfig
        .clusters
        .iter()
        .find(|known| known.name == *name)
        .and_then(|known| known.cluster.clone());
    let mut cluster = match found {
        Some(cluster) => cluster,
        None if overrides.server.is_some() && overrides.cluster.is_none() => Cluster::default(),
        None => return Err(KubeconfigError::NoCluster(name.clone())),
    };
    if overrides.server.is_some() {
        // The name in the kubeconfig is that of its own server.
        cluster.server.clone_from(&overrides.server);
        cluster
            .tls_server_name
            .clone_from(&overrides.tls_server_name);
    }
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
) -> Result<AuthInfo, KubeconfigError> {
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
        (None, Some(asked)) => return Err(KubeconfigError::NoUser(asked.clone())),
        // A context whose user is missing means nobody, as in client-go.
        (None, None) => AuthInfo::default(),
    };
    if let Some(token) = &overrides.token {
        user.token = Some(token.clone().into());
        user.token_file = None;
        user.exec = None;
        user.auth_provider = None;
        (user.username, user.password) = (None, None);
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
fn merge(connection: &Connection) -> Result<Option<Kubeconfig>, KubeconfigError> {
    let mut merged: Option<Kubeconfig> = None;
    for path in &connection.kubeconfigs {
        if !path.exists() {
            if connection.explicit {
                return Err(KubeconfigError::Missing(path.clone()));
            }
            continue;
        }
        let mut next = Kubeconfig::read_from(path)
            .map_err(|error| KubeconfigError::Unreadable(path.clone(), error))?;
        // An empty one says nothing; the next file may.
        next.current_context = next.current_context.filter(|name| !name.is_empty());
        merged = Some(match merged {
            Some(known) => known.merge(next).map_err(KubeconfigError::Merge)?,
            None => next,
        });
    }
    Ok(merged)
}
