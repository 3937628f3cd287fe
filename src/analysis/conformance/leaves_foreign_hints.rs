//! Trial: hints on Pods that are not the scheduler's, or not yet, are left alone.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "leaves-foreign-hints",
    title: "nominations of others' Pods and of gated Pods are left alone",
    severity: Severity::Error,
    plan,
    judge,
};

const FOREIGN: &str = "foreign";
const GATED: &str = "still-gated";
/// While it is placed, the others are looked at as well, by a scheduler that does so.
const BESIDE: &str = "beside";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, FOREIGN, 1)?;
    let [node] = nodes.as_slice() else {
        return Err(NotNow::Unknown("it takes a node".to_owned()));
    };
    acts.push(stage.pod(FOREIGN).on(&nodes).foreign().made());
    acts.push(stage.hint(FOREIGN, node));
    acts.push(stage.pod(GATED).on(&nodes).gated().made());
    acts.push(stage.hint(GATED, node));
    acts.push(stage.pod(BESIDE).on(&nodes).made());
    acts.push(Act::Await(BESIDE.to_owned(), Until::Bound));
    acts.push(Act::Await(FOREIGN.to_owned(), Until::Now));
    acts.push(Act::Await(GATED.to_owned(), Until::Now));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    if seen.node(BESIDE).is_none() {
        return Judgement::Unknown(format!("{BESIDE} was not placed: {}", seen.fate(BESIDE)));
    }
    let mut evidence = Vec::new();
    for pod in [FOREIGN, GATED] {
        let hint = seen.hints.get(pod);
        match seen.pod(pod) {
            None => evidence.push(format!("{pod} is gone")),
            Some(found) if found.node.is_some() => evidence.push(format!("{pod} was placed")),
            Some(found) if found.nominated_node.as_ref() != hint => {
                evidence.push(format!("the nomination of {pod} was changed or taken back"));
            }
            Some(_) => {}
        }
    }
    if evidence.is_empty() {
        return Judgement::Kept;
    }
    Judgement::Broken(
        "it touched a Pod that is not its own to place".to_owned(),
        evidence,
    )
}
