//! An extender of kube-scheduler that "binds" as no scheduler may: it replaces the Pod by one that has `spec.nodeName`.
//!
//! The real scheduler decides everything else, so that a test of schedulers can fail for this alone. The scheduler calls it
//! as `k8s.io/kube-scheduler/extender/v1` has it (`ExtenderBindingArgs`, 1.37). It listens on loopback and ends with its value.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::Client;
use crate::component::Configured;
use crate::fake_server::{Reply, wire};

pub struct WrongBinder {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl WrongBinder {
    /// Starts to listen; it writes as the user of a kubeconfig.
    pub fn start(kubeconfig: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let kubeconfig = kubeconfig.to_owned();
        let thread = std::thread::spawn(move || serve(&listener, &kubeconfig));
        Ok(Self {
            address,
            thread: Some(thread),
        })
    }

    /// What makes a scheduler bind by it.
    pub fn configuration(&self) -> Configured {
        Configured {
            profile: Value::Null,
            whole: json!({"extenders": [{
                "urlPrefix": format!("http://{}", self.address),
                "bindVerb": BIND,
            }]}),
        }
    }
}

const BIND: &str = "bind";
const END: &str = "/end";

impl Drop for WrongBinder {
    fn drop(&mut self) {
        use std::io::Write;
        let said = TcpStream::connect(self.address)
            .and_then(|mut stream| write!(stream, "GET {END} HTTP/1.1\r\n\r\n"));
        if let (Ok(()), Some(thread)) = (said, self.thread.take()) {
            thread.join().ok();
        }
    }
}

fn serve(listener: &TcpListener, kubeconfig: &Path) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let Ok(request) = stream
            .try_clone()
            .and_then(|it| wire::read(&mut BufReader::new(it)))
        else {
            continue;
        };
        let Some(request) = request else { continue };
        if request.target == END {
            return;
        }
        let error = match replaced(&request.body, kubeconfig) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        let body = json!({"Error": error}).to_string();
        let reply = Reply::new(200, "application/json", body).header("Connection", "close");
        // A scheduler that went away needs no answer.
        wire::write(&mut stream, None, &reply, usize::MAX, None).ok();
    }
}

/// Deletes the Pod and makes it again, on the node.
fn replaced(body: &[u8], kubeconfig: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Value = serde_json::from_slice(body)?;
    let word = |key: &str| arguments[key].as_str().ok_or(format!("no {key}"));
    let pods = format!("/api/v1/namespaces/{}/pods", word("PodNamespace")?);
    let path = format!("{pods}/{}", word("PodName")?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = Client::from_kubeconfig(kubeconfig).await?;
        let old = client.get(&path).await?;
        let mut spec = old["spec"].clone();
        spec["nodeName"] = json!(word("Node")?);
        let metadata =
            json!({"name": old["metadata"]["name"], "labels": old["metadata"]["labels"]});
        let new = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        client.delete(&path, Some(0)).await?;
        client.create(&pods, &new).await?;
        Ok(())
    })
}
