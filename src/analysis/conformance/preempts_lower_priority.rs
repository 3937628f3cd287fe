//! Trial: a Pod of higher priority gets the room of a lower one.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;

pub(super) const TRIAL: Trial = Trial {
    id: "preempts-lower-priority",
    title: "a Pod of higher priority displaces a lower one",
    severity: Severity::Error,
    plan,
    judge,
};

const FILLER: &str = "filler";
const PREEMPTOR: &str = "preemptor";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, PREEMPTOR, 1)?;
    acts.push(stage.pod(FILLER).on(&nodes).made());
    acts.push(Act::Await(FILLER.to_owned(), Until::Bound));
    // The only Pod below it anywhere is the filler, and on this node alone it may be placed: nobody else can be a victim.
    acts.push(
        stage
            .pod(PREEMPTOR)
            .on(&nodes)
            .high()
            .not_beside(FILLER)
            .made(),
    );
    acts.push(Act::Await(PREEMPTOR.to_owned(), Until::Bound));
    acts.push(Act::Await(FILLER.to_owned(), Until::Gone));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    match (seen.node(PREEMPTOR), seen.pod(FILLER)) {
        (Some(_), None) => Judgement::Kept,
        (Some(_), Some(_)) => Judgement::broken(
            "it placed a Pod beside one that it must not be beside",
            format!("{FILLER} is still there"),
        ),
        (None, _) => Judgement::broken(
            "a Pod of higher priority did not get the room of a lower one",
            seen.fate(PREEMPTOR),
        ),
    }
}
