//! A real Prometheus that scrapes a cluster's API server and scheduler, each second, as Debian packages it.
//!
//! It listens on an address of loopback that the system picks a port of, keeps what it scrapes in a folder of the test, and ends with the
//! value, or with the test process however that ends. Nothing may be installed as a service: the packaged one would start by itself.
#![expect(clippy::disallowed_methods, reason = "it writes a configuration")]

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::binaries;
use crate::cluster::Cluster;

const ADDRESS: &str = "127.0.0.1";

/// A running one.
pub struct Prometheus {
    process: Child,
    port: u16,
    log: PathBuf,
}

/// What it scrapes: the job, its targets, and the rules by which it drops series (`metric_relabel_configs`).
#[derive(Debug, Clone, Default)]
pub struct Job {
    pub name: String,
    pub targets: Vec<String>,
    pub dropped: Vec<String>,
}

impl Job {
    pub fn new(name: &str, target: &str) -> Self {
        Self {
            name: name.to_owned(),
            targets: vec![target.to_owned()],
            dropped: Vec::new(),
        }
    }

    /// Drops the series of a family.
    #[must_use]
    pub fn dropping(mut self, family: &str) -> Self {
        self.dropped.push(family.to_owned());
        self
    }
}

/// The program: on the path, or where `make tools` unpacked the package.
pub fn binary() -> Option<PathBuf> {
    let unpacked = binaries::cache().ok()?;
    let unpacked = unpacked.join("prometheus/usr/bin/prometheus");
    [PathBuf::from("/usr/bin/prometheus"), unpacked]
        .into_iter()
        .find(|path| path.is_file())
}

impl Prometheus {
    /// Starts one that scrapes as the cluster's administrator. What it has scraped it tells a little later: wait for it.
    pub fn start(cluster: &Cluster, folder: &Path, jobs: &[Job]) -> io::Result<Self> {
        let program = binary().ok_or_else(|| {
            let why = "there is no prometheus; `make tools` unpacks Debian's package";
            io::Error::new(io::ErrorKind::NotFound, why)
        })?;
        fs::create_dir_all(folder)?;
        let port = TcpListener::bind((ADDRESS, 0))?.local_addr()?.port();
        let identity = identity(cluster, folder)?;
        let authority = folder.join("ca.crt");
        fs::copy(cluster.authority(), &authority)?;
        let jobs = jobs.iter().map(|job| {
            let drop = |family: &String| json!({"source_labels": ["__name__"], "regex": family, "action": "drop"});
            let dropped: Vec<Value> = job.dropped.iter().map(drop).collect();
            json!({
                "job_name": job.name,
                "scheme": "https",
                "tls_config": {"ca_file": authority, "cert_file": identity.0, "key_file": identity.1},
                "static_configs": [{"targets": job.targets}],
                "metric_relabel_configs": dropped,
            })
        });
        let jobs: Vec<Value> = jobs.collect();
        let configuration = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": jobs,
        });
        // JSON is YAML.
        let file = folder.join("prometheus.yml");
        fs::write(&file, configuration.to_string())?;
        let log = folder.join("log");
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.join("data").display()
            ))
            .arg(format!("--web.listen-address={ADDRESS}:{port}"))
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .spawn()?;
        Ok(Self { process, port, log })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{ADDRESS}:{}", self.port)
    }

    /// What it wrote, for a test that fails.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The administrator's certificate and key, as files.
fn identity(cluster: &Cluster, folder: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let kubeconfig: Value = serde_json::from_slice(&fs::read(cluster.kubeconfig("admin"))?)?;
    let write = |name: &str| {
        let data = kubeconfig["users"][0]["user"][format!("{name}-data")].as_str();
        let bytes = BASE64_STANDARD.decode(data.unwrap_or_default());
        let path = folder.join(name);
        fs::write(&path, bytes.map_err(io::Error::other)?)?;
        Ok::<_, io::Error>(path)
    };
    Ok((write("client-certificate")?, write("client-key")?))
}
