//! What a preflight says beside its checks: the intention in words, and the smallest change that would let components start.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Facts, served_api, version_skew};
use crate::analysis::fulfilment::leaving;
use crate::analysis::gates::intention::{self, Intention, Target};
use crate::analysis::gates::mending::{self, Mending};
use crate::analysis::gates::skew::Request;
use crate::analysis::gates::start::{Fault, Source, Start, VersionFlag};
use crate::analysis::gates::wants;
use crate::analysis::{declared, lookup};
use crate::answer::check_report::{Check, Status};
use crate::answer::parts::{NAMED, some};
use crate::catalogue::{Behaviour, Catalogue, META_GATES};
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::coverage::State;
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::workload::WorkloadKind;
use crate::model::world::World;

/// What the rules want to be read, all together. What makes Pods is read where a feature goes.
pub(crate) fn wants(
    world: &World,
    intention: &Intention,
    request: &Request,
    now: Timestamp,
) -> BTreeSet<Want> {
    let mut wants = wants::wants(world, request);
    wants.extend(declared::wants::wants(world, &of_lists(request), now));
    wants.insert(Want::every_pod());
    let mut components = world.pods().filter_map(|pod| pod.value.component.as_ref());
    if components.any(|it| it.kind == ComponentKind::KubeProxy) {
        let [usual, of_eks] = of_proxies();
        let is_absent = world.state_of(&usual) == Some(State::Absent);
        wants.extend([usual].into_iter().chain(is_absent.then_some(of_eks)));
    }
    let targets = intention::targets(world, intention, request);
    if leaving::all(world, &targets)
        .iter()
        .any(|it| !it.losing.is_empty())
    {
        wants.extend(WorkloadKind::OUTERMOST.map(Want::Workloads));
    }
    wants
}

/// All reads that may come to be needed.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    let workloads = WorkloadKind::OUTERMOST.map(Want::Workloads);
    let mut wants = declared::wants::possible(&of_lists(request));
    wants.extend(wants::possible(request));
    wants.push(Want::every_pod());
    wants.extend(of_proxies());
    wants.extend(workloads);
    wants
}

/// Configurations of kube-proxies: kubeadm's, and EKS' where that is not there.
fn of_proxies() -> [Want; 2] {
    ["kube-proxy", "kube-proxy-config"].map(|name| {
        Want::Configuration(PodName {
            namespace: "kube-system".to_owned(),
            name: name.to_owned(),
        })
    })
}

fn of_lists(request: &Request) -> declared::Request {
    declared::Request {
        observation: request.clone(),
        ..declared::Request::default()
    }
}

/// The intention in a sentence, with how far it could be judged at all.
pub(crate) fn sentence(facts: &Facts<'_>) -> String {
    let Request {
        kinds,
        pools,
        nodes,
        assumed,
        ..
    } = facts.request;
    let kinds = kinds
        .iter()
        .map(|kind| format!("component {}", kind.word()));
    let pools = pools.iter().map(|pool| format!("pool {pool}"));
    let nodes = nodes.iter().map(|node| format!("node {node}"));
    let only: Vec<String> = kinds.chain(pools).chain(nodes).collect();
    let mut sentence = intention(facts.intention);
    if !only.is_empty() {
        sentence = format!("{sentence} ({})", some(&only));
    }
    if facts.is_configuration_alone() {
        sentence.push_str(", in configuration alone");
    }
    if let Some(minor) = assumed {
        sentence = format!("{sentence}; what tells no version is taken for {minor}");
    }
    sentence
}

fn intention(intention: &Intention) -> String {
    match intention {
        Intention::ToVersion(minor) => format!("move to {minor}"),
        Intention::ToEmulatedVersion(minor) => format!("emulate {minor}"),
        Intention::Set(gates) => {
            let gates: Vec<String> = gates
                .iter()
                .map(|(name, on)| format!("{name}={on}"))
                .collect();
            format!("set {}", gates.join(","))
        }
        Intention::RollbackTo(_) => "go back to what ran before".to_owned(),
    }
}

/// Why a gate cannot be meant: no known minor has it.
pub(crate) fn known_name(name: &str) -> Result<(), String> {
    let catalogue = Catalogue::known();
    if META_GATES.contains(&name) || catalogue.last_with(name).is_some() {
        return Ok(());
    }
    let (oldest, newest) = (catalogue.oldest(), catalogue.newest());
    let near = lookup::nearest(catalogue, name);
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(format!(
        "there is no feature gate {name:?} in Kubernetes {oldest} to {newest}{near}"
    ))
}

/// Checks that could not be made, and that somebody accepts so, count as skipped.
pub(crate) fn allow(checks: &mut [Check], allowed: &[String]) {
    for check in checks {
        if check.status == Status::Unknown && allowed.iter().any(|id| id == check.id) {
            check.status = Status::Skipped;
            let reason = check.reason.take().unwrap_or_default();
            check.reason = Some(format!("accepted as unknown: {reason}"));
        }
    }
}

