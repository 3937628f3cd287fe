//! Rule: a gate is switched in API servers that is known to harm kubelets of old versions, on or off.

use std::collections::{BTreeMap, BTreeSet};

use super::{Docs, Facts, Rule, Ruling, finding};
use crate::analysis::gates::hazard::{self, Switch};
use crate::answer::check_report::Finding;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::component::ComponentKind;
use crate::model::version::Minor;

pub(super) const RULE: Rule = Rule {
    id: "hazards",
    title: "no gate is switched that is known to harm kubelets",
    severity: Severity::Error,
    docs: Docs {
        what: "Looks for gates of which a public report says that switching them in API servers harms old kubelets, and for kubelets \
               that are old enough, with the Pods that they run.",
        why: "InPlacePodVerticalScaling made API servers before 1.33 write a field into every container, and kubelets before 1.31 took \
              that for another container: all containers of the cluster restarted at once, when the gate was turned on, and again when it \
              was turned off.",
        cannot_see: "Harm that nobody has reported; and whether a Pod was written since the gate was switched.",
        example: "InPlacePodVerticalScaling would be turned on in kube-apiserver/a, and containers of 1 Pod on 1 node with a kubelet before \
                  1.31 would restart at once",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let switches = hazard::switched(facts.world, &facts.targets);
    if switches.is_empty() {
        return Ruling {
            skipped: Some("no gate is switched that is known to do harm".to_owned()),
            ..Ruling::default()
        };
    }
    let mut unknown = Vec::new();
    let mut findings = Vec::new();
    for switch in &switches {
        let kubelets = kubelets(facts, switch.hazard.before);
        if !kubelets.silent.is_empty() {
            let names = some(&kubelets.silent);
            unknown.push(format!("{names}: the version is not known"));
        }
        if kubelets.is_none {
            unknown.push("no kubelet was seen".to_owned());
        }
        let open = switch.servers.iter().filter(|(_, then)| then.is_none());
        let open: Vec<String> = open.map(|(name, _)| name.to_string()).collect();
        if !open.is_empty() && !kubelets.harmed.is_empty() {
            unknown.push(format!(
                "whether {} is switched in {} is not known",
                switch.hazard.gate,
                some(&open)
            ));
        }
        for (on, word) in [(true, "on"), (false, "off")] {
            let servers = switch.servers.iter().filter(|(_, then)| *then == Some(on));
            let servers: Vec<String> = servers.map(|(name, _)| name.to_string()).collect();
            if !servers.is_empty() && !kubelets.harmed.is_empty() {
                findings.push(told(facts, switch, &servers, word, &kubelets.harmed));
            }
        }
    }
    Ruling {
        findings,
        unknown: (!unknown.is_empty()).then(|| unknown.join("; ")),
        skipped: None,
    }
}

/// Kubelets by what their version says of them.
struct Kubelets {
    /// The minor and the nodes.
    harmed: BTreeMap<Minor, Vec<String>>,
    silent: Vec<String>,
    is_none: bool,
}

fn kubelets(facts: &Facts<'_>, before: Minor) -> Kubelets {
    let mut kubelets = Kubelets {
        harmed: BTreeMap::new(),
        silent: Vec::new(),
        is_none: true,
    };
    let all = facts.targets.iter();
    for target in all.filter(|it| it.name.kind == ComponentKind::Kubelet) {
        kubelets.is_none = false;
        match target.versions.0.map(|version| version.binary) {
            Some(minor) if minor < before => {
                let nodes = kubelets.harmed.entry(minor).or_default();
                nodes.push(target.name.identity.clone());
            }
            Some(_) => {}
            None => kubelets.silent.push(target.name.to_string()),
        }
    }
    kubelets
}

fn told(
    facts: &Facts<'_>,
    switch: &Switch<'_>,
    servers: &[String],
    word: &str,
    harmed: &BTreeMap<Minor, Vec<String>>,
) -> Finding {
    let hazard = switch.hazard;
    let nodes: BTreeSet<&String> = harmed.values().flatten().collect();
    let mut pods: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pod in facts.world.pods().map(|pod| &pod.value) {
        if let Some(node) = pod.node.as_ref().filter(|node| nodes.contains(node))
            && !pod.finished()
            && pod.requests.keys().any(|resource| resource != "pods")
        {
            let name = format!("{}/{}", pod.name.namespace, pod.name.name);
            pods.entry(node).or_default().push(name);
        }
    }
    let versions = harmed
        .iter()
        .map(|(minor, nodes)| format!("kubelets of {minor}: {}", some(nodes)));
    let running = pods
        .iter()
        .map(|(node, pods)| format!("on {node}: {}", some(pods)));
    let evidence: Vec<String> = versions
        .chain(running)
        .chain([hazard.harm.to_owned()])
        .collect();
    let count: usize = pods.values().map(Vec::len).sum();
    let of =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let nodes = of(nodes.len(), "node");
    let harmed = if count == 0 {
        format!("containers of {nodes}")
    } else {
        format!("containers of {} on {nodes}", of(count, "Pod"))
    };
    finding(
        hazard.gate,
        format!(
            "{} would be turned {word} in {}, and {harmed} with a kubelet before {} would restart at once",
            hazard.gate,
            some(servers),
            hazard.before,
        ),
        evidence,
        [format!(
            "move these kubelets to {} or newer first, or drain their nodes before the gate is switched",
            hazard.before
        )],
    )
}
