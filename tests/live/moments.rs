//! Plays scenarios and looks at each of their moments.
//!
//! What is looked at is in [`at_moment`] and nowhere else.

#![expect(
    clippy::disallowed_methods,
    reason = "a recording is asked for by the environment, and made of files"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::Cluster;
use testkit::collect::collect;
use testkit::normalise::Machine;
use testkit::scenario::{Moment, Observer, Scenario, Step};

use crate::forgotten::{self, Audited};
use crate::{clusters, expected};

/// Environment variable that makes `make record` of this test.
pub(crate) const RECORD: &str = "KUBE_PLACEMENT_RECORD";

/// Plays one scenario.
pub(crate) fn play(cluster: &Cluster, scenario: &Scenario) -> Result<(), Box<dyn Error>> {
    let folder = clusters::folder(cluster.minor()).join(scenario.name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    if is_recorded(cluster) {
        // A moment that is no more must not stay.
        let recorded = recorded(cluster.minor()).join(scenario.name);
        if recorded.exists() {
            fs::remove_dir_all(&recorded)?;
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut eyes = Eyes {
        folder,
        seen: 0,
        audited: Audited::default(),
    };
    runtime.block_on(scenario.play(cluster, &mut eyes))?;
    forgotten::check(cluster, scenario.name, &eyes.audited)
}

/// Looks at every moment of a scenario.
struct Eyes {
    folder: PathBuf,
    seen: u32,
    audited: Audited,
}

impl Observer for Eyes {
    fn at<'a>(
        &'a mut self,
        cluster: &'a Cluster,
        moment: Moment<'a>,
    ) -> Step<'a, Result<(), Box<dyn Error>>> {
        self.seen += 1;
        let folder = self.folder.join(format!("{}-{}", self.seen, moment.name));
        Box::pin(async move {
            let audited = at_moment(cluster, moment, folder).await?;
            let pod = (moment.namespace.to_owned(), moment.pod.to_owned());
            self.audited.insert(pod, audited);
            Ok(())
        })
    }
}

/// Looks at one moment: what the servers answer is written into a folder, has to be there, and is explained.
/// Returns the answer from the audit log.
async fn at_moment(
    cluster: &Cluster,
    moment: Moment<'_>,
    folder: PathBuf,
) -> Result<Value, Box<dyn Error>> {
    let files = collect(cluster, moment.namespace, moment.pod, &folder).await?;
    for file in &files {
        if fs::metadata(file)?.len() == 0 {
            return Err(format!("{} is empty", file.display()).into());
        }
    }
    let audited = expected::check(cluster, &moment, &folder)?;
    if is_recorded(cluster) {
        record(cluster, &files, &folder)?;
    }
    Ok(audited)
}

/// Whether moments are kept: a minor's recording is of that minor alone.
pub(crate) fn is_recorded(cluster: &Cluster) -> bool {
    std::env::var_os(RECORD).is_some() && !cluster.is_mixed()
}

fn recorded(minor: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/recorded")
        .join(minor)
}

/// Copies a moment to where the plain tests read it, with the machine taken out. The audit log stays out: it is large.
fn record(cluster: &Cluster, files: &[PathBuf], folder: &Path) -> Result<(), Box<dyn Error>> {
    let nodes = fs::read_to_string(folder.join("nodes.json"))?;
    let machine = Machine::from_nodes(&nodes)?;
    let inside = folder.strip_prefix(clusters::folder(cluster.minor()))?;
    let place = recorded(cluster.minor()).join(inside);
    fs::create_dir_all(&place)?;
    for file in files.iter().filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    }) {
        let name = file.file_name().ok_or("a collected file has no name")?;
        // The other Pods of the namespace are in the list already.
        if name.to_string_lossy().starts_with("pod-") {
            continue;
        }
        fs::write(
            place.join(name),
            machine.normalise(&fs::read_to_string(file)?),
        )?;
    }
    Ok(())
}
