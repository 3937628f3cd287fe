//! Whether a scheduler keeps its promises: trials on a live cluster, each a plan of changes and looks, and a judgement.
//!
//! A trial is a file here and its line in [`TRIALS`]. It only plans and judges; `apply` sends, and the command looks. All
//! that a trial makes is the suite's own: a namespace, Pods of a priority below every other, and, where that is allowed, Nodes
//! that no kubelet serves. KEPs 5328 (declared features) and 5278 (nominated node names).

mod accepts_declaring_node;
mod binds_by_binding;
mod falls_back_from_hint;
mod honours_hint;
mod keeps_higher_priority;
mod leaves_foreign_hints;
mod names_the_reason;
mod parts;
mod preempts_lower_priority;
mod reacts_to_declaration;
mod refuses_lacking_node;
mod schedules_ordinary_pods;
mod stage;
mod treats_undeclared_as_unsupported;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

pub(crate) use self::stage::{Priorities, Stage};
use crate::answer::check_report::{Check, Finding, Status};
use crate::answer::gate_skew::Severity;
use crate::answer::nomination_explanation::Evidence;
use crate::model::change::Change;
use crate::model::pod::Pod;

/// The declared feature that the trials need: the only one of the scheduler's that asks nothing of runtime or namespace.
pub(crate) const FEATURE: &str = "RestartAllContainersOnContainerExits";

pub(crate) struct Trial {
    /// Kebab case, the name of its file.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    severity: Severity,
    plan: fn(&Stage) -> Result<Vec<Act>, NotNow>,
    judge: fn(&Stage, &Seen) -> Judgement,
}

/// Every trial; the first one tells whether the scheduler is there at all.
pub(crate) const TRIALS: &[Trial] = &[
    schedules_ordinary_pods::TRIAL,
    accepts_declaring_node::TRIAL,
    binds_by_binding::TRIAL,
    falls_back_from_hint::TRIAL,
    honours_hint::TRIAL,
    keeps_higher_priority::TRIAL,
    leaves_foreign_hints::TRIAL,
    names_the_reason::TRIAL,
    preempts_lower_priority::TRIAL,
    reacts_to_declaration::TRIAL,
    refuses_lacking_node::TRIAL,
    treats_undeclared_as_unsupported::TRIAL,
];

/// Why a trial is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// The cluster does not show what it is about.
    Unknown(String),
    /// It would not be safe, or was not allowed.
    Skipped(String),
}

/// One step of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    Do(Change),
    /// Looks at the Pod until it is so, or the time is over; what it is then is what is judged.
    Await(String, Until),
}

/// What is waited for. Whether it came is no judgement yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Bound, or told to be unschedulable.
    Decided,
    Bound,
    Gone,
    /// As it is at once.
    Now,
}

impl Until {
    pub(crate) fn is_met(self, pod: Option<&Pod>) -> bool {
        let is_bound = pod.is_some_and(|pod| pod.node.is_some());
        match self {
            Self::Decided => is_bound || pod.is_some_and(|pod| unschedulable(pod).is_some()),
            Self::Bound => is_bound,
            Self::Gone => pod.is_none(),
            Self::Now => true,
        }
    }
}

/// What the scheduler said of a Pod that it did not place.
pub(crate) fn unschedulable(pod: &Pod) -> Option<&str> {
    let condition = pod.scheduled()?;
    let is_so = condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable");
    is_so.then(|| condition.message.as_deref().unwrap_or_default())
}

/// A Pod as it was looked at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Look {
    /// Null where there was none.
    pub(crate) pod: Option<Pod>,
    /// Since its wait began.
    pub(crate) took: Duration,
    /// It became what was waited for in time.
    pub(crate) is_met: bool,
}

/// What a trial brought to light.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    /// The last look at each Pod, by its name.
    pub(crate) looks: BTreeMap<String, Look>,
    /// UID of each object as it was made, by its name.
    pub(crate) uids: BTreeMap<String, String>,
    /// The node that each Pod was nominated to, by the suite.
    pub(crate) hints: BTreeMap<String, String>,
}

