//! Where what runs is not what was set: a process that was not restarted, or an answer that is of another process.

use super::difference::Member;
use super::effective::Table;
use super::process::Process;
use crate::answer::gate_skew::{Contradiction, GateValue};
use crate::answer::parts::some;

/// Of all processes; those of a kind that contradict the same setting alike are one.
pub(super) fn of(members: &[Member<'_, '_>]) -> Vec<Contradiction> {
    let found = members
        .iter()
        .flat_map(|(process, table)| of_one(process, table));
    let mut found: Vec<Contradiction> = found.collect();
    found.sort();
    let mut joined: Vec<(Contradiction, Vec<String>)> = Vec::new();
    for contradiction in found {
        let kind = |name: &str| {
            name.split_once('/')
                .map_or(name, |(kind, _)| kind)
                .to_owned()
        };
        let same = joined.iter_mut().find(|(known, _)| {
            kind(&known.component) == kind(&contradiction.component)
                && (&known.gate, known.observed, &known.detail)
                    == (
                        &contradiction.gate,
                        contradiction.observed,
                        &contradiction.detail,
                    )
        });
        if let Some((_, names)) = same {
            names.push(contradiction.component);
        } else {
            let names = vec![contradiction.component.clone()];
            joined.push((contradiction, names));
        }
    }
    joined
        .into_iter()
        .map(|(contradiction, names)| Contradiction {
            component: some(&names),
            ..contradiction
        })
        .collect()
}

fn of_one(process: &Process<'_>, table: &Table) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let mut compare = |gate: &str, observed: bool, configured: bool, detail: &str| {
        if observed != configured {
            found.push(Contradiction {
                component: process.name.to_string(),
                gate: gate.to_owned(),
                observed: observed.into(),
                configured: configured.into(),
                detail: detail.to_owned(),
            });
        }
    };
    let is_told = process.flags.is_some() || process.configuration.is_some();
    // What it runs with, by its own words or by what it was told when it started.
    let running = |gate: &str| {
        let effective = table
            .gates
            .get(gate)
            .filter(|_| is_told || process.runs.is_some());
        effective?.value.is_on()
    };
    for (document, settings) in &process.stored {
        for (gate, configured) in &settings.gates {
            let detail = format!(
                "its {} sets it otherwise than it runs: it was not restarted since, or something else sets it",
                document.word()
            );
            if let Some(observed) = running(gate) {
                compare(gate, observed, *configured, &detail);
            }
        }
    }
    if let Some(runs) = process.runs {
        let told = [process.flags, process.configuration];
        for (gate, configured) in told
            .into_iter()
            .flatten()
            .flat_map(|settings| &settings.gates)
        {
            // A kubelet's flag wins over its file, so that only the whole of it can be compared.
            let is_overridden = process
                .flags
                .is_some_and(|flags| flags.gates.get(gate).is_some_and(|flag| flag != configured));
            if let (Some(observed), false) = (runs.get(gate), is_overridden) {
                let detail =
                    "the process tells two things of itself: its answers may be of two processes";
                compare(gate, *observed, *configured, detail);
            }
        }
    }
    // What runs but stands nowhere goes away with the next start.
    if is_told
        && let [(document, stored)] = process.stored.as_slice()
        && process.name.kind.has_prefixed_gates()
    {
        let told = process.flags.into_iter().flat_map(|flags| &flags.gates);
        for (gate, on) in told.filter(|(gate, _)| !stored.gates.contains_key(*gate)) {
            found.push(Contradiction {
                component: process.name.to_string(),
                gate: gate.clone(),
                observed: (*on).into(),
                configured: GateValue::Unknown,
                detail: format!(
                    "it runs with it, and its {} does not set it any more: the next start takes it away",
                    document.word()
                ),
            });
        }
    }
    found
}
