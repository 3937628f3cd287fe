//! The cluster that is measured: Nodes whose kubelets are one stub, behind a real API server.
//!
//! One real kubelet tells its documents and writes its Node; then it ends, the stub takes its port and says what it said, and
//! the Node is copied. The API server reaches all of them at one address, so that it is as fast as it can be.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use testkit::crowd::Crowd;
use testkit::fake_server::{Answer, FakeServer, Routes};
use testkit::{Authority, Client, Cluster, ClusterOptions};

use crate::Result;
use crate::counting::Counting;

/// What `--exact` asks each kubelet for.
pub(crate) const DOCUMENTS: [&str; 4] = ["configz", "flagz", "metrics", "statusz"];

const NODE: &str = "crowd-00000";
const POD: &str = "crowd-pod-000000";
const POOL: &str = "pool-0";
const POOLS: usize = 5;

/// Where the kubelet of the first node listens.
const PORT: u16 = 10250;

/// How long the API server may take to learn of what etcd holds.
const CEILING: Duration = Duration::from_mins(1);

pub(crate) struct Stage<'a> {
    pub(crate) kubeconfig: PathBuf,
    /// The same through what counts.
    pub(crate) counted_kubeconfig: PathBuf,
    pub(crate) counting: Counting,
    /// The text that each kubelet tells.
    pub(crate) metrics: Vec<u8>,
    nodes: usize,
    cluster: &'a Cluster,
    /// Both live as long as the stage.
    _folder: tempfile::TempDir,
    _kubelets: FakeServer,
}

pub(crate) fn options(minor: &str) -> ClusterOptions {
    ClusterOptions::new(minor).nodes(&[NODE])
}

impl<'a> Stage<'a> {
    pub(crate) async fn set(cluster: &'a Cluster, nodes: usize, pods: usize) -> Result<Self> {
        let plain = plain_client(&cluster.kubeconfig("admin")).await?;
        let mut routes = Routes::new();
        let mut metrics = Vec::new();
        for document in DOCUMENTS {
            let place = format!("/api/v1/nodes/{NODE}/proxy/{document}");
            let request = http::Request::get(place)
                .header("Accept", accepted(document))
                .body(Vec::new())?;
            let text = plain.request_text(request).await?;
            eprintln!("{document}: {} bytes", text.len());
            let answer = if document == "metrics" {
                metrics = text.clone().into_bytes();
                Answer::text(text)
            } else {
                Answer::json_text(text)
            };
            routes = routes.get(&format!("/{document}"), answer);
        }
        let admin = cluster.client("admin").await?;
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        admin
            .watch_until("an account", accounts, "metadata.name=default", |_| true)
            .await?;
        for component in ["kube-scheduler", "kube-controller-manager"] {
            cluster.kill(component)?;
        }
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
        let named = format!("metadata.name={NODE}");
        admin
            .watch_until("a Lease", leases, &named, |_| true)
            .await?;
        cluster.kill(&format!("kubelet-{NODE}"))?;
        let kubelets = kubelets(cluster, routes)?;

        copy(cluster, &admin, nodes).await?;
        copy_pods(cluster, &admin, nodes, pods).await?;

        let folder = tempfile::tempdir()?;
        let kubeconfig = cluster.kubeconfig("admin");
        let text = std::fs::read_to_string(&kubeconfig)?;
        let server = cluster.server().trim_start_matches("https://");
        let counting = Counting::before(server)?;
        let counted_kubeconfig = folder.path().join("counted");
        let counted = text.replace(server, &counting.address.to_string());
        std::fs::write(&counted_kubeconfig, counted)?;
        Ok(Self {
            kubeconfig,
            counted_kubeconfig,
            counting,
            metrics,
            nodes,
            cluster,
            _folder: folder,
            _kubelets: kubelets,
        })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        (0..self.nodes).map(name)
    }

    /// kube's own client, as it comes.
    pub(crate) async fn plain_client(&self) -> Result<kube::Client> {
        plain_client(&self.cluster.kubeconfig("admin")).await
    }
}

