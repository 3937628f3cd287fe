//! What is the matter with lists that are not fresh, for all nodes with the same cause at once, and what to do.
//!
//! What clears a list was tried on real kubelets of 1.35.4, 1.36.3 and 1.37.2 (tests/live/declared.rs). It must not judge a list.

use std::collections::BTreeMap;

use super::Judged;
use crate::answer::declared_features::{Freshness, Matter};
use crate::answer::gate_skew::Severity;

/// Names that a command holds; what is longer nobody copies.
const NAMED: usize = 20;

/// What is true of every node with a cause, and what else to do than to cordon it.
fn of(cause: &str) -> (&'static str, &'static [&'static str]) {
    const CLEAR: &str = "only a patch of nodes/status clears such a list, or a new Node: kubectl patch node NODE --subresource=status --type=json -p '[{\"op\":\"remove\",\"path\":\"/status/declaredFeatures\"}]', or delete the Node and restart its kubelet; then look again";
    match cause {
        "kubelet-too-old" => (
            "Kubelets of that version declare nothing: the list is left over from a newer one, or somebody else wrote it. Schedulers and API servers believe it.",
            &[CLEAR],
        ),
        "not-of-this-version" => (
            "No kubelet of that version declares what is listed: it is left over from another version, or somebody else wrote it. Schedulers and API servers believe it.",
            &[
                "a living kubelet that declares anything writes its own list within seconds: look again in a minute",
                CLEAR,
            ],
        ),
        "mechanism-off" => (
            "The kubelet has the gate of declared features off and never touches the list: it is left over from when it was on, or somebody else wrote it.",
            &[CLEAR],
        ),
        "gate-off" => (
            "The kubelet has gates off that it would need to declare what is listed.",
            &[
                "a living kubelet that declares anything writes its own list within seconds: look again in a minute",
                CLEAR,
            ],
        ),
        "nothing-to-declare" => (
            "The kubelet has nothing to declare any more, and then never touches the list.",
            &[CLEAR],
        ),
        "not-its-own" => (
            "The list lacks what the kubelet declares: somebody else wrote it, or the kubelet has just started.",
            &["a living kubelet writes its own list within seconds: look again in a minute"],
        ),
        "gates-not-observed" => (
            "Whether the kubelet still declares what is listed depends on gates that were not seen.",
            &[
                "let the user read nodes/proxy, or nodes/metrics and nodes/configz with --direct-kubelets; read more kubelets than a sample with --sample",
            ],
        ),
        "kubelet-silent" | "past-max-age" | "no-sign-of-life" => (
            "Nobody knows what these kubelets will declare when they come back.",
            &[
                "before they come back confirm that the kubelet runs (its Lease is renewed, Ready is True), that its version is the one that is due, and that kubectl features declared --node NODE says Fresh; only then uncordon",
            ],
        ),
        "foreign-writer" => (
            "Somebody else than the kubelet has just written the list.",
            &[
                "look again in a minute: a living kubelet writes its own list",
                "see who may: kubectl features declared --writers",
            ],
        ),
        "malformed-list" => (
            "No API server stores such a list: the input was changed, or was never a Node of a cluster.",
            &["take the Nodes from the cluster again"],
        ),
        "no-status" => (
            "No kubelet has reported for these Nodes yet.",
            &["look again when the kubelet has registered"],
        ),
        _ => (
            "What kubelets of that version declare is not known to this tool.",
            &["use a newer kubectl-features"],
        ),
    }
}

/// Whether a scheduler should not be trusted with the node meanwhile.
fn is_to_be_cordoned(cause: &str) -> bool {
    !matches!(
        cause,
        "gates-not-observed"
            | "foreign-writer"
            | "malformed-list"
            | "no-status"
            | "version-not-known"
            | "not-its-own"
    )
}

/// The worst first, then by cause.
pub(super) fn findings(judged: &[Judged<'_>]) -> Vec<Matter> {
    let mut causes: BTreeMap<(Freshness, &'static str), Vec<&Judged<'_>>> = BTreeMap::new();
    for it in judged {
        let freshness = it.judgement.freshness;
        if freshness != Freshness::Fresh {
            let of_cause = causes.entry((freshness, it.judgement.cause)).or_default();
            of_cause.push(it);
        }
    }
    causes
        .into_iter()
        .map(|((freshness, cause), nodes)| {
            let (message, more) = of(cause);
            let cordon = cordon(cause, &nodes).into_iter();
            let evidence = nodes.first().map(|it| it.judgement.evidence.clone());
            Matter {
                severity: match freshness {
                    Freshness::Stale => Severity::Error,
                    Freshness::Unknown | Freshness::Fresh => Severity::Warning,
                },
                freshness,
                cause,
                message,
                evidence: evidence.unwrap_or_default(),
                advice: cordon
                    .chain(more.iter().map(|&text| text.to_owned()))
                    .collect(),
                nodes: nodes.iter().map(|it| it.node.name.clone()).collect(),
            }
        })
        .collect()
}

fn cordon(cause: &str, nodes: &[&Judged<'_>]) -> Option<String> {
    let open: Vec<&str> = nodes
        .iter()
        .filter(|it| !it.node.unschedulable)
        .map(|it| it.node.name.as_str())
        .collect();
    if open.is_empty() || !is_to_be_cordoned(cause) {
        return None;
    }
    let named = open.iter().take(NAMED).copied().collect::<Vec<_>>();
    let more = match open.len() - named.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "keep Pods that need these features away: kubectl cordon {}{more}",
        named.join(" ")
    ))
}
