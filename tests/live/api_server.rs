//! An API server alone, with a store of its own, as far as it takes to know whether it starts, what it serves, and whether it
//! becomes ready.
//!
//! For trials that start dozens of them; both end with their values. It must not judge.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;
use testkit::Authority;

use crate::skew::list;

/// Who asks it: the only line of its token file.
const TOKEN: &str = "trial";

/// A store.
pub(crate) struct Store {
    home: tempfile::TempDir,
    folder: PathBuf,
    process: Child,
    port: u16,
}

/// An API server that serves, or that has ended by itself.
pub(crate) struct Server {
    process: Child,
    kubectl: PathBuf,
    port: u16,
    words: String,
    code: Option<i32>,
    /// What reads its output further: a full pipe would stop it.
    drain: Option<JoinHandle<()>>,
}

impl Drop for Store {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.process);
        if let Some(drain) = self.drain.take() {
            // It ends with the output.
            let _joined = drain.join();
        }
    }
}

fn end(process: &mut Child) {
    // One that ended by itself is as good.
    let _killed = process.kill();
    let _code = process.wait();
}

/// A port that was free a moment ago.
fn port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

impl Store {
    /// Starts it with the binary of a folder, of which the API servers are.
    pub(crate) fn start(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let (port, peers) = (port()?, port()?);
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let clients = ["listen", "advertise"];
        let clients = clients.map(|word| format!("--{word}-client-urls={}", url(port)));
        let identity = Authority::new("trial")?.server("trial", &[])?;
        fs::write(home.path().join("key.pem"), identity.key)?;
        fs::write(home.path().join("certificate.pem"), identity.certificate)?;
        let line = format!("{TOKEN},trial,trial,system:masters\n");
        fs::write(home.path().join("tokens"), line)?;
        let process = Command::new(folder.join("etcd"))
            .env_clear()
            .current_dir(home.path())
            .args(["--data-dir=data", "--unsafe-no-fsync"])
            .args(clients)
            .arg(format!("--listen-peer-urls={}", url(peers)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            home,
            folder: folder.to_owned(),
            process,
            port,
        })
    }

    /// Starts an API server and waits until it serves, or ends by itself: it gives up on a store that does not answer.
    pub(crate) fn serve(&self, flags: &[String]) -> Result<Server, Box<dyn Error>> {
        const SERVES: &str = "Serving securely";
        let own = port()?;
        let mut process = Command::new(self.folder.join("kube-apiserver"))
            .env_clear()
            .current_dir(self.home.path())
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.port))
            .arg(format!("--secure-port={own}"))
            .args(["--bind-address=127.0.0.1", "--cert-dir=certificates"])
            .args(["--authorization-mode=Node,RBAC", "--token-auth-file=tokens"])
            .args([
                "--service-account-issuer=https://localhost",
                "--service-cluster-ip-range=10.0.0.0/24",
            ])
            .args([
                "--service-account-key-file=certificate.pem",
                "--service-account-signing-key-file=key.pem",
            ])
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = process.stderr.take().ok_or("it has an output")?;
        let mut lines = BufReader::new(stderr);
        let mut server = Server {
            process,
            kubectl: self.folder.join("kubectl"),
            port: own,
            words: String::new(),
            code: None,
            drain: None,
        };
        while lines.read_line(&mut server.words)? > 0 {
            if server
                .words
                .lines()
                .next_back()
                .is_some_and(|it| it.contains(SERVES))
            {
                server.drain = Some(std::thread::spawn(move || drain(lines)));
                return Ok(server);
            }
        }
        server.code = server.process.wait()?.code();
        Ok(server)
    }
}

fn drain(mut lines: BufReader<ChildStderr>) {
    let mut nothing = [0; 4096];
    while lines.read(&mut nothing).is_ok_and(|count| count > 0) {}
}

impl Server {
    pub(crate) fn serves(&self) -> bool {
        self.drain.is_some()
    }

    /// What it said until it served.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// Null while it runs.
    pub(crate) fn code(&self) -> Option<i32> {
        self.code
    }

    /// What it answers, and whether it does so with success.
    pub(crate) fn ask(&self, path: &str) -> Result<(bool, String), Box<dyn Error>> {
        let output = Command::new(&self.kubectl)
            .env_clear()
            .args(["get", "--raw", path, "--insecure-skip-tls-verify"])
            .arg(format!("--server=https://127.0.0.1:{}", self.port))
            .arg(format!("--token={TOKEN}"))
            .arg("--kubeconfig=/dev/null")
            .output()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let answer = text(&output.stdout) + &text(&output.stderr);
        Ok((output.status.success(), answer))
    }

    /// The resources that it serves in a version, without their parts.
    pub(crate) fn resources(&self, version: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
        let (is_served, answer) = self.ask(&format!("/apis/{version}"))?;
        if !is_served && answer.contains("NotFound") {
            return Ok(BTreeSet::new());
        }
        if !is_served {
            return Err(answer.into());
        }
        let found: Value = serde_json::from_str(&answer)?;
        let names = list(&found["resources"]).iter();
        let names = names.filter_map(|it| it["name"].as_str());
        let whole = names.filter(|name| !name.contains('/'));
        Ok(whole.map(str::to_owned).collect())
    }
}