fn accepted(document: &str) -> &'static str {
    match document {
        "flagz" => {
            "application/json;v=v1beta1;g=config.k8s.io;as=Flagz,application/json;v=v1alpha1;g=config.k8s.io;as=Flagz"
        }
        "statusz" => {
            "application/json;v=v1beta1;g=config.k8s.io;as=Statusz,application/json;v=v1alpha1;g=config.k8s.io;as=Statusz"
        }
        _ => "*/*",
    }
}

fn name(n: usize) -> String {
    let digits = NODE.len() - "crowd-".len();
    format!("crowd-{n:0digits$}")
}

async fn plain_client(kubeconfig: &Path) -> Result<kube::Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.proxy_url = None;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

/// The stub in the place of the kubelet, once that has left its port.
fn kubelets(cluster: &Cluster, routes: Routes) -> Result<FakeServer> {
    let host = cluster
        .server()
        .trim_start_matches("https://")
        .trim_end_matches(":6443");
    let address: SocketAddr = format!("{host}:{PORT}").parse()?;
    let begun = Instant::now();
    while TcpListener::bind(address).is_err() {
        if begun.elapsed() > CEILING {
            return Err(format!("{address} is not free").into());
        }
        std::thread::yield_now();
    }
    let identity = Authority::new("kubelets")?.server("kubelet", &[host])?;
    Ok(FakeServer::start_tls_at(address, routes, &identity))
}

/// Makes the one Node so many, in a few pools.
async fn copy(cluster: &Cluster, admin: &Client, nodes: usize) -> Result<()> {
    let place = format!("/api/v1/nodes/{NODE}");
    let labels = json!({"metadata": {"labels": {"cloud.google.com/gke-nodepool": POOL}}});
    let node = admin.merge_patch(&place, &labels).await?;
    let uid = node["metadata"]["uid"].as_str().ok_or("it has no UID")?;
    let kept = uid.rsplit_once('-').map_or("", |(kept, _)| kept);
    let copies = (1..nodes).map(|n| {
        vec![
            (NODE.to_owned(), name(n)),
            (uid.to_owned(), format!("{kept}-{n:012x}")),
            (POOL.to_owned(), format!("pool-{}", n % POOLS)),
        ]
    });
    let key = format!("/registry/minions/{NODE}");
    let crowd = Crowd::of(cluster)?;
    crowd.copy(&key, copies).await?;
    let leases = (1..nodes).map(|n| vec![(NODE.to_owned(), name(n))]);
    let key = format!("/registry/leases/kube-node-lease/{NODE}");
    crowd.copy(&key, leases).await?;
    wait(admin, "nodes", nodes).await
}

/// Pods that run on the nodes, made of one.
async fn copy_pods(cluster: &Cluster, admin: &Client, nodes: usize, pods: usize) -> Result<()> {
    let pod = json!({
        "metadata": {"name": POD, "labels": {"app": "crowd"}},
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "app", "image": "registry.example.com/app:1",
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }],
        },
    });
    let place = "/api/v1/namespaces/default/pods";
    let pod = admin.create(place, &pod).await?;
    let uid = pod["metadata"]["uid"].as_str().ok_or("it has no UID")?;
    let kept = uid.rsplit_once('-').map_or("", |(kept, _)| kept);
    let digits = POD.len() - "crowd-pod-".len();
    let copies = (1..pods).map(|n| {
        vec![
            (POD.to_owned(), format!("crowd-pod-{n:0digits$}")),
            (uid.to_owned(), format!("{kept}-{n:012x}")),
            (NODE.to_owned(), name(n % nodes)),
        ]
    });
    let key = format!("/registry/pods/default/{POD}");
    Crowd::of(cluster)?.copy(&key, copies).await?;
    wait(admin, "pods", pods).await
}

/// Until the API server knows so many.
async fn wait(admin: &Client, plural: &str, count: usize) -> Result<()> {
    let begun = Instant::now();
    loop {
        let first = admin.get(&format!("/api/v1/{plural}?limit=1")).await?;
        let rest = first.pointer("/metadata/remainingItemCount");
        if rest.and_then(Value::as_u64).unwrap_or(0) + 1 >= count as u64 {
            return Ok(());
        }
        if begun.elapsed() > CEILING {
            return Err(format!("there are not {count} {plural}").into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
