//! Not bound as far as an audit log tells, which holds no object of the Pod: its gates, conditions and victims are not known.
//!
//! Who set and cleared the field is told where the log has the requests.

use super::Story;
use super::cleared;
use crate::answer::nomination_explanation::{Certainty, Ended, Verdict, VerdictKind};

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    if !story.is_draft() {
        return None;
    }
    let last = story.last_nomination();
    let known = story
        .account
        .as_ref()
        .is_some_and(|account| account.is_sure);
    if known && last.is_some_and(|last| last.ended == Some(Ended::Cleared)) {
        return cleared::judge(story);
    }
    let summary = match last {
        Some(last) if known => format!(
            "It was nominated to {} and not bound while the log was written; what became of that, only its object tells.",
            last.node
                .as_deref()
                .unwrap_or("a node that is not recorded")
        ),
        _ => {
            "No binding of it was logged; what it waited for, or whether its creator put it on a node, the log does not tell."
                .to_owned()
        }
    };
    let mut evidence = story.witnessed().to_vec();
    evidence.push(story.evidence(None, "the audit log holds no object of this Pod"));
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some("objects-not-logged"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary,
        evidence,
        advice: vec![
            "a log of level RequestResponse for pods, pods/status and pods/binding tells, or the Pod itself beside this log".to_owned(),
        ],
    })
}
