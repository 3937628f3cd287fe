//! Trial: what the scheduler says of a refused node speaks of features.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, parts, unschedulable};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "names-the-reason",
    title: "the message on a refused Pod speaks of features",
    severity: Severity::Warning,
    plan,
    judge,
};

const POD: &str = "explained";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let node = stage.without(&mut acts, POD)?;
    acts.extend(parts::refused(stage, POD, &node));
    Ok(acts)
}

/// kube-scheduler 1.36.3 and 1.37.2 say "didn't match Pod's required features", 1.35.4 names them.
fn judge(_: &Stage, seen: &Seen) -> Judgement {
    let message = seen.pod(POD).and_then(unschedulable);
    match message {
        Some(message) if message.to_lowercase().contains("feature") => Judgement::Kept,
        Some(message) => Judgement::broken(
            "its message does not say that a feature is missing",
            format!("PodScheduled: {message}"),
        ),
        None => Judgement::Unknown(format!("there is no message to read: {}", seen.fate(POD))),
    }
}
