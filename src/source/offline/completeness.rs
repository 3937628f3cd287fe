//! Whether files hold all of what is wanted, so that "none" means none.
//!
//! A list says nothing of its extent; a layout may (`extent`). It must not judge.

use super::Collected;
use crate::model::coverage::State;
use crate::model::want::Want;

type Answer = (State, Option<String>);

/// How complete the answer to a want is, and why it is not.
pub(super) fn of(collected: &Collected, want: &Want) -> Answer {
    let (state, detail) = by_kind(collected, want);
    // What a layout says of a list was said of a sound one.
    let is_vouched = vouched(collected, want);
    if collected.faulty && state == State::Complete && !is_vouched && !matches!(want, Want::Pod(_))
    {
        return partial("a part of the input cannot be read");
    }
    (state, detail)
}

fn complete() -> Answer {
    (State::Complete, None)
}

fn partial(detail: &str) -> Answer {
    (State::Partial, Some(detail.to_owned()))
}

fn absent(what: &str) -> Answer {
    (State::Absent, Some(format!("the input holds no {what}")))
}

/// The kind and the namespace that a want is a part of, where lists can hold it.
fn list_of(want: &Want) -> Option<(&'static str, Option<&str>)> {
    Some(match want {
        Want::Pod(name) | Want::Victim(name) => ("Pod", Some(&name.namespace)),
        Want::Pods { namespace, .. } | Want::PodOfUid { namespace, .. } => {
            ("Pod", namespace.as_deref())
        }
        Want::PodsOnNode(_) | Want::NominatedPods => ("Pod", None),
        Want::EventsAbout { namespace, .. } | Want::EventsAboutPods { namespace } => {
            ("Event", namespace.as_deref())
        }
        Want::PreemptedEvents | Want::AnyEventBy(_) => ("Event", None),
        Want::Node(_) | Want::Nodes => ("Node", None),
        Want::Workloads(kind) => (kind.word(), None),
        Want::NodeLeases => ("Lease", Some("kube-node-lease")),
        Want::Claim(name) => ("PersistentVolumeClaim", Some(&name.namespace)),
        Want::ServerVersion
        | Want::Workload(..)
        | Want::ServerLeases
        | Want::ServerAddresses
        | Want::Configuration(_)
        | Want::ClusterRoles
        | Want::ClusterRoleBindings
        | Want::ServerSamples { .. }
        | Want::Document { .. }
        | Want::Count(_) => return None,
    })
}

fn vouched(collected: &Collected, want: &Want) -> bool {
    list_of(want).is_some_and(|(kind, namespace)| collected.extents.covers(kind, namespace))
}

fn by_kind(collected: &Collected, want: &Want) -> Answer {
    let (held, extents) = (&collected.held, &collected.extents);
    let is_held = match want {
        Want::Pod(name) | Want::Victim(name) => held
            .pods
            .get(&name.namespace)
            .is_some_and(|names| names.contains(&name.name)),
        Want::AnyEventBy(scheduler) => held.reporters.contains(scheduler),
        Want::Node(name) => held.nodes.contains(name),
        Want::Claim(name) => held.claims.contains(name),
        Want::ServerVersion => held.version,
        Want::Workload(kind, name) => held.workloads.contains(&(*kind, name.clone())),
        _ => false,
    };
    if is_held {
        return complete();
    }
    if let Want::Pod(_) = want {
        return absent("Pod of this name");
    }
    let Some((kind, namespace)) = list_of(want) else {
        return match want {
            Want::Workload(kind, _) => absent(&format!("{kind:?} of this name")),
            Want::ServerLeases => absent("Leases"),
            Want::ClusterRoles => absent("ClusterRoles"),
            Want::ClusterRoleBindings => absent("ClusterRoleBindings"),
            Want::ServerAddresses => absent("EndpointSlice of this name"),
            Want::Configuration(_) => absent("ConfigMap of this name"),
            Want::Document { document, .. } => absent(&format!("{} of it", document.word())),
            _ => absent("answer of /version"),
        };
    };
    if extents.covers(kind, namespace) {
        return complete();
    }
    if let Some((state, why)) = extents.refusal(kind, namespace) {
        return (
            state,
            Some(format!("who collected could not read it: {why}")),
        );
    }
    let known = || {
        partial(&format!(
            "only Pods of the input's namespaces are known: {}",
            held.namespaces()
        ))
    };
    let listed = |kind: &str| collected.listed.contains(kind);
    // What a list that nobody speaks for holds is the input's own: it was collected for this question.
    let (events, pods) = (listed("Event") || held.events, listed("Pod"));
    match want {
        Want::Pods {
            namespace: Some(_), ..
        } if !extents.speaks_for("Pod") && (pods || !held.pods.is_empty()) => complete(),
        Want::Pods { .. } | Want::PodOfUid { .. } | Want::PodsOnNode(_) | Want::NominatedPods => {
            if pods || extents.speaks_for("Pod") {
                known()
            } else {
                absent("list of Pods")
            }
        }
        Want::PreemptedEvents | Want::AnyEventBy(_) if events || extents.speaks_for("Event") => {
            partial("only events of the input's namespaces are known")
        }
        Want::EventsAbout { .. } | Want::EventsAboutPods { .. } if extents.speaks_for("Event") => {
            partial("the input does not hold all events of this namespace")
        }
        Want::EventsAbout { .. } | Want::EventsAboutPods { .. } if events => complete(),
        Want::Node(_) | Want::Nodes if listed("Node") && !extents.speaks_for("Node") => complete(),
        Want::Node(_) | Want::Nodes => absent("Nodes"),
        Want::NodeLeases if listed("Lease") => complete(),
        Want::NodeLeases => absent("Leases of nodes"),
        Want::Claim(_) => absent("PersistentVolumeClaim of this name"),
        Want::Victim(_) => absent("Pod of this name"),
        _ => absent("Events"),
    }
}
