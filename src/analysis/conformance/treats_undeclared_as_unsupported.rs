//! Trial: a Pod that needs a feature is not bound to a node that declares nothing.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, parts};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "treats-undeclared-as-unsupported",
    title: "a node that declares nothing is taken to lack the feature",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "undeclared";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let node = stage.bare(&mut acts, POD)?;
    acts.extend(parts::refused(stage, POD, &node));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    parts::judge_refused(
        seen,
        POD,
        "it bound a Pod that needs the feature to a node that declares nothing",
    )
}
