//! Credential plugins: `exec` of a kubeconfig's user (client.authentication.k8s.io v1 and v1beta1), as client-go runs them.
//!
//! A plugin runs once a command. It is ended with the command or with the time limit, unless somebody may type: then it
//! may be waiting for them. What it printed may be a secret, so it must not be shown, whatever it is.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

const GROUP: &str = "client.authentication.k8s.io";

/// More than any credential is long.
const MAX_OUTPUT: u64 = 1 << 20;

/// What a plugin may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Null is no limit.
    pub(super) limit: Option<Duration>,
    /// Standard input is a terminal.
    pub(super) is_interactive: bool,
}

/// What a plugin gave.
pub(super) struct Credentials {
    pub(super) token: Option<String>,
    pub(super) identity: Option<Identity>,
}

/// A client certificate and its key, both PEM.
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("{field} must be specified for {user} to use exec authentication plugin")]
    Unspecified { field: &'static str, user: String },
    #[error("exec plugin: invalid apiVersion {0:?}")]
    Version(String),
    #[error("exec: executable {command} not found")]
    NotFound {
        command: String,
        hint: Option<String>,
    },
    #[error("exec: executable {command} cannot be run: {source}")]
    NotRun { command: String, source: io::Error },
    #[error("exec plugin cannot support interactive mode: standard input is not a terminal")]
    NoTerminal,
    #[error("exec: executable {command} failed with {how}")]
    Failed {
        command: String,
        how: String,
        hint: Option<String>,
    },
    #[error("exec: executable {command} gave no credentials within {}s", limit.as_secs_f64())]
    Late { command: String, limit: Duration },
    #[error("exec: executable {command} printed what is no ExecCredential ({what})")]
    Garbage { command: String, what: String },
    #[error("exec plugin is configured to use API version {due}, plugin returned version {found}")]
    OtherVersion { due: String, found: String },
    #[error("exec plugin didn't return a token or cert/key pair")]
    Nothing,
    #[error("exec plugin returned only certificate or key, not both")]
    Half,
}

impl ExecError {
    /// What the kubeconfig's author wants to be told where the plugin cannot do its work.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::NotFound { hint, .. } | Self::Failed { hint, .. } => hint.as_deref(),
            Self::Late { .. } => Some("give it more time with --request-timeout"),
            _ => None,
        }
    }
}

/// The plugin's answer. A token in it must not get into an error: serde names fields and lines, never values.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExecCredential {
    api_version: String,
    kind: String,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    token: String,
    client_certificate_data: String,
    client_key_data: String,
}

/// Runs the plugin of a user and reads its answer.
pub(super) async fn run(
    user: &str,
    plugin: &ExecConfig,
    cluster: &Cluster,
    terms: Terms,
) -> Result<Credentials, ExecError> {
    let unspecified = |field| ExecError::Unspecified {
        field,
        user: user.to_owned(),
    };
    let present = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let command = present(&plugin.command).ok_or_else(|| unspecified("command"))?;
    let version = present(&plugin.api_version).ok_or_else(|| unspecified("apiVersion"))?;
    let mode = match (&plugin.interactive_mode, version.strip_prefix(GROUP)) {
        (Some(mode), Some("/v1" | "/v1beta1")) => mode.clone(),
        (None, Some("/v1beta1")) => ExecInteractiveMode::IfAvailable,
        (None, Some("/v1")) => return Err(unspecified("interactiveMode")),
        _ => return Err(ExecError::Version(version)),
    };
    if mode == ExecInteractiveMode::Always && !terms.is_interactive {
        return Err(ExecError::NoTerminal);
    }
    let is_interactive = terms.is_interactive && mode != ExecInteractiveMode::Never;
    let info = info(&version, plugin, cluster, is_interactive);
    let work = output(&command, plugin, &info, is_interactive);
    let outcome = match terms.limit.filter(|_| !is_interactive) {
        // The child is killed when the future goes.
        Some(limit) => tokio::time::timeout(limit, work)
            .await
            .map_err(|_| ExecError::Late {
                command: command.clone(),
                limit,
            })?,
        None => work.await,
    };
    let hint = plugin.install_hint.clone();
    let (status, printed) = outcome.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ExecError::NotFound {
            command: command.clone(),
            hint: hint.clone(),
        },
        _ => ExecError::NotRun {
            command: command.clone(),
            source,
        },
    })?;
    if !status.success() {
        let how = match status.code() {
            Some(code) => format!("exit code {code}"),
            None => "a signal".to_owned(),
        };
        return Err(ExecError::Failed { command, how, hint });
    }
    credentials(&command, &version, &printed)
}

