//! Trial: a Pod that needs a feature is bound to a node that declares it.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "accepts-declaring-node",
    title: "a node that declares the feature is taken",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "accepted";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let node = stage.declaring(&mut acts, POD)?;
    acts.push(stage.pod(POD).on([&node]).needing_the_feature().made());
    acts.push(Act::Await(POD.to_owned(), Until::Bound));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    if seen.node(POD).is_some() {
        return Judgement::Kept;
    }
    Judgement::broken(
        "it did not bind a Pod that needs the feature to the node that declares it",
        seen.fate(POD),
    )
}
