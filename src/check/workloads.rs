//! Rule: no Pod requires a declared feature that its node, or every node, stops declaring.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::fulfilment::leaving::{self, Affected, Leaving};
use crate::answer::check_report::Finding;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::coverage::State;
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::workload::{Workload, WorkloadKind};

pub(super) const RULE: Rule = Rule {
    id: "workloads",
    title: "no Pod requires a declared feature that goes",
    severity: Severity::Error,
    docs: Docs {
        what: "Works out what each kubelet would declare after the move, and looks for Pods that require what it would not: those \
               that it would refuse when it starts again, those that it would run without, and those that wait for a node while \
               none is left that declares it; of workloads, also those without a Pod, it reads the templates. Counts the nodes that would keep each feature.",
        why: "A kubelet looks at its Pods anew whenever it starts. One that requires a feature which is not declared any more \
              is refused with PodFeatureUnsupported: its containers are ended, and nothing retries it; its replacement stays Pending where no other node \
              declares the feature.",
        cannot_see: "Templates of kinds that others define, what is in a status or waits for a finalizer that nobody handles once a gate is \
                     off, room on the nodes that keep a feature, and features that depend \
                     on what a container runtime supports.",
        example: "2 Pods would be refused with PodFeatureUnsupported, and end, when their kubelets start again",
    },
    judge,
};

const UNSUPPORTED: &str = "PodFeatureUnsupported";

fn judge(facts: &Facts<'_>) -> Ruling {
    let leaving = leaving::all(facts.world, &facts.targets);
    let findings: Vec<Finding> = leaving
        .iter()
        .flat_map(of_feature)
        .chain(resizes(facts))
        .collect();
    let is_going = leaving.iter().any(|it| !it.losing.is_empty());
    let mut unknown: Vec<String> = Vec::new();
    let state = facts.world.state_of(&Want::every_pod());
    let is_any = facts.world.pods().any(|pod| pod.value.component.is_none());
    match state {
        Some(State::Complete) => {}
        Some(_) => unknown.push("not all Pods could be listed".to_owned()),
        None if is_any || !is_going => {}
        None => unknown.push("features go, and no Pod was seen".to_owned()),
    }
    let lists = WorkloadKind::OUTERMOST.map(Want::Workloads);
    let missing = lists.iter().filter(|want| {
        let state = facts.world.state_of(want);
        state.is_some_and(|state| state != State::Complete)
    });
    let missing: Vec<String> = missing.map(Want::subject).collect();
    if is_going && !missing.is_empty() {
        unknown.push(format!(
            "not all templates could be listed: {}",
            some(&missing)
        ));
    }
    for leaving in leaving.iter().filter(|it| !it.open.is_empty()) {
        unknown.push(format!(
            "whether kubelets would keep {} for {} is not known",
            leaving.feature.name,
            some(&names(&leaving.open))
        ));
    }
    if facts.meant().next().is_none() {
        unknown.push(start::NOBODY.to_owned());
    }
    Ruling {
        findings,
        unknown: (!unknown.is_empty()).then(|| unknown.join("; ")),
        skipped: None,
    }
}

