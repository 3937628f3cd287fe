//! Plays scenarios and looks at each of their moments.
//!
//! What is looked at is in [`at_moment`] and nowhere else.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use testkit::Cluster;
use testkit::collect::collect;
use testkit::scenario::{Moment, Observer, Scenario, Step};

use crate::{clusters, expected};

/// Plays one scenario.
pub(crate) fn play(cluster: &Cluster, scenario: &Scenario) -> Result<(), Box<dyn Error>> {
    let folder = clusters::folder(cluster.minor()).join(scenario.name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut eyes = Eyes { folder, seen: 0 };
    Ok(runtime.block_on(scenario.play(cluster, &mut eyes))?)
}

/// Looks at every moment of a scenario.
struct Eyes {
    folder: PathBuf,
    seen: u32,
}

impl Observer for Eyes {
    fn at<'a>(
        &'a mut self,
        cluster: &'a Cluster,
        moment: Moment<'a>,
    ) -> Step<'a, Result<(), Box<dyn Error>>> {
        self.seen += 1;
        let folder = self.folder.join(format!("{}-{}", self.seen, moment.name));
        Box::pin(at_moment(cluster, moment, folder))
    }
}

/// Looks at one moment: what the servers answer is written into a folder and has to be there.
async fn at_moment(
    cluster: &Cluster,
    moment: Moment<'_>,
    folder: PathBuf,
) -> Result<(), Box<dyn Error>> {
    let files = collect(cluster, moment.namespace, moment.pod, &folder).await?;
    expected::check(cluster, &moment, &folder)?;
    for file in files {
        if fs::metadata(&file)?.len() == 0 {
            return Err(format!("{} is empty", file.display()).into());
        }
    }
    Ok(())
}
