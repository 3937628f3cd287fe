//! Trial: a Pod that waits for a feature is bound when a node starts to declare it.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until, parts};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "reacts-to-declaration",
    title: "a waiting Pod is bound when a node starts to declare the feature",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "reacting";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let node = stage.changeable(&mut acts, POD)?;
    acts.extend(parts::refused(stage, POD, &node));
    acts.push(Stage::declare(&node));
    acts.push(Act::Await(POD.to_owned(), Until::Bound));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    if seen.node(POD).is_some() {
        return Judgement::Kept;
    }
    let seconds = seen.seconds(POD);
    Judgement::broken(
        format!(
            "{seconds:.0}s after the node began to declare the feature it had not bound the Pod"
        ),
        seen.fate(POD),
    )
}
