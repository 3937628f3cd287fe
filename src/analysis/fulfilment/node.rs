//! What one node gives of what is required: by its list, by what the list is worth, and by what its kubelet then does.
//!
//! A kubelet looks at its own list and not at the Node's, when a Pod comes to it and again at each of its starts; with the gate off it
//! looks at nothing (observed on 1.35.4, 1.36.3, 1.37.2; `pkg/kubelet/lifecycle/handlers.go`). An update it never refuses: it only
//! does nothing. It must not judge a Pod.

use super::enforcement::{Mechanism, mechanism};
use crate::analysis::declared::Judged;
use crate::analysis::gates::kubelet::KubeletGates;
use crate::analysis::requirement::{Feature, MECHANISM, NEWEST};
use crate::answer::declared_features::Freshness;
use crate::answer::feature_explanation::{For, KubeletDoes, NodeRow};
use crate::model::version::Release;

/// The row of a node, for these requirements.
pub(super) fn row(
    judged: &Judged<'_>,
    gates: Option<&KubeletGates>,
    required: &[&'static Feature],
    for_what: For,
) -> NodeRow {
    let listed = |feature: &&&Feature| judged.features().iter().any(|name| name == feature.name);
    // Of a list that is left over nothing is this kubelet's word.
    let is_stale = judged.judgement.freshness == Freshness::Stale;
    let names = |features: Vec<&&'static Feature>| features.iter().map(|it| it.name).collect();
    let missing: Vec<&&Feature> = required.iter().filter(|it| !listed(it)).collect();
    let unproven: Vec<&&Feature> = required
        .iter()
        .filter(|it| is_stale && listed(it))
        .collect();
    let lacking = missing.iter().chain(&unproven);
    let worst = lacking
        .map(|feature| without(judged, gates, feature, for_what))
        .max_by_key(|does| match does {
            KubeletDoes::Runs => 0,
            KubeletDoes::Ignores => 1,
            KubeletDoes::Unknown => 2,
            KubeletDoes::Refuses => 3,
        });
    let freshness = judged.judgement.freshness;
    NodeRow {
        name: judged.node.name.clone(),
        pool: judged.pool.clone(),
        version: judged.node.kubelet_version.clone(),
        satisfies: missing.is_empty(),
        kubelet: worst.unwrap_or(KubeletDoes::Runs),
        missing: names(missing),
        unproven: names(unproven),
        stale: match freshness {
            Freshness::Stale => Some(true),
            Freshness::Fresh => Some(false),
            Freshness::Unknown => None,
        },
        freshness,
        cause: judged.judgement.cause,
    }
}

/// What the kubelet does where its list lacks a feature, or cannot be right about it.
fn without(
    judged: &Judged<'_>,
    gates: Option<&KubeletGates>,
    feature: &Feature,
    for_what: For,
) -> KubeletDoes {
    // The list lacks what the kubelet has: somebody else wrote it.
    if judged
        .judgement
        .missing
        .iter()
        .any(|name| name == feature.name)
    {
        return KubeletDoes::Runs;
    }
    let version = judged.node.kubelet_version.as_deref();
    let Some(Release { minor, .. }) = version.and_then(Release::parse) else {
        return KubeletDoes::Unknown;
    };
    if minor <= NEWEST && !feature.is_registered(minor) {
        return KubeletDoes::Ignores;
    }
    let seen = |gate: &str| gates.and_then(|gates| gates.value(gate)).map(|(on, _)| on);
    if for_what == For::Update {
        // It may do what it does not declare.
        let gates: Vec<Option<bool>> = feature.gates.iter().map(|gate| seen(gate)).collect();
        return if gates.contains(&Some(false)) {
            KubeletDoes::Ignores
        } else if gates.contains(&None) {
            KubeletDoes::Unknown
        } else {
            KubeletDoes::Runs
        };
    }
    let seen = seen(MECHANISM);
    // Who writes a list of its own has the gate on.
    let writes = !judged.features().is_empty() && judged.judgement.freshness == Freshness::Fresh;
    match mechanism(minor, seen.or(writes.then_some(true))) {
        Mechanism::On => KubeletDoes::Refuses,
        Mechanism::Off => KubeletDoes::Ignores,
        Mechanism::OnByDefault | Mechanism::Unknown => KubeletDoes::Unknown,
    }
}
