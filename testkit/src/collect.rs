//! Writes down what the servers of a cluster answer at one moment, as `kubectl nominate explain --from` reads it.
//!
//! The bytes are the server's own, managed fields included. Nothing may be left out or put in order here; what belongs
//! to the machine is taken out by [`crate::normalise`], and only for what is committed.

#![expect(clippy::disallowed_methods, reason = "it reads logs")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::{Client, ClientError};
use crate::cluster::Cluster;

/// Why a moment could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The server did not answer.
    #[error("the server did not give what is to be written down")]
    Client(#[from] ClientError),
    /// A file.
    #[error("could not {what} {}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Writes a moment into a folder and returns the files.
///
/// `pod.json` is the Pod that the moment is about, `pod-NAME.json` are the others of its namespace; `pods.json` and
/// `nodes.json` are the whole cluster's, `events.json`, `events-v1.json` and the logs of server and schedulers beside the folder the namespace's.
pub async fn collect(
    cluster: &Cluster,
    namespace: &str,
    pod: &str,
    folder: &Path,
) -> Result<Vec<PathBuf>, CollectError> {
    let client = cluster.client("admin").await?;
    let mut written = Vec::new();
    fs::create_dir_all(folder).map_err(file("create", folder))?;
    let mut write = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).map_err(file("write", &path))?;
        written.push(path);
        Ok::<(), CollectError>(())
    };
    let of_namespace = format!("/api/v1/namespaces/{namespace}");
    for (name, path) in [
        ("version.json", "/version".to_owned()),
        ("nodes.json", "/api/v1/nodes".to_owned()),
        ("pods.json", "/api/v1/pods".to_owned()),
        ("pod.json", format!("{of_namespace}/pods/{pod}")),
        (
            "claims.json",
            format!("{of_namespace}/persistentvolumeclaims"),
        ),
        ("events.json", format!("{of_namespace}/events")),
        (
            "events-v1.json",
            format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"),
        ),
    ] {
        write(name, &client.raw(&path).await?)?;
    }
    for other in others(&client, &of_namespace, pod).await? {
        let path = format!("{of_namespace}/pods/{other}");
        write(&format!("pod-{other}.json"), &client.raw(&path).await?)?;
    }
    let log = cluster.audit_log();
    let lines = fs::read_to_string(&log).map_err(file("read", &log))?;
    let path = audit_log(folder);
    fs::write(&path, audit_of(&lines, namespace)).map_err(file("write", &path))?;
    let path = scheduler_log(folder);
    fs::write(&path, lines_of_schedulers(cluster, namespace)?).map_err(file("write", &path))?;
    Ok(written)
}

/// Where [`collect`] puts what the schedulers' logs say of the namespace's Pods: beside the moment's folder.
pub fn scheduler_log(folder: &Path) -> PathBuf {
    folder.with_extension("scheduler.log")
}

/// The lines of all schedulers about Pods of a namespace, as they stand.
fn lines_of_schedulers(cluster: &Cluster, namespace: &str) -> Result<String, CollectError> {
    let folder = cluster.logs();
    let fail = || file("read", &folder);
    let mut logs: Vec<PathBuf> = fs::read_dir(&folder)
        .map_err(fail())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(fail())?;
    logs.sort();
    let is_of_scheduler = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.starts_with("kube-scheduler"))
    };
    let of_namespace = format!("\"{namespace}/");
    let mut found = String::new();
    for log in logs.iter().filter(|path| is_of_scheduler(path)) {
        let lines = fs::read_to_string(log).map_err(file("read", log))?;
        found.extend(
            lines
                .split_inclusive('\n')
                .filter(|line| line.contains(&of_namespace)),
        );
    }
    Ok(found)
}

/// Where [`collect`] puts the audit log of a moment: beside its folder, since it is a witness of its own.
pub fn audit_log(folder: &Path) -> PathBuf {
    folder.with_extension("audit.jsonl")
}

async fn others(
    client: &Client,
    of_namespace: &str,
    pod: &str,
) -> Result<Vec<String>, ClientError> {
    let pods = client.list(&format!("{of_namespace}/pods"), &[]).await?;
    let names = pods
        .iter()
        .filter_map(|pod| pod.pointer("/metadata/name")?.as_str());
    Ok(names
        .filter(|name| *name != pod)
        .map(str::to_owned)
        .collect())
}

/// Returns the lines about objects of a namespace.
fn audit_of(lines: &str, namespace: &str) -> String {
    let of_namespace = |line: &&str| {
        // Most lines are about other namespaces, and to parse them all takes longer than the moment lasts.
        if !line.contains(namespace) {
            return false;
        }
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        event
            .pointer("/objectRef/namespace")
            .and_then(Value::as_str)
            == Some(namespace)
    };
    lines.split_inclusive('\n').filter(of_namespace).collect()
}

/// Names the file that an error is about.
fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CollectError {
    let path = path.to_owned();
    move |source| CollectError::File { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_lines_are_kept_whole_and_by_namespace() {
        let lines =
            "{\"objectRef\":{\"namespace\":\"a\"}}\n{\"objectRef\":{\"namespace\":\"b\"}}\n{}\n";
        assert_eq!(
            audit_of(lines, "b"),
            "{\"objectRef\":{\"namespace\":\"b\"}}\n"
        );
    }
}
