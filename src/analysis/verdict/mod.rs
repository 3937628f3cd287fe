//! The verdict: rules in order, one file each; the first that applies judges.
//!
//! The order is the contract's: bound, gone, gated, own decisions, the field stands, the field is empty.
//! Adding a rule is a file and its two lines here. The last rule always applies, so there is exactly one verdict.

mod blocked_by_reservation;
mod bound_unnominated;
mod bypassed;
mod cleared;
mod deleted;
mod expired;
mod gated;
mod honoured;
mod managed_fields_stripped;
mod moved;
mod never_attempted;
mod no_room;
mod node_not_recorded;
mod node_unusable;
mod not_nominated;
mod nothing_in_progress;
mod prebind_timeout;
mod refused_by_kubelet;
mod victims_not_observed;
mod waiting_for_binding;
mod waiting_for_scheduler;
mod waiting_for_victims;

use super::story::Story;
use crate::answer::nomination_explanation::Verdict;

/// Judges a story, or leaves it to the next rule.
struct Rule {
    name: &'static str,
    judge: fn(&Story<'_>) -> Option<Verdict>,
}

const RULES: &[Rule] = &[
    // Bound.
    Rule {
        name: "refused_by_kubelet",
        judge: refused_by_kubelet::judge,
    },
    Rule {
        name: "bypassed",
        judge: bypassed::judge,
    },
    Rule {
        name: "honoured",
        judge: honoured::judge,
    },
    Rule {
        name: "moved",
        judge: moved::judge,
    },
    Rule {
        name: "node_not_recorded",
        judge: node_not_recorded::judge,
    },
    Rule {
        name: "managed_fields_stripped",
        judge: managed_fields_stripped::judge,
    },
    Rule {
        name: "bound_unnominated",
        judge: bound_unnominated::judge,
    },
    // Gone, gated, our own decisions.
    Rule {
        name: "deleted",
        judge: deleted::judge,
    },
    Rule {
        name: "gated",
        judge: gated::judge,
    },
    Rule {
        name: "expired",
        judge: expired::judge,
    },
    // The field stands.
    Rule {
        name: "node_unusable",
        judge: node_unusable::judge,
    },
    Rule {
        name: "waiting_for_victims",
        judge: waiting_for_victims::judge,
    },
    Rule {
        name: "prebind_timeout",
        judge: prebind_timeout::judge,
    },
    Rule {
        name: "waiting_for_binding",
        judge: waiting_for_binding::judge,
    },
    Rule {
        name: "waiting_for_scheduler",
        judge: waiting_for_scheduler::judge,
    },
    Rule {
        name: "no_room",
        judge: no_room::judge,
    },
    Rule {
        name: "victims_not_observed",
        judge: victims_not_observed::judge,
    },
    Rule {
        name: "nothing_in_progress",
        judge: nothing_in_progress::judge,
    },
    // The field is empty.
    Rule {
        name: "cleared",
        judge: cleared::judge,
    },
    Rule {
        name: "never_attempted",
        judge: never_attempted::judge,
    },
    Rule {
        name: "blocked_by_reservation",
        judge: blocked_by_reservation::judge,
    },
    Rule {
        name: "not_nominated",
        judge: not_nominated::judge,
    },
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

    #[test]
    fn every_file_has_its_line() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/analysis/verdict");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| {
                entry
                    .expect("it can be listed")
                    .file_name()
                    .to_string_lossy()
                    .replace(".rs", "")
            })
            .filter(|name| name != "mod")
            .collect();
        files.sort();
        let mut listed: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        listed.sort_unstable();
        assert_eq!(files, listed, "a verdict rule is a file and a line");
    }
}
