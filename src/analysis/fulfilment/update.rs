//! Whether the API server lets an update of a bound Pod pass, and whether the node then does what it says.
//!
//! Admission looks at the Node's list, at updates of the Pod and of its subresource `resize`, and only where the Pod is bound (1.37.2
//! `plugin/pkg/admission/nodedeclaredfeatures/admission.go`). Validation comes before: what may never change answers 422 (observed).
//! A stale list lets an update pass that its kubelet then ignores (observed: 200, no condition, no event).

use super::scheduling::{lacks, names, unseen, verdict};
use super::{Case, Judgement};
use crate::answer::feature_explanation::{
    Answered, For, KubeletDoes, NodeRow, UpdateReport, Verdict, VerdictKind,
};

pub(super) fn judge(case: &Case<'_>) -> Judgement {
    let required = case.features(For::Update);
    if required.is_empty() {
        let same = case.subject.pod.needs.as_deref() == case.new;
        return admitted(verdict(
            VerdictKind::NothingRequired,
            if same {
                "nothing-changes"
            } else {
                "nothing-required"
            },
            if same {
                "Nothing changes that could require a declared feature."
            } else {
                "The update requires no declared feature; whether it may be made at all is validation's to say."
            },
        ));
    }
    let Some(node) = &case.subject.pod.node else {
        return admitted(verdict(
            VerdictKind::NothingRequired,
            "not-bound",
            "It is not bound: admission asks for features where a node is known.",
        ));
    };
    let Some(judged) = case.nodes.get(node.as_str()) else {
        return Judgement {
            update: Some(report(Answered::Unknown, None)),
            ..Judgement::of(unseen(case, node))
        };
    };
    let row = case.row(judged, For::Update);
    let checked = |due: Option<bool>| -> Vec<&'static str> {
        let of = required
            .iter()
            .filter(|it| case.admission_checks(it) == due);
        let lacking = of.filter(|it| row.missing.contains(&it.name));
        lacking.map(|it| it.name).collect()
    };
    let (refused, open) = (checked(Some(true)), checked(None));
    let mut judged = if !refused.is_empty() {
        refusal(case, node, &refused)
    } else if !open.is_empty() {
        Judgement {
            update: Some(report(Answered::Unknown, None)),
            ..Judgement::of(Verdict {
                advice: vec!["let the user get /version, or say how the API server is reached with --component".to_owned()],
                ..verdict(
                    VerdictKind::Unknown,
                    "api-server-not-observed",
                    format!("{node} does not declare {}; whether the API server checks that is not known.", names(&open)),
                )
            })
        }
    } else {
        admitted(accepted(case, &row))
    };
    judged.verdict.evidence.push(case.listing(&row));
    if row.missing.is_empty() && row.stale != Some(false) {
        judged.verdict.evidence.extend(case.worth(node));
    }
    judged.nodes = vec![row];
    judged
}

fn report(admitted: Answered, message: Option<String>) -> UpdateReport {
    UpdateReport { admitted, message }
}

fn admitted(verdict: Verdict) -> Judgement {
    Judgement {
        update: Some(report(Answered::Yes, None)),
        ..Judgement::of(verdict)
    }
}

fn refusal(case: &Case<'_>, node: &str, lacking: &[&'static str]) -> Judgement {
    let all = names(lacking);
    let name = &case.subject.pod.name.name;
    // The form of 1.36.3 and 1.37.2; 1.35 has the names in any order.
    let message = format!(
        "pods {name:?} is forbidden: pod update requires features {all} which are not available on node {node:?}"
    );
    Judgement {
        update: Some(report(Answered::No, Some(message))),
        ..Judgement::of(Verdict {
            advice: vec![
                format!("replace the Pod instead of changing it, or have {node} declare {all}"),
                format!("see why it does not: kubectl features declared --node {node}"),
            ],
            ..verdict(
                VerdictKind::RefusedByAdmission,
                "not-declared",
                format!(
                    "The API server refuses the update (403 Forbidden): its node {node} does not declare {all}."
                ),
            )
        })
    }
}

/// The API server lets it pass. What then becomes of it depends on the kubelet.
fn accepted(case: &Case<'_>, row: &NodeRow) -> Verdict {
    let node = &row.name;
    let resize = format!(
        "such a change goes through the subresource: kubectl patch pod {} --subresource=resize",
        case.subject.pod.name.name
    );
    if row.kubelet == KubeletDoes::Runs {
        let worth = match row.stale {
            Some(false) => String::new(),
            _ => format!(
                "; whether its list is up to date is not known ({})",
                row.cause
            ),
        };
        return Verdict {
            advice: vec![resize],
            ..verdict(
                VerdictKind::Satisfied,
                "declared",
                format!(
                    "Its node {node} has what the update requires{worth}. Whether there is room is the kubelet's to say."
                ),
            )
        };
    }
    let lacks = lacks(row);
    if row.kubelet == KubeletDoes::Unknown {
        return Verdict {
            advice: vec!["let the user read nodes/proxy, or nodes/metrics and nodes/configz with --direct-kubelets".to_owned()],
            ..verdict(
                VerdictKind::Unknown,
                "kubelet-not-observed",
                format!("The API server accepts the update (200), though {lacks}; whether the kubelet does it depends on gates that were not seen."),
            )
        };
    }
    let word = if row.missing.is_empty() {
        "stale-promise"
    } else {
        "api-server-does-not-check"
    };
    Verdict {
        advice: vec![format!(
            "after the update look at the conditions PodResizePending and PodResizeInProgress and at status.resources: where none of them changes, {node} does not do it"
        )],
        ..verdict(
            VerdictKind::SilentlyIgnored,
            word,
            format!(
                "The API server accepts the update (200), though {lacks}: nothing would change there, and nothing would tell."
            ),
        )
    }
}