/// The plugin's `KUBERNETES_EXEC_INFO`.
fn info(version: &str, plugin: &ExecConfig, cluster: &Cluster, is_interactive: bool) -> Value {
    let mut spec = json!({"interactive": is_interactive});
    if plugin.provide_cluster_info {
        // A CA that cannot be read was refused before.
        let told = ExecAuthCluster::try_from(cluster).unwrap_or_default();
        spec["cluster"] = serde_json::to_value(told).unwrap_or_default();
        if cluster.disable_compression == Some(true) {
            spec["cluster"]["disable-compression"] = true.into();
        }
    }
    json!({"kind": "ExecCredential", "apiVersion": version, "spec": spec})
}

/// Runs it to its end; its errors go where ours go.
async fn output(
    command: &str,
    plugin: &ExecConfig,
    info: &Value,
    is_interactive: bool,
) -> io::Result<(ExitStatus, Vec<u8>)> {
    let variables = plugin.env.iter().flatten().filter_map(|variable| {
        Some((
            variable.get("name")?.as_str(),
            variable.get("value")?.as_str(),
        ))
    });
    let stdin = if is_interactive {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let mut child = Command::new(command)
        .args(plugin.args.iter().flatten())
        .envs(variables)
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    let mut printed = Vec::new();
    if let Some(pipe) = child.stdout.take() {
        pipe.take(MAX_OUTPUT).read_to_end(&mut printed).await?;
    }
    // The pipe is closed here: one that prints for ever ends by it.
    Ok((child.wait().await?, printed))
}

fn credentials(command: &str, due: &str, printed: &[u8]) -> Result<Credentials, ExecError> {
    let garbage = |what: String| ExecError::Garbage {
        command: command.to_owned(),
        what,
    };
    if printed.trim_ascii().is_empty() {
        return Err(garbage("nothing".to_owned()));
    }
    // JSON is YAML, and client-go takes both; an error of the YAML reader quotes what it read.
    let answer: ExecCredential = match serde_json::from_slice(printed) {
        Ok(answer) => answer,
        Err(json) => serde_saphyr::from_slice(printed)
            .map_err(|_| garbage(format!("line {}, column {}", json.line(), json.column())))?,
    };
    if answer.kind != "ExecCredential" {
        return Err(garbage("its kind is another".to_owned()));
    }
    if answer.api_version != due {
        return Err(ExecError::OtherVersion {
            due: due.to_owned(),
            // Not what it is otherwise: it may be anything.
            found: answer.api_version.strip_prefix(GROUP).map_or_else(
                || "of another group".to_owned(),
                |rest| format!("{GROUP}{rest}"),
            ),
        });
    }
    let status = answer
        .status
        .ok_or_else(|| garbage("without a status".to_owned()))?;
    let identity = match (status.client_certificate_data, status.client_key_data) {
        (certificate, key) if certificate.is_empty() && key.is_empty() => None,
        (certificate, key) if certificate.is_empty() || key.is_empty() => {
            return Err(ExecError::Half);
        }
        (certificate, key) => Some(Identity { certificate, key }),
    };
    let token = Some(status.token).filter(|token| !token.is_empty());
    if token.is_none() && identity.is_none() {
        return Err(ExecError::Nothing);
    }
    Ok(Credentials { token, identity })
}
