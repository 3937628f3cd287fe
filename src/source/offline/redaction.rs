//! Values that a collector's redactor replaced: they were set, and nobody can say to what.
//!
//! An object whose story hangs on such a value is left out, rather than telling of a node named `***HIDDEN***`.

use crate::model::fact::Content;

/// What troubleshoot.sh puts in place of what it hides (replicatedhq/troubleshoot, pkg/redact).
const HIDDEN: &str = "***HIDDEN***";

/// Whether what the object tells of placement is hidden.
pub(super) fn is_hidden(content: &Content) -> bool {
    let holds = |text: &str| text.contains(HIDDEN);
    match content {
        Content::Pod(pod) => [pod.node.as_deref(), pod.nominated_node.as_deref()]
            .into_iter()
            .flatten()
            .chain([
                pod.name.name.as_str(),
                &*pod.uid.0,
                pod.scheduler_name.as_str(),
            ])
            .any(holds),
        Content::Node(node) => holds(&node.name),
        Content::NodeLease(lease) => holds(&lease.node),
        Content::Event(event) => holds(&event.note),
        Content::Claim(claim) => claim.selected_node.as_deref().is_some_and(holds),
        Content::Version(_)
        | Content::Workload(_)
        | Content::Write(_)
        | Content::Statements(_)
        | Content::Grant(_)
        | Content::Replicas(_)
        | Content::Line(_)
        | Content::Draft(_) => false,
    }
}
