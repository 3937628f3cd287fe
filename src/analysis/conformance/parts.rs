//! What several trials share: a Pod that has to be refused.

use super::stage::Stage;
use super::{Act, Judgement, Seen, Until};

/// A Pod that needs the feature, for one node alone.
pub(super) fn refused(stage: &Stage, pod: &str, node: &String) -> [Act; 2] {
    [
        stage.pod(pod).on([node]).needing_the_feature().made(),
        Act::Await(pod.to_owned(), Until::Decided),
    ]
}

/// It must have been looked at, and not bound: silence proves nothing.
pub(super) fn judge_refused(seen: &Seen, pod: &str, broken: &str) -> Judgement {
    match (seen.node(pod), seen.looks.get(pod)) {
        (Some(node), _) => Judgement::broken(broken, format!("spec.nodeName is {node}")),
        (None, Some(look)) if look.is_met => Judgement::Kept,
        _ => Judgement::Unknown(format!(
            "it is not bound after {:.0}s, and {}",
            seen.seconds(pod),
            seen.fate(pod)
        )),
    }
}
