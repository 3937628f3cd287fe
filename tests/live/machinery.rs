//! Checks of the machinery itself: what other trials rely on without looking.
//!
//! It must not check the product.

use std::error::Error;
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Client, Cluster};

pub(crate) type Check = fn(&mut Cluster) -> Result<(), Box<dyn Error>>;

/// The checks and their names.
pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("kubectl_of_the_minor_lists_nodes", kubectl_lists_nodes),
    ("limited_users_are_limited", limited_users_are_limited),
    (
        "kubelets_are_reached_through_the_server",
        kubelets_are_reached,
    ),
    (
        "components_end_and_start_again",
        components_end_and_start_again,
    ),
];

fn kubectl_lists_nodes(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let kubectl = |arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let output = Command::new(cluster.kubectl())
            .args(arguments)
            .env_clear()
            .env("HOME", home.path())
            .env("KUBECONFIG", cluster.kubeconfig("viewer"))
            .output()?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        Err(String::from_utf8_lossy(&output.stderr).into())
    };
    same(
        &kubectl(&["get", "nodes", "-o", "name"])?.as_str(),
        &"node/n1\nnode/n2\n",
    )?;
    let version: Value = serde_json::from_str(&kubectl(&["version", "-o", "json"])?)?;
    same(
        &version.pointer("/clientVersion/gitVersion"),
        &Some(&json!(cluster.version())),
    )?;
    same(
        &version.pointer("/serverVersion/gitVersion"),
        &Some(&json!(cluster.version())),
    )
}

fn limited_users_are_limited(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    const POD: &str = "/api/v1/namespaces/default/pods/absent";
    const NODES: &str = "/api/v1/nodes";
    const EVENTS: &str = "/apis/events.k8s.io/v1/events";
    const CORE_EVENTS: &str = "/api/v1/events";
    const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
    const SECRETS: &str = "/api/v1/secrets";
    block_on(async {
        // 404 is an answer to someone who may ask.
        for (user, path, code) in [
            ("viewer", PODS, 200),
            ("viewer", NODES, 200),
            ("viewer", EVENTS, 200),
            ("viewer", CORE_EVENTS, 200),
            ("viewer", CLASSES, 200),
            ("viewer", SECRETS, 403),
            ("pods-only", POD, 404),
            ("pods-only", PODS, 403),
            ("pods-only", NODES, 403),
            ("recommender", PODS, 200),
            ("recommender", NODES, 403),
            ("nobody", POD, 403),
            ("nobody", NODES, 403),
        ] {
            let got = status(cluster.client(user).await?.get(path).await)?;
            same(
                &format!("{user} {path} {got}"),
                &format!("{user} {path} {code}"),
            )?;
        }
        let status_path = format!("{POD}/status");
        for (user, path, code) in [
            ("viewer", status_path.as_str(), 403),
            ("recommender", status_path.as_str(), 404),
            ("recommender", POD, 403),
        ] {
            let got = status(
                cluster
                    .client(user)
                    .await?
                    .merge_patch(path, &json!({}))
                    .await,
            )?;
            same(
                &format!("{user} patches {path} {got}"),
                &format!("{user} patches {path} {code}"),
            )?;
        }
        Ok(())
    })
}

fn kubelets_are_reached(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    block_on(async {
        let admin = cluster.client("admin").await?;
        for node in cluster.nodes() {
            let object = admin.get(&format!("/api/v1/nodes/{node}")).await?;
            let configz = admin
                .get(&format!("/api/v1/nodes/{node}/proxy/configz"))
                .await?;
            let port = object.pointer("/status/daemonEndpoints/kubeletEndpoint/Port");
            same(&configz.pointer("/kubeletconfig/port"), &port)?;
            // It is this very kubelet and no other.
            let folder = configz
                .pointer("/kubeletconfig/staticPodPath")
                .and_then(Value::as_str);
            same(
                &folder.is_some_and(|folder| folder.contains(&format!("/{node}/"))),
                &true,
            )?;
        }
        Ok(())
    })
}

fn components_end_and_start_again(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    same(
        &cluster.kill("kube-scheduler")?.as_str(),
        &"was ended by signal 9",
    )?;
    let other = cluster.start_scheduler("other-scheduler")?;
    cluster.start_again("kube-scheduler")?;
    same(
        &cluster.kill("kubelet-n1")?.as_str(),
        &"was ended by signal 9",
    )?;
    cluster.start_again("kubelet-n1")?;
    let ran = block_on(async {
        let admin = cluster.client("admin").await?;
        for (name, scheduler, node) in [
            ("by-other", "other-scheduler", "n1"),
            ("by-default", "default-scheduler", "n2"),
        ] {
            runs(&admin, name, scheduler, node).await?;
        }
        Ok(())
    });
    same(&cluster.stop(&other)?.is_empty(), &false)?;
    ran
}

/// Has a Pod scheduled to a node, waits until it runs, and takes it away.
async fn runs(
    admin: &Client,
    name: &str,
    scheduler: &str,
    node: &str,
) -> Result<(), Box<dyn Error>> {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": {"name": name},
        "spec": {
            "schedulerName": scheduler,
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [{"name": "c", "image": "busybox"}],
        },
    });
    admin.create(PODS, &pod).await?;
    let running =
        |pod: &Value| pod.pointer("/status/phase").and_then(Value::as_str) == Some("Running");
    admin
        .watch_until(
            &format!("Pod {name} running"),
            PODS,
            &format!("metadata.name={name}"),
            running,
        )
        .await?;
    admin.delete(&format!("{PODS}/{name}"), Some(1)).await?;
    admin.watch_until_gone(PODS, name).await?;
    Ok(())
}

/// Returns the HTTP status of an answer, or the error if there was none.
fn status(answer: Result<Value, testkit::ClientError>) -> Result<u16, Box<dyn Error>> {
    match answer {
        Ok(_) => Ok(200),
        Err(error) => match error.code() {
            Some(code) => Ok(code),
            None => Err(error.into()),
        },
    }
}

fn same<T: PartialEq + std::fmt::Debug>(got: &T, wanted: &T) -> Result<(), Box<dyn Error>> {
    if got == wanted {
        return Ok(());
    }
    Err(format!("got {got:?}, wanted {wanted:?}").into())
}

pub(crate) fn block_on<T>(
    future: impl Future<Output = Result<T, Box<dyn Error>>>,
) -> Result<T, Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(future)
}
