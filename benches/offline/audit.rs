//! One Pod's story from an audit log of `KUBE_PLACEMENT_AUDIT_MIB`, made of recorded lines with other Pods' names and UIDs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::cost::{RUNS, costs, ratio};
use crate::section::Section;
use crate::{Result, mebibytes};

/// The Pod that is asked for; its lines stand once in the middle.
const RECORDED: &str = "tests/audited/1.37/4-outsider-overwrite/2-bound.jsonl.gz";
const POD: [&str; 2] = ["hi", "s4"];

pub(crate) fn run(root: &Path, folder: &Path) -> Result<Section> {
    let bytes = mebibytes("KUBE_PLACEMENT_AUDIT_MIB", 256)? << 20;
    let plain = folder.join("audit.log");
    let small = folder.join("small.log");
    generate(root, &plain, bytes)?;
    generate(root, &small, bytes / 8)?;
    let packed = pack(&plain)?;
    let explain = env!("CARGO_BIN_EXE_kubectl-nominate");
    let ours = [explain, "explain", POD[0], "-n", POD[1], "--from"];
    let select = format!(
        "select(.objectRef.resource == \"pods\" and .objectRef.namespace == \"{}\" and .objectRef.name == \"{}\")",
        POD[1], POD[0]
    );
    let [story, unpacked, eighth, jq, zcat] = costs(
        [&ours, &ours, &ours, &["jq", "-c", &select], &["zcat"]],
        &[&plain, &packed, &small, &plain, &packed],
    )?;
    let size = fs::metadata(&plain)?.len();
    let about = format!(
        "One Pod's story from a log of {} MiB, made of recorded lines. Written by `make bench-offline`; the fastest of {RUNS} runs.",
        size >> 20
    );
    let mut section = Section::new("## Audit logs\n", &about, size)?;
    let goal = "10 times as fast as jq, below 50 MiB";
    section.row("explain", story, ratio(jq, story), goal)?;
    let goal = "0.8 times as fast as zcat, below 50 MiB";
    section.row("explain, gzip", unpacked, ratio(zcat, unpacked), goal)?;
    section.row("jq -c select", jq, None, "")?;
    section.row("zcat to nowhere", zcat, None, "")?;
    if let Some(eighth) = eighth {
        let peak = eighth.memory >> 20;
        section.line(&format!(
            "Of a log an eighth as long the peak is {peak} MiB."
        ))?;
    }
    Ok(section)
}

/// Lines of other Pods, with the Pod's own once in the middle.
fn generate(root: &Path, path: &Path, size: usize) -> Result<()> {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(File::open(root.join(RECORDED))?)
        .read_to_string(&mut text)?;
    let uids: BTreeSet<&str> = text
        .split("\"uid\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut round, mut is_told) = (0, 0_usize, false);
    while written < size {
        if !is_told && written >= size / 2 {
            file.write_all(text.as_bytes())?;
            is_told = true;
        }
        let mut other = text
            .replace("/s4/", &format!("/team-{}/", round % 50))
            .replace("\"s4\"", &format!("\"team-{}\"", round % 50))
            .replace("/hi", &format!("/web-{round}"))
            .replace("\"hi\"", &format!("\"web-{round}\""))
            .replace("PreemptionByScheduler", "EvictionByEvictionAPI")
            .replace("\"auditID\":\"", &format!("\"auditID\":\"{round}-"));
        for uid in &uids {
            // The last group of a UID has twelve digits.
            let kept = uid.rsplit_once('-').map_or(*uid, |(kept, _)| kept);
            other = other.replace(uid, &format!("{kept}-{round:012x}"));
        }
        file.write_all(other.as_bytes())?;
        written += other.len();
        round += 1;
    }
    file.flush()?;
    Ok(())
}

fn pack(path: &Path) -> Result<PathBuf> {
    let packed = path.with_extension("log.gz");
    let file = BufWriter::new(File::create(&packed)?);
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    std::io::copy(&mut File::open(path)?, &mut writer)?;
    writer.finish()?.flush()?;
    Ok(packed)
}
