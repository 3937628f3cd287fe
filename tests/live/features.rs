//! The gate catalogue against what it was made of: the modules of each minor, and what their components tell.
//!
//! It must not repair anything: `make generate` and `make record` do.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes files")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use testkit::{Client, Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::{Check, block_on};
use crate::moments::is_recorded;

/// The checks and their names.
pub(crate) const CHECKS: &[(&str, Check)] = &[
    (
        "features::the_catalogue_is_what_the_modules_register",
        catalogue_is_current,
    ),
    (
        "features::components_tell_what_is_recorded",
        components_tell,
    ),
];

pub(crate) const EMULATED: &str = "features::emulating_components_tell_what_is_recorded";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn catalogue_is_current(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let minor = cluster.minor();
    let path = root().join(format!("data/gates/{minor}.jsonl"));
    same(&path, &testkit::gates(minor)?, "make generate")?;
    let path = root().join(format!("data/apis/{minor}.jsonl"));
    same(&path, &testkit::apis(minor)?, "make generate")?;
    // One file is of all minors.
    let minors = testkit::minors();
    if minors.last().is_some_and(|newest| newest == minor) {
        let proposals = fs::read_to_string(root().join("data/gates/components.jsonl"))?;
        let readers = testkit::readers(&minors, &proposals)?;
        let path = root().join("data/gates/readers.jsonl");
        same(&path, &readers, "make generate")?;
    }
    Ok(())
}

fn components_tell(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let folder = recorded(cluster.minor());
    let kubelet = format!("/api/v1/nodes/{}/proxy/metrics", cluster.nodes()[0]);
    block_on(async {
        for (component, path) in [
            ("kube-apiserver", "/metrics"),
            ("kube-controller-manager", "/metrics"),
            ("kube-scheduler", "/metrics"),
            ("kubelet", &kubelet),
        ] {
            let client = cluster.client_of(component).await?;
            tells(cluster, &client, path, &folder.join(component)).await?;
        }
        Ok(())
    })
}

/// The trial: a control plane that emulates the minor before; a kubelet cannot.
pub(crate) fn emulates(clusters: &Clusters, minor: &str, before: &str) -> Result<(), Failed> {
    const COMPONENTS: [&str; 2] = ["kube-apiserver", "kube-scheduler"];
    let emulated = format!("--emulated-version={before}");
    let options = COMPONENTS
        .iter()
        .fold(ClusterOptions::new(minor), |options, component| {
            options.argument(component, &emulated)
        });
    clusters.apart(&options, |cluster| {
        let folder = recorded(&format!("{minor}-emulated-{before}"));
        block_on(async {
            for component in COMPONENTS {
                let client = cluster.client_of(component).await?;
                tells(cluster, &client, "/metrics", &folder.join(component)).await?;
            }
            Ok(())
        })
    })
}

fn recorded(name: &str) -> PathBuf {
    root().join("tests/recorded/features").join(name)
}

/// Reads a component's gates, and writes them down or compares them with what was.
async fn tells(
    cluster: &Cluster,
    client: &Client,
    path: &str,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    const FAMILY: &str = "kubernetes_feature_enabled";
    let metrics = client.raw(path).await?;
    let of_gates = |line: &&str| {
        let line = line.trim_start_matches("# HELP ");
        line.trim_start_matches("# TYPE ").starts_with(FAMILY)
    };
    let told: String = metrics.split_inclusive('\n').filter(of_gates).collect();
    let file = folder.join("metrics-features.txt");
    if is_recorded(cluster) {
        fs::create_dir_all(folder)?;
        fs::write(&file, &told)?;
    }
    same(&file, &told, "make record")
}

fn same(path: &Path, due: &str, remedy: &str) -> Result<(), Box<dyn Error>> {
    let kept = fs::read_to_string(path)?;
    if kept == due {
        return Ok(());
    }
    let (kept, due): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), due.lines().collect());
    let gone: Vec<_> = kept.iter().filter(|line| !due.contains(line)).collect();
    let new: Vec<_> = due.iter().filter(|line| !kept.contains(line)).collect();
    Err(format!(
        "{} is stale ({remedy} writes it): without {gone:#?}, with {new:#?}",
        path.display()
    )
    .into())
}
