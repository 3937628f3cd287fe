//! Whether an API server becomes ready with a gate on and one version of its API served, and what it does where none is.
//!
//! What the check `served-api` takes for needed is held against real servers: any version that it names is enough.

#![expect(clippy::disallowed_methods, reason = "it waits for processes")]

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use kube_placement::internals;
use libtest_mimic::Failed;

use crate::api_server::{Server, Store};
use crate::skew::due;

pub(crate) const NAME: &str = "gates_have_their_apis_where_they_are_served";

/// What a gate needs beside.
const BESIDE: [(&str, &str); 2] = [
    (
        "CompositePodGroup",
        "CompositePodGroup=true,GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
    ),
    (
        "DRADeviceTaintRules",
        "DRADeviceTaints=true,DRADeviceTaintRules=true",
    ),
];

/// How long a server may take; one that is alone takes two seconds.
const CEILING: Duration = Duration::from_mins(1);

/// The trial: each gate with each version, then without any.
pub(crate) fn works(minor: &str) -> Result<(), Failed> {
    let binaries = testkit::Binaries::of(minor)?;
    let store = Store::start(binaries.folder())?;
    let number = minor.rsplit('.').next().and_then(|text| text.parse().ok());
    let number = number.ok_or("a minor has a number")?;
    let gates = internals::apis_of_gates(number);
    due("there are gates with an API", &gates.is_empty(), &false)?;
    let mut waiting = BTreeMap::new();
    for (gate, versions, resources) in gates {
        let on = format!("{gate}=true");
        let beside = BESIDE.iter().find(|(name, _)| *name == gate);
        let gates = beside.map_or(on.as_str(), |(_, gates)| gates);
        let gates = format!("--feature-gates={gates}");
        for version in versions.iter().copied() {
            // Of the others the rest stays: what gates that are on anyway need is there as well.
            let others = versions.iter().filter(|other| **other != version);
            let off = others.flat_map(|other| {
                resources
                    .iter()
                    .map(move |it| format!(",{other}/{it}=false"))
            });
            let off: String = off.collect();
            // A gate that this one needs has its own API there.
            let beta = match beside {
                Some(_) => ",api/beta=true",
                None => "",
            };
            let config = format!("--runtime-config={version}=true{beta}{off}");
            let server = store.serve(&[gates.clone(), config.clone()])?;
            let found = server.resources(version)?;
            // The one that 1.37 has and does not serve any more.
            if !resources.iter().any(|it| found.contains(*it)) {
                let is_gone = minor == "1.37" && version == "certificates.k8s.io/v1alpha1";
                due(
                    &format!("{gates} {config}: it serves none"),
                    &is_gone,
                    &true,
                )?;
                continue;
            }
            due(
                &format!("{gates} {config}: what it lacks"),
                &lacks(&server)?,
                &None,
            )?;
        }
        let all = versions
            .iter()
            .flat_map(|version| resources.iter().map(move |it| (version, it)));
        let none: Vec<String> = all
            .map(|(version, it)| format!("{version}/{it}=false"))
            .collect();
        let config = format!("--runtime-config={}", none.join(","));
        let server = store.serve(&[gates.clone(), config.clone()])?;
        waiting.extend(lacks(&server)?.map(|lack| (gate, lack)));
    }
    let known = internals::apis_waited_for(number);
    due("what a server waits for", &waiting, &known)?;
    Ok(())
}

/// What a server lacks to be ready, for good; null where it becomes ready.
fn lacks(server: &Server) -> Result<Option<String>, Box<dyn Error>> {
    /// A server that has all else gets them within one.
    const LONG: Duration = Duration::from_secs(8);
    let start = Instant::now();
    let mut known = (start, String::new());
    while start.elapsed() < CEILING {
        let (is_ready, answer) = server.ask("/readyz?verbose")?;
        if is_ready {
            return Ok(None);
        }
        // kubectl shows the text of an error with its line ends written out.
        let answer = answer.replace("\\n", "\n");
        let lacks = answer.lines().filter_map(|line| line.strip_prefix("[-]"));
        let lacks: Vec<&str> = lacks.filter_map(|line| line.split(' ').next()).collect();
        let lacks = if lacks.is_empty() {
            answer.clone()
        } else {
            lacks.join(", ")
        };
        if lacks != known.1 {
            known = (Instant::now(), lacks);
        } else if known.0.elapsed() > LONG {
            return Ok(Some(lacks));
        }
    }
    Err(format!(
        "a server is not ready, and what it lacks changes: {}",
        known.1
    )
    .into())
}
