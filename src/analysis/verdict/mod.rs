//! The verdict: rules in order, one file each; the first that applies judges.
//!
//! The order is the contract's: bound, gone, gated, own decisions, the field stands, the field is empty.
//! Adding a rule is a file and its two lines here. The last rule always applies, so there is exactly one verdict.

mod blocked_by_reservation;
mod bound_unnominated;
mod bound_unseen;
mod bypassed;
mod claims_not_observed;
mod cleared;
mod deleted;
mod expired;
mod gated;
mod honoured;
mod managed_fields_stripped;
mod moved;
pub(super) mod never_attempted;
mod no_room;
mod node_not_recorded;
mod node_unusable;
mod not_nominated;
mod nothing_in_progress;
mod objects_not_logged;
mod prebind_timeout;
mod refused_by_kubelet;
mod trace_wiped;
mod victims_not_observed;
mod waiting_for_binding;
mod waiting_for_scheduler;
pub(super) mod waiting_for_victims;
mod withdrawn;

use super::story::Story;
use crate::answer::nomination_explanation::Verdict;

/// Judges a story, or leaves it to the next rule.
struct Rule {
    name: &'static str,
    judge: fn(&Story<'_>) -> Option<Verdict>,
}

impl Rule {
    const fn new(name: &'static str, judge: fn(&Story<'_>) -> Option<Verdict>) -> Self {
        Self { name, judge }
    }
}

const RULES: &[Rule] = &[
    // Bound.
    Rule::new("refused_by_kubelet", refused_by_kubelet::judge),
    Rule::new("bypassed", bypassed::judge),
    Rule::new("honoured", honoured::judge),
    Rule::new("moved", moved::judge),
    Rule::new("node_not_recorded", node_not_recorded::judge),
    Rule::new("managed_fields_stripped", managed_fields_stripped::judge),
    Rule::new("trace_wiped", trace_wiped::judge),
    Rule::new("bound_unnominated", bound_unnominated::judge),
    Rule::new("bound_unseen", bound_unseen::judge),
    // Gone, gated, our own decisions.
    Rule::new("deleted", deleted::judge),
    Rule::new("objects_not_logged", objects_not_logged::judge),
    Rule::new("gated", gated::judge),
    Rule::new("withdrawn", withdrawn::judge),
    Rule::new("expired", expired::judge),
    // The field stands.
    Rule::new("node_unusable", node_unusable::judge),
    Rule::new("claims_not_observed", claims_not_observed::judge),
    Rule::new("waiting_for_victims", waiting_for_victims::judge),
    Rule::new("prebind_timeout", prebind_timeout::judge),
    Rule::new("waiting_for_binding", waiting_for_binding::judge),
    Rule::new("waiting_for_scheduler", waiting_for_scheduler::judge),
    Rule::new("no_room", no_room::judge),
    Rule::new("victims_not_observed", victims_not_observed::judge),
    Rule::new("nothing_in_progress", nothing_in_progress::judge),
    // The field is empty.
    Rule::new("cleared", cleared::judge),
    Rule::new("never_attempted", never_attempted::judge),
    Rule::new("blocked_by_reservation", blocked_by_reservation::judge),
    Rule::new("not_nominated", not_nominated::judge),
];

pub(super) fn judge(story: &Story<'_>) -> Verdict {
    RULES
        .iter()
        .find_map(|rule| {
            let verdict = (rule.judge)(story)?;
            tracing::debug!(rule = rule.name, kind = ?verdict.kind, "judged");
            Some(verdict)
        })
        .expect("the last rule always applies")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("analysis/verdict", &["mod"]);
        assert_eq!(files, registry::names(RULES.iter().map(|rule| rule.name)));
    }
}