fn names(pods: &[Affected<'_>]) -> Vec<String> {
    let names = pods.iter().map(|it| &it.pod.name);
    names
        .map(|it| format!("{}/{}", it.namespace, it.name))
        .collect()
}

fn of_feature(leaving: &Leaving<'_>) -> Vec<Finding> {
    let name = leaving.feature.name;
    let mut findings = Vec::new();
    if !leaving.refused.is_empty() {
        let message = format!(
            "{} would be refused with {UNSUPPORTED}, and end, when {} again",
            count(&leaving.refused),
            if leaving.refused.len() == 1 {
                "its kubelet starts"
            } else {
                "their kubelets start"
            },
        );
        findings.push(told(leaving, &leaving.refused, message, &[
            "move them to nodes that keep it before their kubelets start again; nothing retries a Pod that was refused",
        ]));
    }
    if !leaving.ignored.is_empty() {
        let message = format!(
            "{} would run without {name}, and nothing would tell: the kubelet does not look",
            count(&leaving.ignored)
        );
        findings.push(told(
            leaving,
            &leaving.ignored,
            message,
            &["move them to nodes that keep it first"],
        ));
    }
    if !leaving.pending.is_empty() && leaving.keeping.is_empty() && !leaving.losing.is_empty() {
        let message = format!(
            "no node would be left that declares {name}, and there are Pods that wait for one: {}",
            some(&names(&leaving.pending))
        );
        findings.push(told(leaving, &leaving.pending, message, &[]));
    }
    if !leaving.templates.is_empty() && leaving.keeping.is_empty() && !leaving.losing.is_empty() {
        findings.push(of_templates(leaving));
    }
    findings
}

/// What has no Pod now makes the next one for a node that is none any more.
fn of_templates(leaving: &Leaving<'_>) -> Finding {
    let name = |workload: &Workload| {
        let PodName { namespace, name } = &workload.name;
        format!("{} {namespace}/{name}", workload.kind.word())
    };
    let mut names: Vec<String> = leaving.templates.iter().map(|(it, _)| name(it)).collect();
    names.sort();
    let mut evidence: Vec<String> = leaving
        .templates
        .iter()
        .map(|(workload, because)| format!("template of {}: {because}", name(workload)))
        .collect();
    evidence.sort();
    let verb = if names.len() == 1 {
        "requires it: its"
    } else {
        "require it: their"
    };
    finding(
        leaving.feature.name,
        format!(
            "no node would be left that declares {}, and the template of {} {verb} next Pods would stay Pending",
            leaving.feature.name,
            some(&names)
        ),
        evidence,
        ["leave a pool as it is that declares it, or take what requires it out of these templates first".to_owned()],
    )
}

fn count(pods: &[Affected<'_>]) -> String {
    match pods.len() {
        1 => "1 Pod".to_owned(),
        several => format!("{several} Pods"),
    }
}

/// All Pods by name: who is to move them must know each.
fn told(leaving: &Leaving<'_>, pods: &[Affected<'_>], message: String, advice: &[&str]) -> Finding {
    let mut evidence: Vec<String> = pods
        .iter()
        .zip(names(pods))
        .map(|(it, name)| {
            let node = it.pod.node.as_deref();
            let node = node.map_or_else(|| "not bound".to_owned(), |node| format!("on {node}"));
            let owner = it.pod.controller.as_deref();
            let owner = owner.map_or_else(
                || "without a controller".to_owned(),
                |it| format!("of {it}"),
            );
            format!("{name}, {node}, {owner}: {}", it.because)
        })
        .collect();
    evidence.sort();
    let mut losing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (kubelet, why) in &leaving.losing {
        losing.entry(why).or_default().push(kubelet.clone());
    }
    for (why, kubelets) in losing {
        let kubelets = some(&kubelets);
        evidence.push(format!("{kubelets} would not declare it any more: {why}"));
    }
    let keeping = &leaving.keeping;
    evidence.push(match keeping.len() {
        0 => "no node would keep declaring it".to_owned(),
        _ => format!("{} would keep declaring it", some(keeping)),
    });
    let mut advice: Vec<String> = advice
        .iter()
        .filter(|_| !keeping.is_empty())
        .map(|&text| text.to_owned())
        .collect();
    if keeping.is_empty() {
        advice.push("leave a pool as it is that declares it, or take what requires it out of these Pods first".to_owned());
    }
    finding(leaving.feature.name, message, evidence, advice)
}

/// Updates in flight on kubelets whose gates of resizing go off.
fn resizes(facts: &Facts<'_>) -> Vec<Finding> {
    let mut resizing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pod in facts.world.pods().map(|pod| &pod.value) {
        let is_resized = CONDITIONS.iter().any(|kind| pod.condition(kind).is_some());
        if let Some(node) = pod.node.as_deref().filter(|_| is_resized) {
            let name = format!("{}/{}", pod.name.namespace, pod.name.name);
            resizing.entry(node).or_default().push(name);
        }
    }
    let found = facts.meant().filter_map(|target| {
        let pods = resizing.get(target.name.identity.as_str())?;
        let (before, after) = (target.before.as_ref()?, target.after.as_ref()?);
        let goes =
            |gate: &&&str| before.does(gate) == Some(true) && after.does(gate) == Some(false);
        let gates: Vec<&str> = RESIZING.iter().filter(goes).copied().collect();
        (!gates.is_empty()).then(|| {
            let gates = gates.join(", ");
            finding(
                target.name.to_string(),
                format!("{gates} would go off while Pods are being resized there"),
                pods.clone(),
                [
                    "wait until their conditions PodResizePending and PodResizeInProgress are gone"
                        .to_owned(),
                ],
            )
        })
    });
    found.collect()
}

/// Gates by which a kubelet resizes (kubernetes 1.35 to 1.37, `pkg/features/kube_features.go`).
const RESIZING: [&str; 5] = [
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingExclusiveCPUs",
    "InPlacePodVerticalScalingExclusiveMemory",
    "InPlacePodVerticalScalingInitContainers",
];

/// What a kubelet says of a resize that is not done (KEP-1287).
pub(super) const CONDITIONS: [&str; 2] = ["PodResizeInProgress", "PodResizePending"];
