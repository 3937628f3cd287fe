//! Trial: a nominated node that does not fit is passed over.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "falls-back-from-hint",
    title: "a nominated node that does not fit is passed over",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "misled";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, POD, 2)?;
    let [fits, hinted] = nodes.as_slice() else {
        return Err(NotNow::Unknown("it takes two nodes".to_owned()));
    };
    acts.push(stage.pod(POD).on([fits]).gated().made());
    acts.push(stage.hint(POD, hinted));
    acts.push(stage.open(POD));
    acts.push(Act::Await(POD.to_owned(), Until::Bound));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    let hint = seen.hints.get(POD).map(String::as_str).unwrap_or_default();
    match seen.node(POD) {
        Some(node) if node != hint => Judgement::Kept,
        Some(node) => Judgement::broken(
            "it followed a hint to a node that the Pod's affinity forbids",
            format!("spec.nodeName is {node}"),
        ),
        None => Judgement::broken(
            "a hint to a node that does not fit kept the Pod from the one that does",
            seen.fate(POD),
        ),
    }
}
