//! Trial: a Pod of lower priority does not displace a higher one.

use super::stage::Stage;
use super::{Act, Judgement, NotNow, Seen, Trial, Until};
use crate::answer::gate_skew::Severity;
use crate::model::pod::Pod;

pub(super) const TRIAL: Trial = Trial {
    id: "keeps-higher-priority",
    title: "a Pod of lower priority displaces no higher one",
    severity: Severity::Error,
    plan,
    judge,
};

const HOLDER: &str = "holder";
const CONTENDER: &str = "contender";

fn plan(stage: &Stage) -> Result<Vec<Act>, NotNow> {
    let mut acts = Vec::new();
    let nodes = stage.any(&mut acts, HOLDER, 1)?;
    acts.push(stage.pod(HOLDER).on(&nodes).high().made());
    acts.push(Act::Await(HOLDER.to_owned(), Until::Bound));
    acts.push(stage.pod(CONTENDER).on(&nodes).not_beside(HOLDER).made());
    acts.push(Act::Await(CONTENDER.to_owned(), Until::Decided));
    acts.push(Act::Await(HOLDER.to_owned(), Until::Now));
    Ok(acts)
}

fn judge(_: &Stage, seen: &Seen) -> Judgement {
    let is_there = |pod: &Pod| pod.node.is_some() && pod.deletion.is_none();
    match (
        seen.node(CONTENDER),
        seen.pod(HOLDER).filter(|pod| is_there(pod)),
    ) {
        (Some(node), _) => Judgement::broken(
            "it placed a Pod of lower priority where a higher one is in its way",
            format!("{CONTENDER} is bound to {node}"),
        ),
        (None, None) => Judgement::broken(
            "a Pod of higher priority had to go, or was not placed",
            format!("{HOLDER}: {}", seen.fate(HOLDER)),
        ),
        (None, Some(_)) if seen.looks.get(CONTENDER).is_some_and(|look| look.is_met) => {
            Judgement::Kept
        }
        (None, Some(_)) => Judgement::Unknown(format!("{CONTENDER}: {}", seen.fate(CONTENDER))),
    }
}
