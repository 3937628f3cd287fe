//! Rule: every scheduler knows the declared features that kubelets and API servers know.

use std::collections::BTreeMap;

use super::{Docs, Facts, Rule, Ruling, finding, start};
use crate::analysis::gates::intention::Target;
use crate::analysis::requirement::{FEATURES, Feature, MECHANISM, NEWEST};
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::component::ComponentKind;
use crate::model::version::Minor;

pub(super) const RULE: Rule = Rule {
    id: "oldest-scheduler",
    title: "no scheduler overlooks a declared feature that others know",
    severity: Severity::Warning,
    docs: Docs {
        what: "Compares the declared features that each scheduler looks at after the move with those that API servers and kubelets \
               of then know.",
        why: "A scheduler that does not know a feature, or has declared features off, binds a Pod that requires it to any node and \
              says nothing: a 1.36 scheduler under a 1.37 API server bound a Pod that no node could serve.",
        cannot_see: "Schedulers that were not seen, and those that are no kube-scheduler.",
        example: "kube-scheduler 1.36 does not know VolumeBindMountOptions",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let minor = |target: &Target| target.versions.1.map(|it| it.emulated.min(NEWEST));
    let of_kind = |kind| facts.targets.iter().filter(move |it| it.name.kind == kind);
    let others = of_kind(ComponentKind::KubeApiserver).chain(of_kind(ComponentKind::Kubelet));
    let known: Vec<&'static Feature> = {
        let minors: Vec<Minor> = others.filter_map(minor).collect();
        let is_known = |it: &&&Feature| minors.iter().any(|minor| it.is_registered(*minor));
        FEATURES.iter().filter(is_known).copied().collect()
    };
    let mut overlooked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for scheduler in of_kind(ComponentKind::KubeScheduler) {
        let Some((minor, after)) = minor(scheduler).zip(scheduler.after.as_ref()) else {
            continue;
        };
        let message = if after.does(MECHANISM) == Some(false) {
            (!known.is_empty()).then(|| {
                format!("kube-scheduler {minor} has {MECHANISM} off, or does not have it, and looks at no declared feature")
            })
        } else {
            // What a newer scheduler gave up is nothing that it overlooks.
            let features = known.iter().filter(|it| it.since > minor);
            let features: Vec<&str> = features.map(|it| it.name).collect();
            (!features.is_empty()).then(|| {
                format!(
                    "kube-scheduler {minor} does not know {}",
                    features.join(", ")
                )
            })
        };
        if let Some(message) = message {
            let names = overlooked.entry(message).or_default();
            names.push(scheduler.name.to_string());
        }
    }
    let findings = overlooked.into_iter().map(|(message, names)| {
        let evidence = ["it binds Pods that require them to any node, and says nothing".to_owned()];
        let advice = ["move every scheduler before anybody creates such Pods, or keep them by a nodeSelector on nodes that declare the feature".to_owned()];
        finding(some(&names), message, evidence, advice)
    });
    let unknown = of_kind(ComponentKind::KubeScheduler).next().is_none();
    Ruling {
        findings: findings.collect(),
        unknown: if unknown {
            Some("no scheduler was seen".to_owned())
        } else {
            start::unseen(of_kind(ComponentKind::KubeScheduler))
        },
        skipped: None,
    }
}
