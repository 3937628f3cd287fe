//! One Pod of a must-gather of `KUBE_PLACEMENT_GATHER_MIB`: a recorded moment beside 10,000 copies of a running Pod, each with a log.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use testkit::layouts::Lists;

use crate::cost::{RUNS, costs, ratio};
use crate::section::Section;
use crate::{Result, mebibytes};

const RECORDED: &str = "tests/recorded/1.37/preemption-with-grace/1-waiting";

const NAMESPACES: usize = 50;
const PODS_EACH: usize = 200;

pub(crate) fn run(root: &Path, folder: &Path) -> Result<Section> {
    let bytes = mebibytes("KUBE_PLACEMENT_GATHER_MIB", 2048)? << 20;
    let lists = Lists::read(&root.join(RECORDED))?;
    let plain = folder.join("gather.tar");
    let packed = folder.join("gather.tar.gz");
    let size = generate(&lists, &plain, bytes)?;
    let file = BufWriter::new(File::create(&packed)?);
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    std::io::copy(&mut File::open(&plain)?, &mut writer)?;
    writer.finish()?.flush()?;
    let explain = env!("CARGO_BIN_EXE_kubectl-nominate");
    let ours = [
        explain,
        "explain",
        &lists.name,
        "-n",
        &lists.namespace,
        "--from",
    ];
    let listing = ["tar", "-tf"];
    let [gzip, tar_gzip, alone, tar] = costs(
        [&ours, &listing, &ours, &listing],
        &[&packed, &packed, &plain, &plain],
    )?;
    let about = format!(
        "One Pod of a must-gather of {} MiB with {} Pods and their logs, made of a recorded moment. Written by `make bench-offline`; the fastest of {RUNS} runs.\nThe ratio is our time to that of the listing: less is better. Of a plain tar, tar reads the headers alone.",
        size >> 20,
        NAMESPACES * PODS_EACH
    );
    let mut section = Section::new("## A must-gather\n", &about, size)?;
    section.row(
        "explain, tar.gz",
        gzip,
        ratio(gzip, tar_gzip),
        "at most 1.2 times the listing",
    )?;
    section.row("tar -tf, tar.gz", tar_gzip, None, "")?;
    section.row("explain, tar", alone, ratio(alone, tar), "")?;
    section.row("tar -tf, tar", tar, None, "")?;
    Ok(section)
}

/// Writes a tar, filled up with logs to about a size. Returns its size.
fn generate(lists: &Lists, path: &Path, size: usize) -> Result<u64> {
    let files = lists.must_gather();
    let (one, of_list) = template(&files)?;
    let root = "must-gather.local.42/quay-io-openshift-release";
    let mut tar = tar::Builder::new(BufWriter::new(File::create(path)?));
    let mut add = |name: &str, bytes: &[u8]| -> Result<usize> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, bytes)?;
        Ok(bytes.len())
    };
    let mut written = 0;
    for (name, bytes) in &files {
        written += add(name, bytes)?;
    }
    let pods = NAMESPACES * PODS_EACH;
    let log = size.saturating_sub(pods * (one.len() + of_list.len())) / pods;
    for space in 0..NAMESPACES {
        let namespace = format!("team-{space}");
        let below = format!("{root}/namespaces/{namespace}");
        let mut list = "apiVersion: v1\nitems:\n".to_owned();
        for number in 0..PODS_EACH {
            let pod = space * PODS_EACH + number;
            let name = format!("web-{pod}");
            let own = |text: &str| {
                text.replace("POD-NAME", &name)
                    .replace("POD-SPACE", &namespace)
                    .replace("POD-UID", &format!("00000000-0000-4000-8000-{pod:012x}"))
                    .replace("POD-NODE", &format!("worker-{}", pod / 100))
            };
            list.push_str(&own(&of_list));
            written += add(
                &format!("{below}/pods/{name}/{name}.yaml"),
                own(&one).as_bytes(),
            )?;
            let lines = logged(log, pod);
            written += add(&format!("{below}/pods/{name}/c/c/logs/current.log"), &lines)?;
        }
        list.push_str("kind: PodList\nmetadata:\n  resourceVersion: \"1\"\n");
        written += add(&format!("{below}/core/pods.yaml"), list.as_bytes())?;
    }
    tar.into_inner()?.flush()?;
    Ok(written as u64)
}

/// A running Pod of the moment as YAML with places for what each copy has of its own: alone, and as an item of a list.
fn template(files: &testkit::layouts::Files) -> Result<(String, String)> {
    let bytes = files
        .iter()
        .find(|(name, _)| name.ends_with("/victim/victim.yaml"))
        .ok_or("the moment has no such Pod")?
        .1;
    let mut pod: serde_json::Value = serde_saphyr::from_slice(bytes)?;
    let metadata = &mut pod["metadata"];
    metadata["name"] = "POD-NAME".into();
    metadata["namespace"] = "POD-SPACE".into();
    metadata["uid"] = "POD-UID".into();
    pod["spec"]["nodeName"] = "POD-NODE".into();
    let one = serde_saphyr::to_string(&pod)?;
    let item = serde_saphyr::to_string(&[&pod])?;
    Ok((one, item))
}

/// Lines as a controller logs them.
fn logged(size: usize, pod: usize) -> Vec<u8> {
    let mut lines = Vec::with_capacity(size + 200);
    let mut number = pod;
    while lines.len() < size {
        // Numbers that do not pack too well.
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let line = format!(
            "2026-11-30T08:00:00.{:09}Z I1130 08:00:00.{:06}       1 controller.go:{}] \"Reconciled\" object=\"team/web-{}\" generation={} took=\"{}us\"\n",
            number % 1_000_000_000,
            number % 999_983,
            number % 977,
            number % 9973,
            number % 31,
            number % 99_991
        );
        lines.extend_from_slice(line.as_bytes());
    }
    lines
}
