//! The cluster that is measured: a nominated, a bound and an unschedulable Pod, among as many others as asked for.
//!
//! When the three are there, everything but etcd and the API server ends: so nothing changes, and the machine is quiet.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::crowd::Crowd;
use testkit::scenario::SCENARIOS;
use testkit::standstill::stand_still;
use testkit::{Client, Cluster, ClusterOptions};

use crate::measure::Tool;
use crate::{Counting, Result};

/// Where the others are.
const NAMESPACE: &str = "crowd";
const NODE: &str = "crowd-0000";
/// Pods on the node of the nomination, as many as a kubelet takes by default, less those of the scenario.
const NEIGHBOURS: usize = 105;
const PODS_A_NODE: usize = 100;

/// How long the API server may take to learn of what etcd holds.
const CEILING: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Nominated,
    Bound,
    Unschedulable,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Nominated, Self::Bound, Self::Unschedulable];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Nominated => "nominated",
            Self::Bound => "bound",
            Self::Unschedulable => "unschedulable",
        }
    }
}

pub(crate) struct Stage<'a> {
    crowd: Crowd,
    admin: Client,
    cluster: &'a Cluster,
    pub(crate) kubeconfig: PathBuf,
    /// The same through what counts.
    pub(crate) counted_kubeconfig: PathBuf,
    pub(crate) counting: Counting,
    folder: tempfile::TempDir,
    namespace: String,
    pod: Original,
    neighbour: Original,
    node: Original,
    grown: std::cell::Cell<usize>,
}

/// What is copied: its key, name and UID.
struct Original {
    key: String,
    name: String,
    uid: String,
}

pub(crate) fn options(minor: &str) -> ClusterOptions {
    ClusterOptions::new(minor).nodes(&["n1", "n2", NODE])
}

impl<'a> Stage<'a> {
    pub(crate) async fn set(cluster: &'a Cluster) -> Result<Self> {
        let admin = cluster.client("admin").await?;
        let name = json!({"metadata": {"name": NAMESPACE}});
        admin.create("/api/v1/namespaces", &name).await?;
        let pod = small_pod(&admin, "others-000000", NODE).await?;
        let neighbour = small_pod(&admin, "beside-000000", "n1").await?;
        // The scenario must find no room there.
        let node = format!("/api/v1/nodes/{NODE}");
        let closed = json!({"spec": {"unschedulable": true}});
        let node = admin.merge_patch(&node, &closed).await?;
        unschedulable(&admin).await?;
        let scenario = SCENARIOS
            .iter()
            .find(|scenario| scenario.name == "preemption-with-grace")
            .ok_or("no such scenario")?;
        let stands = stand_still(cluster, scenario, "waiting").await?;
        for component in ["kubelet-n1", "kubelet-n2", &format!("kubelet-{NODE}")] {
            cluster.kill(component)?;
        }
        cluster.kill("kube-scheduler")?;
        cluster.kill("kube-controller-manager")?;

        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let text = std::fs::read_to_string(cluster.kubeconfig("viewer"))?;
        std::fs::write(&kubeconfig, &text)?;
        let server = cluster.server().trim_start_matches("https://");
        let counting = Counting::before(server)?;
        let counted_kubeconfig = folder.path().join("counted");
        let counted = text.replace(server, &counting.address.to_string());
        std::fs::write(&counted_kubeconfig, counted)?;
        let stage = Self {
            crowd: Crowd::of(cluster)?,
            admin,
            cluster,
            kubeconfig,
            counted_kubeconfig,
            counting,
            folder,
            namespace: stands.namespace.clone(),
            pod: Original::of(&pod, &format!("/registry/pods/{NAMESPACE}/"))?,
            neighbour: Original::of(&neighbour, &format!("/registry/pods/{NAMESPACE}/"))?,
            node: Original::of(&node, "/registry/minions/")?,
            grown: std::cell::Cell::new(0),
        };
        let beside = (1..NEIGHBOURS).map(|n| stage.neighbour.copied(n));
        stage.crowd.copy(&stage.neighbour.key, beside).await?;
        Ok(stage)
    }

    /// Makes the Pods so many.
    pub(crate) async fn grow(&self, pods: usize) -> Result<()> {
        let before = self.grown.replace(pods);
        let nodes = |pods: usize| pods.div_ceil(PODS_A_NODE);
        let new_nodes = nodes(before).max(1)..nodes(pods);
        let copies = new_nodes.map(|n| self.node.copied(n));
        self.crowd.copy(&self.node.key, copies).await?;
        let copies = (before.max(1)..pods).map(|n| {
            let mut replacements = self.pod.copied(n);
            replacements.push((NODE.to_owned(), numbered(NODE, n / PODS_A_NODE)));
            replacements
        });
        self.crowd.copy(&self.pod.key, copies).await?;
        self.seen("/api/v1/pods", pods + NEIGHBOURS).await
    }

