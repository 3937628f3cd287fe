//! Grammar of the `Preempted` event's note: who took the room, and where.
//!
//! Observed on 1.35.4, 1.36.3 and 1.37.2: `Preempted by pod UID on node NODE`; for a group
//! `Preempted by podgroup UID on node cluster`, where `cluster` is no node. Suffix ` (in kube-scheduler memory).`
//! where nothing was deleted (pkg/scheduler/framework/preemption/executor.go, 1.36). Older: `by NS/NAME`, `by a pod`.

use crate::model::pod::Uid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreemptedNote {
    pub(crate) preemptor: Preemptor,
    /// Null for a group, whose note names no node.
    pub(crate) node: Option<String>,
    /// The victim was only un-reserved in the scheduler's memory, not deleted.
    pub(crate) in_memory: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Preemptor {
    Pod(Uid),
    PodGroup(Uid),
    /// `namespace/name`, up to about 1.26.0.
    Named(String),
    Unnamed,
}

pub(crate) fn parse(note: &str) -> Option<PreemptedNote> {
    let rest = note.trim().strip_prefix("Preempted by ")?;
    let (rest, in_memory) = match rest.strip_suffix(" (in kube-scheduler memory).") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (who, place) = rest.split_once(" on node ")?;
    let place = place.trim_end_matches('.').trim();
    let preemptor = match who.split_once(' ') {
        Some(("pod", uid)) => Preemptor::Pod(Uid(uid.into())),
        Some(("podgroup", uid)) => Preemptor::PodGroup(Uid(uid.into())),
        _ if who.contains('/') => Preemptor::Named(who.to_owned()),
        _ => Preemptor::Unnamed,
    };
    let of_group = matches!(preemptor, Preemptor::PodGroup(_)) && place == "cluster";
    Some(PreemptedNote {
        preemptor,
        node: (!of_group && !place.is_empty()).then(|| place.to_owned()),
        in_memory,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_known_shapes() {
        let uid = || Uid("2f0c9d4e-0000-4000-8000-000000000001".into());
        let of = |note: &str| {
            parse(note).map(|parsed| (parsed.preemptor, parsed.node, parsed.in_memory))
        };
        let n1 = || Some("n1".to_owned());
        assert_eq!(
            of(&format!("Preempted by pod {} on node n1", uid().0)),
            Some((Preemptor::Pod(uid()), n1(), false))
        );
        assert_eq!(
            of(&format!(
                "Preempted by podgroup {} on node cluster",
                uid().0
            )),
            Some((Preemptor::PodGroup(uid()), None, false))
        );
        assert_eq!(
            of(&format!(
                "Preempted by pod {} on node n1 (in kube-scheduler memory).",
                uid().0
            )),
            Some((Preemptor::Pod(uid()), n1(), true))
        );
        assert_eq!(
            of("Preempted by shop/p2 on node n1"),
            Some((Preemptor::Named("shop/p2".to_owned()), n1(), false))
        );
        assert_eq!(
            of("Preempted by a pod on node n1"),
            Some((Preemptor::Unnamed, n1(), false))
        );
        assert_eq!(
            of("Preempted to accommodate a higher priority Workload"),
            None,
            "that is Kueue's"
        );
    }

    proptest! {
        #[test]
        fn nothing_panics(note in "(Preempted by )?(pod )?.{0,40}( on node .{0,10})?") {
            let parsed = parse(&note);
            prop_assert!(parsed.is_none() || note.contains("Preempted by "));
        }
    }
}
