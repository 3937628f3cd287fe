//! Whether nodes give what a Pod requires to be placed, and what a bound Pod's kubelet makes of it.
//!
//! The scheduler trusts a node's list whatever it is worth (observed: a Pod was bound within 0.2 s to a 1.35 node whose list was
//! patched by hand). It must not say whether the rest of a Pod's needs fits a node.

use super::{Case, Judgement};
use crate::analysis::message;
use crate::analysis::requirement::Feature;
use crate::answer::feature_explanation::{
    BoundBy, For, KubeletDoes, NodeRow, PodAtRisk, Verdict, VerdictKind,
};
use crate::answer::nomination_explanation::Evidence;
use crate::answer::parts::some;
use crate::model::coverage::State;
use crate::model::want::Want;

/// Nodes that are told of one by one.
const SHOWN: usize = 3;

/// Reason of a Pod that its kubelet refused (kubernetes 1.37 `pkg/kubelet/lifecycle/handlers.go`).
const UNSUPPORTED: &str = "PodFeatureUnsupported";

pub(super) fn judge(case: &Case<'_>) -> Judgement {
    let required = case.features(For::Scheduling);
    if case.subject.pod.needs.is_none() {
        return Judgement::of(verdict(
            VerdictKind::Unknown,
            "specification-not-seen",
            "Its specification was not seen, so nobody knows what it requires.",
        ));
    }
    if required.is_empty() {
        return Judgement::of(verdict(
            VerdictKind::NothingRequired,
            "nothing-required",
            "It requires no declared feature: any node will do, as far as that goes.",
        ));
    }
    match &case.subject.pod.node {
        Some(node) if is_refused(case) => refused(case, node),
        Some(node) => bound(case, node),
        None => unbound(case, &required),
    }
}

pub(super) fn verdict(
    kind: VerdictKind,
    cause: &'static str,
    summary: impl Into<String>,
) -> Verdict {
    Verdict {
        kind,
        cause,
        summary: summary.into(),
        evidence: Vec::new(),
        advice: Vec::new(),
    }
}

pub(super) fn names(features: &[&'static str]) -> String {
    features.join(", ")
}

fn unbound(case: &Case<'_>, required: &[&'static Feature]) -> Judgement {
    let rows: Vec<NodeRow> = case
        .nodes
        .values()
        .map(|it| case.row(it, For::Scheduling))
        .collect();
    let state = case.world.state_of(&Want::Nodes);
    let mut verdict = of_nodes(case, required, &rows, state);
    verdict.evidence.extend(of_scheduler(case));
    if !case.subject.pod.gates.is_empty() {
        let gates = case.subject.pod.gates.join(", ");
        let text = format!("its scheduling gates keep the scheduler from looking: {gates}");
        verdict.evidence.push(case.of_pod(text));
    }
    Judgement {
        nodes: rows,
        ..Judgement::of(verdict)
    }
}