    /// Gives each Pod its event `Scheduled`.
    pub(crate) async fn tell(&self, pods: usize) -> Result<()> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/events");
        let about = format!("involvedObject.uid={},reason=Scheduled", self.pod.uid);
        let events = self.admin.list(&path, &[("fieldSelector", &about)]).await?;
        let event = events.first().ok_or("no event tells of the binding")?;
        let event = Original::of(event, &format!("/registry/events/{NAMESPACE}/"))?;
        let copies = (1..pods).map(|n| {
            let mut replacements = self.pod.copied(n);
            replacements.push((event.uid.clone(), counted(&event.uid, n)));
            replacements.push((NODE.to_owned(), numbered(NODE, n / PODS_A_NODE)));
            replacements
        });
        self.crowd.copy(&event.key, copies).await?;
        self.seen("/api/v1/events", pods).await
    }

    /// Waits until the API server, whose cache follows etcd, tells of so many.
    async fn seen(&self, path: &str, least: usize) -> Result<()> {
        let begun = Instant::now();
        loop {
            let first = self.admin.get(&format!("{path}?limit=1")).await?;
            let rest = first.pointer("/metadata/remainingItemCount");
            let all = rest.and_then(Value::as_u64).unwrap_or(0) + 1;
            if all >= least as u64 {
                return Ok(());
            }
            if begun.elapsed() > CEILING {
                return Err(format!("{path} has {all} objects, not {least}").into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ours and kubectl's for one Pod.
    pub(crate) fn tools(&self, kind: Kind) -> (Tool, Tool) {
        let (pod, namespace) = match kind {
            Kind::Nominated => ("preemptor", self.namespace.as_str()),
            Kind::Bound => ("others-000000", NAMESPACE),
            Kind::Unschedulable => ("too-large", NAMESPACE),
        };
        (
            self.ours(&["explain", pod, "-n", namespace]),
            self.kubectl(&["describe", "pod", pod, "-n", namespace]),
        )
    }

    /// Ours and kubectl's for all Pods.
    pub(crate) fn lists(&self) -> (Tool, Tool) {
        (
            self.ours(&["explain", "-A"]),
            self.kubectl(&["get", "pods", "-A", "-o", "json"]),
        )
    }

    fn ours(&self, arguments: &[&str]) -> Tool {
        self.tool(env!("CARGO_BIN_EXE_kubectl-nominate").into(), arguments)
    }

    fn kubectl(&self, arguments: &[&str]) -> Tool {
        self.tool(self.cluster.kubectl().into(), arguments)
    }

    fn tool(&self, program: OsString, arguments: &[&str]) -> Tool {
        let plugins = Path::new(env!("CARGO_BIN_EXE_kubectl-nominate")).parent();
        Tool {
            program,
            arguments: arguments.iter().map(|&one| one.to_owned()).collect(),
            path: plugins.unwrap_or(Path::new("/")).into(),
            home: self.folder.path().into(),
        }
    }
}

impl Original {
    fn of(object: &Value, place: &str) -> Result<Self> {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").ok_or("an object has no name")?;
        let uid = text("/metadata/uid").ok_or("an object has no UID")?;
        Ok(Self {
            key: format!("{place}{name}"),
            name: name.to_owned(),
            uid: uid.to_owned(),
        })
    }

    /// Name and UID of the n-th copy.
    fn copied(&self, n: usize) -> Vec<(String, String)> {
        vec![
            (self.name.clone(), numbered(&self.name, n)),
            (self.uid.clone(), counted(&self.uid, n)),
        ]
    }
}

/// The name with another number at its end, of the same length.
fn numbered(name: &str, n: usize) -> String {
    let stem = name.trim_end_matches('0');
    let digits = name.len() - stem.len();
    format!("{stem}{n:0digits$}")
}

/// The UID with a number as its last group.
fn counted(uid: &str, n: usize) -> String {
    let kept = uid.rsplit_once('-').map_or("", |(kept, _)| kept);
    format!("{kept}-{n:012x}")
}

/// A Pod that runs and asks for nearly nothing.
async fn small_pod(admin: &Client, name: &str, node: &str) -> Result<Value> {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let pod = json!({
        "metadata": {"name": name, "labels": {"app": "crowd"}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [{
                "name": "c",
                "image": "busybox",
                "resources": {"requests": {"cpu": "1m"}},
            }],
        },
    });
    admin.create(&pods, &pod).await?;
    let field = format!("metadata.name={name}");
    let running = |pod: &Value| pod["status"]["phase"] == "Running";
    Ok(admin.watch_until(name, &pods, &field, running).await?)
}

/// A Pod that fits nowhere.
async fn unschedulable(admin: &Client) -> Result<()> {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let pod = json!({
        "metadata": {"name": "too-large"},
        "spec": {"containers": [{
            "name": "c",
            "image": "busybox",
            "resources": {"requests": {"cpu": "1000"}},
        }]},
    });
    admin.create(&pods, &pod).await?;
    let reported = |pod: &Value| pod["status"]["conditions"][0]["reason"] == "Unschedulable";
    let field = "metadata.name=too-large";
    admin
        .watch_until("too-large", &pods, field, reported)
        .await?;
    let events = format!("/api/v1/namespaces/{NAMESPACE}/events");
    let field = "involvedObject.name=too-large,reason=FailedScheduling";
    admin
        .watch_until("its event", &events, field, |_| true)
        .await?;
    Ok(())
}
