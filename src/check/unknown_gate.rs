//! Rule: a gate is set that the binary does not know.

use super::start::{self, Broken, Words};
use super::{Docs, Facts, Rule, Ruling};
use crate::analysis::gates::start::{Fault, Unknown};
use crate::answer::gate_skew::Severity;
use crate::catalogue::kubeadm;

pub(super) const RULE: Rule = Rule {
    id: "unknown-gate",
    title: "every gate that is set is known to its component",
    severity: Severity::Error,
    docs: Docs {
        what: "Looks for gates that are set by name and that the binary of the target version does not register: removed before, \
               newer than it, misspelt, or another component's.",
        why: "A component that is told of a gate it does not know exits at once. It says the same words whatever the cause, and \
              names only one gate.",
        cannot_see: "Gates of vendors: a binary that a vendor changed may know more.",
        example: "kube-apiserver 1.37 would not start: SidecarContainers was removed, 1.36 is the last that knows it",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    start::rule(facts, words)
}

fn words(broken: &Broken<'_>) -> Option<Words> {
    let Fault::Unknown { gate, why } = broken.fault else {
        return None;
    };
    let remove = format!("take {gate} out before the component is replaced");
    let (message, advice) = match why {
        Unknown::Removed { last, locked } => {
            let stays = match locked {
                Some(true) => "; it stays on without it",
                Some(false) => "; it stays off without it",
                None => "",
            };
            (
                format!("{gate} was removed, {last} is the last that knows it"),
                vec![format!("{remove}{stays}")],
            )
        }
        Unknown::TooNew(first) => (
            format!("{gate} comes with {first}"),
            vec![format!(
                "set {gate} when the component is of {first} or newer"
            )],
        ),
        Unknown::OfOthers => (
            format!("{gate} is a gate of other components"),
            vec![format!("take {gate} out of this component")],
        ),
        Unknown::Never(_) if kubeadm::last_with(gate).is_some() => (
            format!("{gate} is a gate of kubeadm itself"),
            vec![format!(
                "set {gate} in featureGates of kubeadm's ClusterConfiguration, not in a component's flags"
            )],
        ),
        Unknown::Never(Some(nearest)) => (
            format!("no Kubernetes that is known has {gate}"),
            vec![format!("did you mean {nearest}?")],
        ),
        Unknown::Never(None) => (
            format!("no Kubernetes that is known has {gate}"),
            vec![format!(
                "take {gate} out, unless a vendor's binary knows it"
            )],
        ),
    };
    Some(Words { message, advice })
}
