//! Trial: a Pod that needs nothing is bound.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "schedules-ordinary-pods",
    title: "an ordinary Pod is scheduled",
    severity: Severity::Error,
    plan,
    judge,
};

const POD: &str = "ordinary";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, POD, 1)?;
    acts.push(stage.pod(POD).on(&nodes).made());
    acts.push(Act::Await(POD.to_owned(), Until::Bound));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    if seen.node(POD).is_some() {
        return Judgement::Kept;
    }
    let seconds = seen.seconds(POD);
    Judgement::broken(
        format!("it did not bind an ordinary Pod within {seconds:.0}s"),
        seen.fate(POD),
    )
}