/// The fewest changes beside what is meant with which every component would start and versions would keep to the policy; empty where
/// none is needed, or none would do. `NAME=value` is for all that are meant; the rest are sentences.
pub(crate) fn smallest_change(facts: &Facts<'_>) -> Vec<String> {
    let fixed = match facts.intention {
        Intention::Set(gates) => gates.clone(),
        _ => BTreeMap::new(),
    };
    let mut sentences: BTreeMap<String, (Vec<&ComponentName>, BTreeSet<Source>)> = BTreeMap::new();
    let mut mendings = Vec::new();
    for target in facts.meant() {
        let Some(after) = &target.after else {
            continue;
        };
        let mending = if target.faults.is_empty() {
            Some(Mending::default())
        } else {
            mending::of(after, &target.setting, &fixed)
        };
        let Some(mending) = mending else {
            return Vec::new();
        };
        mendings.push((target, after, mending));
    }
    let set = mendings.iter().flat_map(|(_, _, mending)| &mending.set);
    let set: BTreeMap<String, bool> = set.map(|(name, on)| (name.clone(), *on)).collect();
    // What one component needs another of its version may refuse, or one of another version not know.
    let mut all = mendings.iter();
    let is_for_all = set.is_empty() || all.all(|(_, after, it)| it.mends(after, &set));
    let mended = mended(facts, &mendings, is_for_all.then_some(&set));
    for (target, after, mending) in mendings {
        let mut say = |sentence: String, sources: &BTreeSet<Source>| {
            let known = sentences.entry(sentence).or_default();
            known.0.push(&target.name);
            known.1.extend(sources);
        };
        if !is_for_all {
            for (gate, on) in mending.set {
                say(format!("set {gate}={on}"), &BTreeSet::new());
            }
        }
        for flag in mending.flags {
            let is_meant = matches!(facts.intention, Intention::ToEmulatedVersion(_))
                && flag == VersionFlag::Emulated;
            if is_meant {
                let binary = after.behaviour.binary;
                let oldest = Behaviour::floor(binary);
                say(
                    format!("emulate a version of {oldest} to {binary}"),
                    &BTreeSet::new(),
                );
            } else {
                say(format!("take {} out", flag.word()), &BTreeSet::new());
            }
        }
        for gate in mending.removed {
            let places = target.setting.gates.get(&gate).map(|(_, places)| places);
            say(
                format!("take {gate} out"),
                places.unwrap_or(&BTreeSet::new()),
            );
        }
        for key in mending.apis {
            let is_flag = key.starts_with("--");
            let of = if is_flag { "" } else { " of --runtime-config" };
            say(format!("take {key} out{of}"), &BTreeSet::new());
        }
        for (place, words) in mending.corrected {
            say(
                format!("correct what cannot be read, {words}"),
                &BTreeSet::from([place]),
            );
        }
    }
    let sentences = sentences.into_iter().map(|(sentence, (names, sources))| {
        let places: Vec<&str> = sources.iter().map(|source| source.words()).collect();
        let places = Some(places.join(", ")).filter(|places| !places.is_empty());
        let places = places.map_or_else(String::new, |places| format!(" ({places})"));
        format!("{sentence}: {}{places}", whose(facts, &names))
    });
    let set = set.into_iter().filter(|_| is_for_all);
    let set = set.map(|(name, on)| format!("{name}={on}"));
    // Without a flag that is taken out the policy is kept by other versions.
    let is_version = |fault: &Fault| matches!(fault, Fault::Version { .. });
    let is_other = facts.meant().any(|it| it.faults.iter().any(is_version));
    let first = if is_other {
        Vec::new()
    } else {
        version_skew::first(facts)
    };
    let apis = served_api::changes(&mended);
    let apis = apis.map(|(change, names)| format!("{change}: {}", whose(facts, &names)));
    first
        .into_iter()
        .chain(sentences)
        .chain(apis)
        .chain(set)
        .collect()
}

/// Every component as it is with its changes, and with what is set in all.
fn mended(
    facts: &Facts<'_>,
    mendings: &[(&Target, &Start, Mending)],
    set: Option<&BTreeMap<String, bool>>,
) -> Vec<Target> {
    let mut targets = facts.targets.clone();
    let meant = targets
        .iter_mut()
        .filter(|it| it.is_meant && it.after.is_some());
    for (target, (_, after, mending)) in meant.zip(mendings) {
        let mut after = mending.applied(after);
        let set = set.into_iter().flatten();
        after
            .gates
            .extend(set.map(|(name, on)| (name.clone(), *on)));
        let config = target.setting.runtime_config.take();
        target.setting.runtime_config = config.map(|config| mending.left_of(&config));
        target.after = Some(after);
        target.faults = Vec::new();
    }
    targets
}

/// Components by their names; where these are too many, kinds of which all that are meant are among them by the kind.
fn whose(facts: &Facts<'_>, names: &[&ComponentName]) -> String {
    let is_whole = |kind: ComponentKind| {
        let of_kind = names.iter().filter(|name| name.kind == kind).count();
        let meant = facts.meant().filter(|target| target.name.kind == kind);
        of_kind > 0 && of_kind == meant.count()
    };
    let mut whole = ComponentKind::ALL.to_vec();
    whole.retain(|kind| names.len() > NAMED && is_whole(*kind));
    let rest = names.iter().filter(|name| !whole.contains(&name.kind));
    let rest: Vec<String> = rest.map(ToString::to_string).collect();
    let kinds = whole.iter().map(|kind| format!("every {}", kind.word()));
    let rest = (!rest.is_empty()).then(|| some(&rest));
    kinds.chain(rest).collect::<Vec<_>>().join(", ")
}