fn of_nodes(
    case: &Case<'_>,
    required: &[&'static Feature],
    rows: &[NodeRow],
    state: Option<State>,
) -> Verdict {
    let all: Vec<&'static str> = required.iter().map(|it| it.name).collect();
    let all = names(&all);
    let is_listed = state == Some(State::Complete);
    // What is known not to be checked keeps no node out.
    let is_checked = |name: &&str| {
        let feature = required.iter().find(|it| it.name == *name);
        feature.is_some_and(|it| case.scheduler.checks(it) != Some(false))
    };
    let eligible: Vec<&NodeRow> = rows
        .iter()
        .filter(|row| !row.missing.iter().any(is_checked))
        .collect();
    let declaring = rows.iter().filter(|row| row.satisfies).count();
    let sure = eligible
        .iter()
        .filter(|row| row.satisfies && row.unproven.is_empty())
        .count();
    let listing = format!("{declaring} of {} nodes declare {all}", rows.len());
    let lacking: Vec<&NodeRow> = eligible
        .iter()
        .filter(|row| !row.satisfies)
        .copied()
        .collect();
    if !is_listed && lacking.is_empty() && sure == 0 {
        return Verdict {
            evidence: vec![case.of_pod("the Nodes could not all be read")],
            advice: vec!["let the user list nodes, or read them from files with --from".to_owned()],
            ..verdict(
                VerdictKind::Unknown,
                "nodes-not-observed",
                format!("It requires {all}; which nodes declare that was not seen."),
            )
        };
    }
    if !lacking.is_empty() {
        return unchecked(case, &lacking, &listing);
    }
    if eligible.is_empty() {
        return unsatisfied(case, required, &listing);
    }
    if sure == 0 {
        return on_stale_promises(case, &eligible, &listing);
    }
    let mut verdict = verdict(
        VerdictKind::Satisfied,
        "declared",
        format!("{listing}. Whether the rest of its needs fits there is left to the scheduler."),
    );
    let doubtful: Vec<String> = eligible
        .iter()
        .filter(|row| !row.unproven.is_empty())
        .map(|row| row.name.clone())
        .collect();
    if !doubtful.is_empty() {
        let text = format!(
            "the lists of {} are stale: the scheduler trusts them all the same",
            some(&doubtful)
        );
        verdict.evidence.push(case.of_pod(text));
        verdict.advice.push(format!(
            "keep it off those nodes: kubectl cordon {}",
            doubtful.join(" ")
        ));
    }
    verdict
}

/// The scheduler lets it come to nodes that lack something, for it does not look.
fn unchecked(case: &Case<'_>, lacking: &[&NodeRow], listing: &str) -> Verdict {
    let ignored = lacking.first().map(|row| names(&row.missing));
    let ignored = ignored.unwrap_or_default();
    let nodes: Vec<String> = lacking.iter().map(|row| row.name.clone()).collect();
    let nodes = some(&nodes);
    let mut verdict = verdict(
        VerdictKind::SilentlyIgnored,
        "scheduler-does-not-check",
        format!(
            "The scheduler does not check {ignored}: the Pod may come to {nodes}, which does not declare it. {listing}."
        ),
    );
    let some_nodes = lacking.iter().take(SHOWN);
    verdict.evidence = some_nodes.map(|row| on_arrival(case, row)).collect();
    verdict.advice = vec![
        "keep it on nodes that declare what it requires by node affinity, until the scheduler is of a version that checks".to_owned(),
    ];
    verdict
}

/// No node declares what it requires.
fn unsatisfied(case: &Case<'_>, required: &[&'static Feature], listing: &str) -> Verdict {
    let is_sure = required
        .iter()
        .all(|it| case.scheduler.checks(it) == Some(true));
    let then = if is_sure {
        "it stays Pending, and the scheduler tries it again as soon as one does"
    } else {
        "a scheduler that checks it leaves it Pending; whether this one does is not known"
    };
    let mut verdict = verdict(
        VerdictKind::Unsatisfied,
        "no-node-declares",
        format!("{listing}: {then}."),
    );
    let gates: Vec<&str> = required
        .iter()
        .flat_map(|it| it.gates.iter().copied())
        .collect();
    let feature = required.first().map_or("", |it| it.name);
    verdict.advice = vec![
        format!("see why nodes do not declare it: kubectl features declared --missing {feature}"),
        format!(
            "a kubelet declares it with its gates on ({}), or the Pod does without: {}",
            gates.join(", "),
            fields(case)
        ),
        "preemption does not help, and an autoscaler that adds nodes by a template does not know what they will declare".to_owned(),
    ];
    verdict
}

/// Only lists that cannot be right promise what it requires.
fn on_stale_promises(case: &Case<'_>, eligible: &[&NodeRow], listing: &str) -> Verdict {
    let is_refused = eligible
        .iter()
        .any(|row| row.kubelet == KubeletDoes::Refuses);
    let is_open = eligible
        .iter()
        .any(|row| row.kubelet == KubeletDoes::Unknown);
    let (kind, then) = if is_refused {
        (
            VerdictKind::RefusedByKubelet,
            "the kubelet there would refuse it",
        )
    } else if is_open {
        (
            VerdictKind::Unknown,
            "what the kubelet there would do is not known",
        )
    } else {
        (
            VerdictKind::SilentlyIgnored,
            "the kubelet there would run it without the feature",
        )
    };
    let mut verdict = verdict(
        kind,
        "stale-promise",
        format!(
            "{listing}, and none of these lists can be right: the scheduler would bind it, and {then}."
        ),
    );
    verdict.evidence = eligible
        .iter()
        .take(SHOWN)
        .flat_map(|row| case.worth(&row.name))
        .collect();
    verdict.advice =
        vec!["see what is the matter with the lists: kubectl features declared --stale".to_owned()];
    verdict
}

/// What a kubelet does with a Pod that comes without the node having what it requires.
fn on_arrival(case: &Case<'_>, row: &NodeRow) -> Evidence {
    let then = match row.kubelet {
        KubeletDoes::Refuses => "refuses it (PodFeatureUnsupported)",
        KubeletDoes::Ignores => "runs it without, and says nothing",
        KubeletDoes::Runs => "has it all the same",
        KubeletDoes::Unknown => "may refuse it, or run it without",
    };
    let version = row.version.as_deref().unwrap_or("of an unknown version");
    case.of_node(
        &row.name,
        format!("{}: its kubelet {version} {then}", row.name),
    )
}

