//! Rule: a gate is on in a component while it is off in one that has to have it first.
//!
//! On goes API servers, then what acts by their objects, then pools; off goes the reverse way: at no moment has a later one on what an
//! earlier one has off. Words for an order were searched for in the comments of gates of Kubernetes 1.35.4, 1.36.3 and 1.37.2
//! (`pkg/features`): none asks for another order of components. What a public report asks for is a hazard (`hazards`).

use std::collections::{BTreeMap, BTreeSet};

use super::{Docs, Facts, Rule, Ruling, finding};
use crate::analysis::gates::intention::{Intention, Target};
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::catalogue::Catalogue;
use crate::model::component::ComponentKind;

pub(super) const RULE: Rule = Rule {
    id: "order",
    title: "no component has a gate on before those that come first",
    severity: Severity::Warning,
    docs: Docs {
        what: "Looks, of each gate that is switched, for components that would have it on while an API server, or a scheduler before \
               kubelets, would have it off; also where it is so already.",
        why: "What a kubelet acts on must be in the objects that it reads: an API server that has the gate off drops the field, and takes \
              it out of objects that are written again. On goes the control plane first, off the pools.",
        cannot_see: "Gates of which nobody knows which component uses them, and components that were not seen. What versions alone \
                     make differ is left to the check version-skew.",
        example: "HPAScaleToZero would be on in kube-controller-manager/a, and off in kube-apiserver/a, which has to have it first",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let gates: BTreeSet<&str> = match facts.intention {
        Intention::Set(gates) => gates.keys().map(String::as_str).collect(),
        Intention::RollbackTo(_) => {
            let gates = facts.meant().flat_map(|it| it.setting.gates.keys());
            gates.map(String::as_str).collect()
        }
        Intention::ToVersion(_) | Intention::ToEmulatedVersion(_) => {
            return Ruling {
                skipped: Some("no gate is switched by name".to_owned()),
                ..Ruling::default()
            };
        }
    };
    let mut findings = Vec::new();
    let mut unknown = BTreeSet::new();
    for gate in gates {
        let kinds = Catalogue::known().components(gate).unwrap_or_default();
        let is_user = |target: &&Target| kinds.contains(&target.name.kind.word());
        let seen: Vec<&Target> = facts.targets.iter().filter(is_user).collect();
        let server = ComponentKind::KubeApiserver;
        let is_without = seen.iter().all(|it| it.name.kind != server);
        if kinds.contains(&server.word()) && is_without && !seen.is_empty() {
            unknown.insert("no API server was seen".to_owned());
        }
        let after = Values::of(&seen, gate, |it| it.after.as_ref()?.does(gate));
        let before = Values::of(&seen, gate, |it| it.before.as_ref()?.does(gate));
        if after.may_be_wrong() {
            let open = after.open.values().flatten();
            unknown.extend(open.map(|name| format!("{gate} in {name}")));
        }
        let Some((on, off)) = after.wrong() else {
            continue;
        };
        let so_already = before.wrong().is_some();
        let on_first = some(&off);
        let evidence = so_already.then(|| "it is so already: the change is half done".to_owned());
        findings.push(finding(
            gate,
            format!(
                "{gate} would be on in {}, and off in {on_first}, which has to have it first",
                some(&on)
            ),
            evidence,
            [
                format!("to turn it on, begin with {on_first}"),
                format!("to turn it off, begin with {}", some(&on)),
            ],
        ));
    }
    let unknown: Vec<String> = unknown.into_iter().collect();
    Ruling {
        findings,
        unknown: (!unknown.is_empty()).then(|| format!("not known: {}", some(&unknown))),
        skipped: None,
    }
}

/// Who has a gate on and who off, by their place in the order.
#[derive(Default)]
struct Values {
    on: BTreeMap<usize, Vec<String>>,
    off: BTreeMap<usize, Vec<String>>,
    open: BTreeMap<usize, Vec<String>>,
}

impl Values {
    fn of(targets: &[&Target], gate: &str, value: impl Fn(&Target) -> Option<bool>) -> Self {
        let mut values = Self::default();
        for target in targets {
            let place = place(target.name.kind);
            let name = target.name.to_string();
            let is_known = target.unknown.is_none() || target.setting.gates.contains_key(gate);
            match value(target).filter(|_| is_known) {
                Some(true) => values.on.entry(place).or_default().push(name),
                Some(false) => values.off.entry(place).or_default().push(name),
                None => values.open.entry(place).or_default().push(name),
            }
        }
        values
    }

    /// Whether it could be that what is not known is on, and an earlier one off, or the other way round.
    fn may_be_wrong(&self) -> bool {
        let latest = |of: &BTreeMap<usize, Vec<String>>| of.keys().next_back().copied();
        let earliest = |of: &BTreeMap<usize, Vec<String>>| of.keys().next().copied();
        let (latest_open, earliest_open) = (latest(&self.open), earliest(&self.open));
        let earliest_off = earliest(&self.off).into_iter().chain(earliest_open).min();
        let latest_on = latest(&self.on).max(latest_open);
        let is_after = |late: Option<usize>, early: Option<usize>| {
            late.zip(early).is_some_and(|(late, early)| late > early)
        };
        is_after(latest_open, earliest_off) || is_after(latest_on, earliest_open)
    }

    /// Who has it on and is later than who has it off, and the latter.
    fn wrong(&self) -> Option<(Vec<String>, Vec<String>)> {
        let (latest, on) = self.on.iter().next_back()?;
        let off: Vec<String> = self
            .off
            .range(..latest)
            .flat_map(|it| it.1.clone())
            .collect();
        (!off.is_empty()).then(|| (on.clone(), off))
    }
}

/// Schedulers and controller managers go together, and so do kubelets and kube-proxies.
fn place(kind: ComponentKind) -> usize {
    match kind {
        ComponentKind::KubeApiserver => 0,
        ComponentKind::KubeControllerManager | ComponentKind::KubeScheduler => 1,
        ComponentKind::KubeProxy | ComponentKind::Kubelet => 2,
    }
}
