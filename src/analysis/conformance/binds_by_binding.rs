//! Trial: a Pod is bound by its binding, never by a nodeName that somebody writes.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;
use crate::model::pod::OwnedField;

pub(super) const TRIAL: Trial = Trial {
    id: "binds-by-binding",
    title: "a Pod is placed by a binding, not by writing spec.nodeName",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "bound";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, POD, 1)?;
    acts.push(stage.pod(POD).on(&nodes).made());
    acts.push(Act::Await(POD.to_owned(), Until::Bound));
    Ok(acts)
}

/// After a real binding nobody owns `spec.nodeName`; whoever creates a Pod with it does (observed on 1.35.4, 1.36.3, 1.37.2).
fn judge(_: &Stage, seen: &Seen) -> Judgement {
    let Some(pod) = seen.pod(POD).filter(|pod| pod.node.is_some()) else {
        return Judgement::Unknown(format!("it was not placed: {}", seen.fate(POD)));
    };
    let mut evidence = Vec::new();
    if seen.uids.get(POD).is_some_and(|uid| **uid != *pod.uid.0) {
        evidence.push(format!(
            "the Pod was replaced: another one has its name, of UID {}",
            pod.uid.0
        ));
    }
    let owners = pod.managed_fields.iter().flatten();
    let owners = owners.filter(|owner| owner.owns(OwnedField::NodeName));
    evidence.extend(owners.map(|owner| {
        let manager = &owner.manager;
        format!(
            "managedFields: {manager:?} wrote spec.nodeName, which a binding does not leave behind"
        )
    }));
    if evidence.is_empty() {
        return Judgement::Kept;
    }
    Judgement::Broken(
        "it placed a Pod without a binding, so that admission and quota on bindings are passed by"
            .to_owned(),
        evidence,
    )
}