/// The fields that make it require what it requires.
fn fields(case: &Case<'_>) -> String {
    let because = case
        .required
        .iter()
        .flat_map(|(_, required)| &required.because);
    some(&because.map(|it| it.field.clone()).collect::<Vec<_>>())
}

/// What the scheduler said, and whether it is about this.
fn of_scheduler(case: &Case<'_>) -> Vec<Evidence> {
    let required: Vec<&str> = case
        .features(For::Scheduling)
        .iter()
        .map(|it| it.name)
        .collect();
    let mut found = Vec::new();
    for reason in &case.said.reasons {
        let Some(named) = message::lacking_features(&reason.text) else {
            continue;
        };
        let count = reason.nodes.map_or_else(
            || "some nodes".to_owned(),
            |count| {
                if count == 1 {
                    "1 node".to_owned()
                } else {
                    format!("{count} nodes")
                }
            },
        );
        let text = if named.is_empty() {
            format!(
                "the scheduler said of {count} that required features are lacking, without naming them: the Pod requires {}",
                required.join(", ")
            )
        } else {
            format!("the scheduler said that {count} lack {}", named.join(", "))
        };
        found.push(case.of_pod(text));
    }
    if found.is_empty() && !case.said.reasons.is_empty() {
        let reasons: Vec<String> = case.said.reasons.iter().map(|it| it.text.clone()).collect();
        found.push(case.of_pod(format!(
            "the scheduler named other reasons alone: {}; it looks at features last",
            some(&reasons)
        )));
    }
    found
}

/// Whether its kubelet has refused it.
fn is_refused(case: &Case<'_>) -> bool {
    let pod = case.subject.pod;
    pod.phase.as_deref() == Some("Failed") && pod.reason.as_deref() == Some(UNSUPPORTED)
}

/// Its kubelet has refused it, whatever the node says now.
fn refused(case: &Case<'_>, node: &str) -> Judgement {
    let pod = case.subject.pod;
    let message = pod.message.as_deref().unwrap_or_default();
    let mut verdict = verdict(
        VerdictKind::RefusedByKubelet,
        "refused",
        format!("The kubelet of {node} refused it: {UNSUPPORTED}."),
    );
    verdict.evidence = vec![
        case.of_pod(format!("status: Failed, {UNSUPPORTED}: {message}")),
        case.of_pod(how_bound(case)),
    ];
    verdict.advice = vec![match &pod.controller {
        Some(controller) => {
            format!("nothing retries this Pod; its controller {controller} makes another one")
        }
        None => "nothing retries this Pod, and it has no controller: create it again, and leave the node to a scheduler".to_owned(),
    }];
    let judged = case.nodes.get(node);
    let row = judged.map(|judged| case.row(judged, For::Scheduling));
    let lacking = row.as_ref().map(lacking_of).unwrap_or_default();
    Judgement {
        at_risk: at_risk(case, node, &lacking),
        nodes: row.into_iter().collect(),
        ..Judgement::of(verdict)
    }
}

fn lacking_of(row: &NodeRow) -> Vec<&'static str> {
    row.missing.iter().chain(&row.unproven).copied().collect()
}

