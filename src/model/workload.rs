//! What makes Pods: the kinds that `TYPE/NAME` may name, and which Pods are theirs. Fields: apps/v1 and batch/v1 (1.37).

use super::needs::PodNeeds;
use super::pod::{ComponentPod, PodName, Uid};
use super::selector::LabelSelector;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkloadKind {
    /// It makes Jobs, and selects no Pods itself.
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    StatefulSet,
}

/// Kind, its API group, plural, singular and short name (none where it is empty).
const KINDS: &[(WorkloadKind, &str, &str, &str, &str)] = &[
    (WorkloadKind::CronJob, "batch", "cronjobs", "cronjob", "cj"),
    (
        WorkloadKind::DaemonSet,
        "apps",
        "daemonsets",
        "daemonset",
        "ds",
    ),
    (
        WorkloadKind::Deployment,
        "apps",
        "deployments",
        "deployment",
        "deploy",
    ),
    (WorkloadKind::Job, "batch", "jobs", "job", ""),
    (
        WorkloadKind::ReplicaSet,
        "apps",
        "replicasets",
        "replicaset",
        "rs",
    ),
    (
        WorkloadKind::StatefulSet,
        "apps",
        "statefulsets",
        "statefulset",
        "sts",
    ),
];

impl WorkloadKind {
    /// Those that nothing else of them makes, as long as nobody makes them himself.
    pub(crate) const OUTERMOST: [Self; 5] = [
        Self::CronJob,
        Self::DaemonSet,
        Self::Deployment,
        Self::Job,
        Self::StatefulSet,
    ];

    /// `kind` of its objects.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::CronJob => "CronJob",
            Self::DaemonSet => "DaemonSet",
            Self::Deployment => "Deployment",
            Self::Job => "Job",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
        }
    }

    fn row(self) -> (&'static str, &'static str) {
        let row = KINDS.iter().find(|row| row.0 == self);
        row.map_or(("", ""), |row| (row.1, row.2))
    }

    pub(crate) fn group(self) -> &'static str {
        self.row().0
    }

    /// Plural name of the resource.
    pub(crate) fn resource(self) -> &'static str {
        self.row().1
    }

    /// The kind by kubectl's words for it, where it selects Pods: plural, singular or short, with the group or without.
    pub(crate) fn named(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let (name, rest) = word.split_once('.').unwrap_or((&word, ""));
        let group = rest.strip_prefix("v1.").unwrap_or(rest);
        KINDS
            .iter()
            .find(|(_, of, plural, singular, short)| {
                (name == *plural || name == *singular || (name == *short && !name.is_empty()))
                    && (group.is_empty() || group == *of)
            })
            .map(|row| row.0)
            .filter(|kind| *kind != Self::CronJob)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) kind: WorkloadKind,
    pub(crate) name: PodName,
    pub(crate) uid: Uid,
    /// Null selects nothing.
    pub(crate) selector: Option<LabelSelector>,
    /// Owner that controls it: the Deployment of a ReplicaSet.
    pub(crate) controller: Option<Uid>,
    /// What its Pods will need of a node; null where that is nothing, or cannot be read.
    pub(crate) template: Option<Box<PodNeeds>>,
    /// Where its Pods, which are to run for good, run a component of the cluster itself.
    pub(crate) component: Option<Box<ComponentPod>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_by_kubectls_words() {
        for (word, kind) in [
            ("deploy", WorkloadKind::Deployment),
            ("Deployments", WorkloadKind::Deployment),
            ("deployment.apps", WorkloadKind::Deployment),
            ("sts", WorkloadKind::StatefulSet),
            ("rs", WorkloadKind::ReplicaSet),
            ("ds", WorkloadKind::DaemonSet),
            ("job", WorkloadKind::Job),
            ("jobs.v1.batch", WorkloadKind::Job),
        ] {
            assert_eq!(WorkloadKind::named(word), Some(kind), "{word}");
        }
        for word in ["", "pod", "svc", "job.apps", ".batch", "cronjob"] {
            assert_eq!(WorkloadKind::named(word), None, "{word}");
        }
    }
}
