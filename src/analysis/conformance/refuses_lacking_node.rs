//! Trial: a Pod that needs a feature is not bound to a node that declares others.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, parts};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "refuses-lacking-node",
    title: "a node that declares others and lacks the feature is refused",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "lacking";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let node = stage.lacking(&mut acts, POD)?;
    acts.extend(parts::refused(stage, POD, &node));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    parts::judge_refused(
        seen,
        POD,
        "it bound a Pod that needs the feature to a node whose list lacks it",
    )
}
