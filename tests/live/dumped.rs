//! What kubectl itself dumps of a cluster at a moment, and whether the files give the live verdict.

use std::error::Error;
use std::path::Path;

use serde_json::Value;
use testkit::Cluster;
use testkit::scenario::Moment;

use crate::plugin::{kubectl, same};

/// Moments that are dumped; each dump asks for everything, so that one is enough.
const DUMPED: &[(&str, &str)] = &[("preemption-with-grace", "bound")];

/// Dumps the cluster into a folder and onto standard output; the paths, if this moment is one of those.
pub(crate) fn dump(
    cluster: &Cluster,
    moment: &Moment<'_>,
    place: &Path,
) -> Result<Vec<String>, Box<dyn Error>> {
    if !DUMPED.contains(&(moment.scenario, moment.name)) {
        return Ok(Vec::new());
    }
    let folder = place.join("dump").display().to_string();
    let into = format!("--output-directory={folder}");
    let dump = ["cluster-info", "dump", "-A", "--show-managed-fields"];
    let run = kubectl(cluster, "admin", &[&dump[..], &[&into]].concat())?;
    same(&run.code, &Some(0)).map_err(|error| format!("{error}: {run:?}"))?;
    let run = kubectl(cluster, "admin", &dump)?;
    same(&run.code, &Some(0)).map_err(|error| format!("{error}: {run:?}"))?;
    if !run.stdout.contains("\n==== START logs for container ") {
        return Err("kubectl printed no logs".into());
    }
    let printed = place.join("dump.txt").display().to_string();
    std::fs::write(&printed, &run.stdout)?;
    Ok(vec![folder, printed])
}

/// The folder was read as a dump, with the managed fields that were asked for.
pub(crate) fn was_recognised(answer: &Value) -> Result<(), Box<dyn Error>> {
    let lines = answer["coverage"].as_array().ok_or("no coverage")?;
    let about = |subject: &str| lines.iter().find(|line| line["subject"] == subject);
    let detail = about("layout").map(|line| &line["detail"]);
    same(
        &detail,
        &Some(&"read as a dump of kubectl cluster-info".into()),
    )?;
    same(&about("managed fields"), &None)
}