impl Seen {
    /// Notes what came of a change: the object as the server has it then. Why the trial proves nothing, if the server took away what
    /// it is about: it drops fields whose gate is off, and says nothing.
    pub(crate) fn note(&mut self, change: &Change, object: &Value) -> Result<(), String> {
        let rules = "/spec/containers/0/restartPolicyRules";
        let asked = change.body.as_ref().and_then(|body| body.pointer(rules));
        if asked.is_some() && object.pointer(rules).is_none() {
            return Err(format!(
                "the API server drops the field that needs {FEATURE}: its gate is off there"
            ));
        }
        let text = |pointer: &str| Some(object.pointer(pointer)?.as_str()?.to_owned());
        let Some(name) = text("/metadata/name") else {
            return Ok(());
        };
        match (change.right.verb, change.right.resource) {
            ("create", _) => self
                .uids
                .extend(text("/metadata/uid").map(|uid| (name, uid))),
            ("patch", "pods/status") => {
                let hint = text("/status/nominatedNodeName");
                self.hints.extend(hint.map(|hint| (name, hint)));
            }
            _ => {}
        }
        Ok(())
    }

    fn pod(&self, name: &str) -> Option<&Pod> {
        self.looks.get(name)?.pod.as_ref()
    }

    fn node(&self, name: &str) -> Option<&str> {
        self.pod(name)?.node.as_deref()
    }

    /// Seconds that the wait for it took.
    fn seconds(&self, name: &str) -> f64 {
        let took = self.looks.get(name).map(|look| look.took);
        took.unwrap_or_default().as_secs_f64()
    }

    /// What is to be said of a Pod that is not bound.
    fn fate(&self, name: &str) -> String {
        match self.pod(name) {
            None => "it is gone".to_owned(),
            Some(pod) => match (&pod.node, unschedulable(pod)) {
                (Some(node), _) => format!("it is bound to {node}"),
                (None, Some(message)) => format!("the scheduler says: {message}"),
                (None, None) => "no scheduler said anything of it".to_owned(),
            },
        }
    }
}

/// What a trial says of the scheduler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Judgement {
    Kept,
    /// In a sentence, and what it rests on.
    Broken(String, Vec<String>),
    Unknown(String),
}

impl Judgement {
    fn broken(sentence: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::Broken(sentence.into(), vec![evidence.into()])
    }
}

impl Trial {
    pub(crate) fn plan(&self, stage: &Stage) -> Result<Vec<Act>, NotNow> {
        (self.plan)(stage)
    }

    /// The check of a trial that was made.
    pub(crate) fn judged(&self, stage: &Stage, seen: &Seen) -> Check {
        let source = format!("scheduler {}", stage.scheduler);
        match (self.judge)(stage, seen) {
            Judgement::Kept => self.check(Status::Pass, Vec::new(), None),
            Judgement::Unknown(reason) => self.check(Status::Unknown, Vec::new(), Some(reason)),
            Judgement::Broken(message, evidence) => {
                let evidence = evidence.into_iter().map(|text| Evidence {
                    source: source.clone(),
                    at: None,
                    text,
                });
                let finding = Finding {
                    subject: stage.scheduler.clone(),
                    message,
                    evidence: evidence.collect(),
                    ..Finding::default()
                };
                self.check(Status::Fail, vec![finding], None)
            }
        }
    }

    /// The check of a trial that was not made, or broke off.
    pub(crate) fn not_made(&self, why: NotNow) -> Check {
        match why {
            NotNow::Unknown(reason) => self.check(Status::Unknown, Vec::new(), Some(reason)),
            NotNow::Skipped(reason) => self.check(Status::Skipped, Vec::new(), Some(reason)),
        }
    }

    fn check(&self, status: Status, findings: Vec<Finding>, reason: Option<String>) -> Check {
        Check {
            id: self.id,
            status,
            severity: self.severity,
            title: self.title.to_owned(),
            findings,
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn a_field_that_the_server_drops_proves_nothing() {
        let pod = |rules: bool| {
            let mut container = serde_json::json!({"name": "pause"});
            if rules {
                container["restartPolicyRules"] = serde_json::json!([{}]);
            }
            serde_json::json!({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [container]}})
        };
        let change = Change::create("", "pods", Some("shop"), pod(true));
        let mut seen = Seen::default();
        assert_eq!(seen.note(&change, &pod(true)), Ok(()));
        assert_eq!(seen.uids.get("p").map(String::as_str), Some("u"));
        assert!(seen.note(&change, &pod(false)).is_err());
        let plain = Change::create("", "pods", Some("shop"), pod(false));
        assert_eq!(seen.note(&plain, &pod(false)), Ok(()));
    }

    #[test]
    fn every_file_has_its_line() {
        let files = registry::files("analysis/conformance", &["mod", "parts", "stage"]);
        let ids = TRIALS.iter().map(|trial| trial.id.replace('-', "_"));
        let ids: Vec<String> = ids.collect();
        assert_eq!(files, registry::names(ids.iter().map(String::as_str)));
        let rest = TRIALS.get(1..).expect("there are several");
        assert!(rest.is_sorted_by_key(|trial| trial.id));
    }
}