fn how_bound(case: &Case<'_>) -> &'static str {
    match case.bound_by() {
        Some(BoundBy::Hand) => {
            "spec.nodeName was written without a scheduler: nobody looked at what it requires before"
        }
        Some(BoundBy::Binding) => "nobody owns spec.nodeName: a scheduler bound it",
        _ => "who put it on its node is not known",
    }
}

fn bound(case: &Case<'_>, node: &str) -> Judgement {
    let Some(judged) = case.nodes.get(node) else {
        return Judgement::of(unseen(case, node));
    };
    let row = case.row(judged, For::Scheduling);
    let lacking = lacking_of(&row);
    let mut verdict = of_node(case, &row, &lacking);
    verdict.evidence.push(case.of_pod(how_bound(case)));
    verdict.evidence.push(case.listing(&row));
    if row.missing.is_empty() && row.stale != Some(false) {
        verdict.evidence.extend(case.worth(node));
    }
    let at_risk = at_risk(case, node, &lacking);
    if !at_risk.is_empty() && row.kubelet == KubeletDoes::Refuses {
        verdict.advice.push(format!(
            "{} other Pods of {node} would end with it: move them before its kubelet starts again",
            at_risk.len()
        ));
    }
    Judgement {
        nodes: vec![row],
        at_risk,
        ..Judgement::of(verdict)
    }
}

/// The node of a bound Pod is not known.
pub(super) fn unseen(case: &Case<'_>, node: &str) -> Verdict {
    let state = case.world.state_of(&Want::Node(node.to_owned()));
    let (word, summary) = match state {
        Some(State::Absent | State::Complete) => (
            "node-gone",
            format!("Its node {node} was not found, so nobody knows what it declares."),
        ),
        _ => (
            "nodes-not-observed",
            format!("Its node {node} could not be read, so nobody knows what it declares."),
        ),
    };
    Verdict {
        advice: vec!["let the user get nodes, or read them from files with --from".to_owned()],
        ..verdict(VerdictKind::Unknown, word, summary)
    }
}

fn of_node(case: &Case<'_>, row: &NodeRow, lacking: &[&'static str]) -> Verdict {
    let pod = case.subject.pod;
    let node = &row.name;
    let all = names(lacking);
    let lacks = lacks(row);
    let runs = pod.start.is_some() && !pod.finished();
    match row.kubelet {
        KubeletDoes::Runs => {
            let worth = match row.stale {
                Some(false) => String::new(),
                _ => format!("; whether its list is up to date is not known ({})", row.cause),
            };
            verdict(
                VerdictKind::Satisfied,
                "declared",
                format!("Its node {node} has what it requires{worth}."),
            )
        }
        KubeletDoes::Refuses if runs => Verdict {
            advice: vec![format!("move it to a node that declares {all} before the kubelet of {node} starts again")],
            ..verdict(
                VerdictKind::RefusedByKubelet,
                "refused-at-restart",
                format!("It runs, and {lacks}: when the kubelet there starts again it looks anew, refuses the Pod with {UNSUPPORTED} and ends its containers."),
            )
        },
        KubeletDoes::Refuses => Verdict {
            advice: vec!["leave spec.nodeName out, and let a scheduler find a node that declares it".to_owned()],
            ..verdict(
                VerdictKind::RefusedByKubelet,
                "refused-on-arrival",
                format!("{lacks}: its kubelet refuses such a Pod with {UNSUPPORTED}."),
            )
        },
        KubeletDoes::Ignores => Verdict {
            advice: vec![format!("move it to a node that declares {all}: nothing will tell of it")],
            ..verdict(
                VerdictKind::SilentlyIgnored,
                "kubelet-does-not-check",
                format!("{lacks}, and its kubelet does not check: the Pod runs there without."),
            )
        },
        KubeletDoes::Unknown => Verdict {
            advice: vec!["let the user read nodes/proxy, or nodes/metrics and nodes/configz with --direct-kubelets".to_owned()],
            ..verdict(
                VerdictKind::Unknown,
                "kubelet-not-observed",
                format!("{lacks}; whether its kubelet refuses such a Pod, or runs it without, depends on a gate that was not seen."),
            )
        },
    }
}

/// What a node lacks, in words.
pub(super) fn lacks(row: &NodeRow) -> String {
    let node = &row.name;
    let missing = names(&row.missing);
    let unproven = names(&row.unproven);
    match (row.missing.is_empty(), row.unproven.is_empty()) {
        (true, _) => format!("{node} lists {unproven} in a list that is left over"),
        (false, true) => format!("{node} does not declare {missing}"),
        (false, false) => {
            format!(
                "{node} does not declare {missing}, and lists {unproven} in a list that is left over"
            )
        }
    }
}

/// Other Pods of the node that require what it lacks.
fn at_risk(case: &Case<'_>, node: &str, lacking: &[&'static str]) -> Vec<PodAtRisk> {
    let pod = case.subject.pod;
    let others = case.world.pods().map(|other| &other.value);
    let mut found: Vec<PodAtRisk> = others
        .filter(|other| {
            other.uid != pod.uid && other.node.as_deref() == Some(node) && !other.finished()
        })
        .filter_map(|other| {
            let required = super::for_scheduling(other.needs.as_deref()?);
            let features: Vec<&'static str> = required
                .iter()
                .map(|it| it.feature.name)
                .filter(|name| lacking.contains(name))
                .collect();
            (!features.is_empty()).then(|| PodAtRisk {
                namespace: other.name.namespace.clone(),
                name: other.name.name.clone(),
                features,
            })
        })
        .collect();
    found.sort();
    found
}
