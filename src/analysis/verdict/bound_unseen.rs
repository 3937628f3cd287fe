//! An audit log tells of a binding, and neither it nor an object says to which node: its level keeps no bodies.

use super::Story;
use crate::analysis::story::write_evidence;
use crate::answer::nomination_explanation::{Certainty, Verdict, VerdictKind};
use crate::model::write::Action;

pub(super) fn judge(story: &Story<'_>) -> Option<Verdict> {
    if story.binding.is_some() {
        return None;
    }
    let writes = story.index.writes(story.pod);
    let bound = writes.into_iter().rfind(|write| {
        write.value.is_accepted() && matches!(write.value.action, Action::Bind { .. })
    })?;
    Some(Verdict {
        kind: VerdictKind::Unknown,
        cause: Some("node-not-recorded"),
        certainty: Certainty::Inferred,
        overdue: false,
        summary: "It was bound; to which node, and whether it was nominated there, the log does not tell.".to_owned(),
        evidence: vec![write_evidence(bound, "bound it; the node was not logged")],
        advice: vec!["a log of level Request or RequestResponse for pods/status and pods/binding tells".to_owned()],
    })
}
