//! Trial: of two nodes that fit alike, the one that is nominated is taken.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "honours-hint",
    title: "a nominated node that fits is taken",
    severity: Severity::Error,
    plan,
    judge,
};

/// One for each node, so that luck is no proof.
const PODS: [&str; 2] = ["hinted-first", "hinted-second"];

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, "hinted", PODS.len())?;
    for (pod, node) in PODS.iter().zip(&nodes) {
        acts.push(stage.pod(pod).on(&nodes).gated().made());
        acts.push(stage.hint(pod, node));
        acts.push(stage.open(pod));
        acts.push(Act::Await((*pod).to_owned(), Until::Bound));
    }
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    let mut evidence = Vec::new();
    for pod in PODS {
        let Some(bound) = seen.node(pod) else {
            return Judgement::Unknown(format!("{pod} was not placed: {}", seen.fate(pod)));
        };
        let hint = seen.hints.get(pod).map(String::as_str);
        if hint != Some(bound) {
            let hint = hint.unwrap_or_default();
            evidence.push(format!(
                "{pod} was nominated to {hint} and is bound to {bound}"
            ));
        }
    }
    if evidence.is_empty() {
        return Judgement::Kept;
    }
    Judgement::Broken(
        "it passed over a nominated node that fits".to_owned(),
        evidence,
    )
}
