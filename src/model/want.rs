//! What an analysis still wants to read, as a value.
//!
//! `wants` is pure and `gather` obeys it; `collect` and printed rights use the same words.

use super::access::Right;
use super::component::{ComponentKind, ComponentName, Document, Number};
use super::pod::{Pod, PodName, Uid};
use super::selector::{FieldSelector, LabelSelector};
use super::workload::WorkloadKind;

/// One read. Ordered, so that a round of reads is always the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Pod(PodName),
    /// A Pod that had to go for another one; it may well be gone.
    Victim(PodName),
    /// Pods that both selectors select, of one namespace or of all.
    Pods {
        namespace: Option<String>,
        labels: LabelSelector,
        fields: FieldSelector,
    },
    /// The Pod of this UID, whatever its name is.
    PodOfUid {
        namespace: Option<String>,
        uid: Uid,
    },
    /// What makes Pods.
    Workload(WorkloadKind, PodName),
    /// All of a kind that make Pods.
    Workloads(WorkloadKind),
    /// Events about one incarnation of a Pod.
    EventsAbout {
        namespace: Option<String>,
        uid: Uid,
    },
    /// Events about every Pod: one list, where there would be many of them.
    EventsAboutPods {
        namespace: Option<String>,
    },
    Node(String),
    /// Every Pod bound to a node; its victims are among them.
    PodsOnNode(String),
    /// Every pending Pod that is nominated anywhere: each reserves room.
    NominatedPods,
    /// A claim of the Pod's own namespace.
    Claim(PodName),
    ServerVersion,
    /// `Preempted` events of all namespaces: their notes name the preemptor's UID.
    PreemptedEvents,
    /// Any one event that this scheduler has written: whether it reports at all.
    AnyEventBy(String),
    /// Every node.
    Nodes,
    /// The Leases that kubelets renew.
    NodeLeases,
    /// The identity Leases of API servers.
    ServerLeases,
    /// The addresses of API servers (`kubernetes` in `default`).
    ServerAddresses,
    /// What API servers behind one address tell: it is connected to again and again, until so many as are expected were
    /// reached; null where nobody knows how many there are.
    ServerSamples {
        expected: Option<usize>,
    },
    /// What roles of the cluster grant.
    ClusterRoles,
    /// Whom they are granted to.
    ClusterRoleBindings,
    /// A `ConfigMap` of kubeadm's.
    Configuration(PodName),
    /// A document that a component serves.
    Document {
        component: ComponentName,
        document: Document,
        way: Way,
    },
    /// What all components of a kind count, as Prometheus has it.
    Count(Number),
}

/// The subject of [`Want::ServerSamples`].
pub(crate) const SERVER_SAMPLES: &str = "samples of API servers";

/// How a component is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The connection to the API server itself, whichever replica answers.
    Server,
    /// The API server's proxy to the kubelet of a node.
    NodeProxy,
    /// Its own address, `https://HOST:PORT`.
    Address(String),
    /// A port of its Pod that the API server forwards to, where it speaks TLS on its own localhost.
    Forward { pod: PodName, port: u16 },
    /// An API that the provider of the cluster adds to the API server, for a control plane that nobody sees.
    Added(AddedApi),
}

/// A provider's API that gives a component's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AddedApi {
    pub(crate) group: &'static str,
    /// As roles name it.
    pub(crate) resource: &'static str,
    pub(crate) path: &'static str,
}

/// What a document needs. Through the API server's proxy it is `nodes/proxy` whatever finer rights there are, and that is a right
/// to run anything in every Pod of the node. At a kubelet's own address it is the part that the path belongs to (observed on
/// 1.36.3 and 1.37.2: `/flagz` belongs to `nodes/configz`).
fn document_right(component: &ComponentName, document: Document, way: &Way) -> Right {
    let node = |resource| Right::get("", resource, None, &component.identity);
    match (way, component.kind, document) {
        (Way::NodeProxy, ..) => node("nodes/proxy"),
        (Way::Added(api), ..) => Right::get(api.group, api.resource, None, ""),
        (Way::Address(_), ComponentKind::Kubelet, Document::Metrics) => node("nodes/metrics"),
        (Way::Address(_), ComponentKind::Kubelet, Document::Statusz) => node("nodes/statusz"),
        (Way::Address(_), ComponentKind::Kubelet, _) => node("nodes/configz"),
        _ => Right::get("", path(document), None, ""),
    }
}

/// Where a component serves a document.
pub(crate) fn path(document: Document) -> &'static str {
    match document {
        Document::Configz => "/configz",
        Document::Flagz => "/flagz",
        Document::Metrics => "/metrics",
        Document::Statusz => "/statusz",
        _ => "/version",
    }
}

/// A namespace, or all of them, in kubectl's words.
fn scope(namespace: Option<&String>) -> String {
    namespace.map_or_else(|| " -A".to_owned(), |namespace| format!(" -n {namespace}"))
}

impl Want {
    /// Events about this incarnation.
    pub(crate) fn events_about(pod: &Pod) -> Self {
        Self::EventsAbout {
            namespace: Some(pod.name.namespace.clone()),
            uid: pod.uid.clone(),
        }
    }

    /// Every Pod of all namespaces: one list.
    pub(crate) fn every_pod() -> Self {
        Self::Pods {
            namespace: None,
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
        }
    }

    /// Wants whose full answer holds the answer of this one.
    pub(crate) fn broader(&self) -> Vec<Self> {
        let all_events = Self::EventsAboutPods { namespace: None };
        match self {
            Self::EventsAbout {
                namespace: Some(namespace),
                uid,
            } => vec![
                Self::EventsAbout {
                    namespace: None,
                    uid: uid.clone(),
                },
                Self::EventsAboutPods {
                    namespace: Some(namespace.clone()),
                },
                all_events,
            ],
            Self::EventsAbout {
                namespace: None, ..
            }
            | Self::EventsAboutPods { namespace: Some(_) } => vec![all_events],
            Self::PodsOnNode(_) | Self::NominatedPods => vec![Self::every_pod()],
            _ => Vec::new(),
        }
    }

    /// The name of this kind of read: a contract with bundles. Two kinds may have the same subject.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Pod(_) => "Pod",
            Self::Victim(_) => "Victim",
            Self::Pods { .. } => "Pods",
            Self::PodOfUid { .. } => "PodOfUid",
            Self::Workload(..) => "Workload",
            Self::Workloads(_) => "Workloads",
            Self::EventsAbout { .. } => "EventsAbout",
            Self::EventsAboutPods { .. } => "EventsAboutPods",
            Self::Node(_) => "Node",
            Self::PodsOnNode(_) => "PodsOnNode",
            Self::NominatedPods => "NominatedPods",
            Self::Claim(_) => "Claim",
            Self::ServerVersion => "ServerVersion",
            Self::PreemptedEvents => "PreemptedEvents",
            Self::AnyEventBy(_) => "AnyEventBy",
            Self::Nodes => "Nodes",
            Self::NodeLeases => "NodeLeases",
            Self::ServerLeases => "ServerLeases",
            Self::ServerAddresses => "ServerAddresses",
            Self::ServerSamples { .. } => "ServerSamples",
            Self::ClusterRoles => "ClusterRoles",
            Self::ClusterRoleBindings => "ClusterRoleBindings",
            Self::Configuration(_) => "Configuration",
            Self::Document { .. } => "Document",
            Self::Count(_) => "Count",
        }
    }

    /// Short name for coverage, in kubectl's words.
    pub(crate) fn subject(&self) -> String {
        match self {
            Self::Pod(pod) | Self::Victim(pod) => {
                format!("pods/{} -n {}", pod.name, pod.namespace)
            }
            Self::Pods {
                namespace,
                labels,
                fields,
            } => {
                let of = |flag: &str, selector: String| {
                    if selector.is_empty() {
                        selector
                    } else {
                        format!(" {flag} {selector}")
                    }
                };
                let labels = of("-l", labels.to_string());
                let fields = of("--field-selector", fields.to_string());
                format!("pods{}{labels}{fields}", scope(namespace.as_ref()))
            }
            Self::PodOfUid { namespace, uid } => {
                format!("pod of uid {}{}", uid.0, scope(namespace.as_ref()))
            }
            Self::Workload(kind, workload) => format!(
                "{}.{}/{} -n {}",
                kind.resource(),
                kind.group(),
                workload.name,
                workload.namespace
            ),
            Self::Workloads(kind) => format!("{}.{} -A", kind.resource(), kind.group()),
            Self::EventsAbout { namespace, uid } => {
                format!("events about uid {}{}", uid.0, scope(namespace.as_ref()))
            }
            Self::EventsAboutPods { namespace } => {
                format!("events about pods{}", scope(namespace.as_ref()))
            }
            Self::Node(name) => format!("nodes/{name}"),
            Self::PodsOnNode(name) => format!("pods on node {name}"),
            Self::NominatedPods => "nominated pods".to_owned(),
            Self::Claim(claim) => format!(
                "persistentvolumeclaims/{} -n {}",
                claim.name, claim.namespace
            ),
            Self::ServerVersion => "version".to_owned(),
            Self::PreemptedEvents => "events with reason Preempted".to_owned(),
            Self::AnyEventBy(scheduler) => format!("any event by {scheduler}"),
            Self::Nodes => "nodes".to_owned(),
            Self::NodeLeases => "leases of nodes".to_owned(),
            Self::ServerLeases => "leases of API servers".to_owned(),
            Self::ServerAddresses => "endpointslices/kubernetes -n default".to_owned(),
            Self::ServerSamples { .. } => SERVER_SAMPLES.to_owned(),
            Self::ClusterRoles => "clusterroles".to_owned(),
            Self::ClusterRoleBindings => "clusterrolebindings".to_owned(),
            Self::Configuration(map) => {
                format!("configmaps/{} -n {}", map.name, map.namespace)
            }
            Self::Document {
                component,
                document,
                ..
            } => format!("{} of {component}", document.word()),
            Self::Count(number) => format!("{} of {}", number.word(), number.kind().word()),
        }
    }

    /// What the read needs: the first right, or the next one where that is refused. Requests are made from it.
    pub(crate) fn rights(&self) -> Vec<Right> {
        let events = |namespace: Option<&str>| {
            ["", "events.k8s.io"]
                .map(|group| Right::list(group, "events", namespace))
                .to_vec()
        };
        let of_rbac = |resource| Right::list("rbac.authorization.k8s.io", resource, None);
        match self {
            Self::Pod(pod) | Self::Victim(pod) => {
                vec![Right::get("", "pods", Some(&pod.namespace), &pod.name)]
            }
            Self::Pods { namespace, .. } | Self::PodOfUid { namespace, .. } => {
                vec![Right::list("", "pods", namespace.as_deref())]
            }
            Self::Workload(kind, workload) => vec![Right::get(
                kind.group(),
                kind.resource(),
                Some(&workload.namespace),
                &workload.name,
            )],
            Self::Workloads(kind) => vec![Right::list(kind.group(), kind.resource(), None)],
            Self::EventsAbout { namespace, .. } | Self::EventsAboutPods { namespace } => {
                events(namespace.as_deref())
            }
            Self::Node(name) => vec![Right::get("", "nodes", None, name)],
            Self::PodsOnNode(_) | Self::NominatedPods => vec![Right::list("", "pods", None)],
            Self::Claim(claim) => vec![Right::get(
                "",
                "persistentvolumeclaims",
                Some(&claim.namespace),
                &claim.name,
            )],
            Self::ServerVersion => vec![Right::get("", "/version", None, "")],
            Self::PreemptedEvents | Self::AnyEventBy(_) => events(None),
            Self::Nodes => vec![Right::list("", "nodes", None)],
            Self::NodeLeases => vec![Right::list(
                "coordination.k8s.io",
                "leases",
                Some("kube-node-lease"),
            )],
            Self::ServerLeases => vec![Right::list(
                "coordination.k8s.io",
                "leases",
                Some("kube-system"),
            )],
            Self::ServerAddresses => vec![Right::get(
                "discovery.k8s.io",
                "endpointslices",
                Some("default"),
                "kubernetes",
            )],
            Self::ServerSamples { .. } => {
                vec![Right::get("", path(Document::Metrics), None, "")]
            }
            Self::ClusterRoles => vec![of_rbac("clusterroles")],
            Self::ClusterRoleBindings => vec![of_rbac("clusterrolebindings")],
            Self::Configuration(map) => vec![Right::get(
                "",
                "configmaps",
                Some(&map.namespace),
                &map.name,
            )],
            Self::Document {
                component,
                document,
                way,
            } => vec![document_right(component, *document, way)],
            // It is not the API server that is asked.
            Self::Count(_) => Vec::new(),
        }
    }

    /// What the way to it needs, all of it: a port is forwarded by a WebSocket, which is a GET that has to be allowed to create,
    /// too (observed on 1.35.4, 1.36.3 and 1.37.2).
    pub(crate) fn rights_on_the_way(&self) -> Vec<Right> {
        let Self::Document {
            way: Way::Forward { pod, .. },
            ..
        } = self
        else {
            return Vec::new();
        };
        let get = Right::get("", "pods/portforward", Some(&pod.namespace), &pod.name);
        let create = Right {
            verb: "create",
            ..get.clone()
        };
        vec![create, get]
    }

    /// What a watch of it needs, in the order of [`Want::rights`]; empty where its changes are not followed: the version
    /// does not change under a watch, a workload's Pods are followed themselves, and a busy scheduler says something all
    /// the time.
    pub(crate) fn watch_rights(&self) -> Vec<Right> {
        match self {
            Self::AnyEventBy(_)
            | Self::PodOfUid { .. }
            | Self::ServerVersion
            | Self::Workload(..)
            | Self::Workloads(_)
            | Self::Nodes
            | Self::NodeLeases
            | Self::ServerLeases
            | Self::ServerAddresses
            | Self::ServerSamples { .. }
            | Self::ClusterRoles
            | Self::ClusterRoleBindings
            | Self::Configuration(_)
            | Self::Document { .. }
            | Self::Count(_) => Vec::new(),
            _ => self.rights().into_iter().map(Right::watched).collect(),
        }
    }

    /// Why it is read.
    pub(crate) fn why(&self) -> &'static str {
        match self {
            Self::Pod(_) => "the Pod itself; without it there is no answer",
            Self::Victim(_) => "whether a victim of the Pod's group is gone",
            Self::Pods { .. } => "the Pods themselves; without them there is no answer",
            Self::PodOfUid { .. } => "which Pod has the UID, where no event tells",
            Self::Workload(WorkloadKind::ReplicaSet, _) => "which Pods are its own",
            Self::Workload(..) => "which Pods it selects",
            Self::Workloads(_) => "what Pods that are made later will need",
            Self::EventsAbout { .. } | Self::EventsAboutPods { .. } => {
                "what schedulers and autoscalers said of the Pod"
            }
            Self::Node(_) => "whether the nominated node can take the Pod",
            Self::PodsOnNode(_) => {
                "who still terminates on the nominated node, and what room is left"
            }
            Self::NominatedPods => "whose nominations reserve room against the Pod",
            Self::Claim(_) => "for which node a volume of the Pod was prepared",
            Self::ServerVersion => "what this version leaves behind of a nomination",
            Self::PreemptedEvents => "which Pods of any namespace had to go for the Pod",
            Self::AnyEventBy(_) => "whether the Pod's scheduler reports on other Pods",
            Self::Nodes => "which kubelets there are, of which version and pool",
            Self::NodeLeases => "which kubelets gave a sign of life lately",
            Self::ServerLeases => "how many API servers there are",
            Self::ServerAddresses => "where each API server is reached",
            Self::ServerSamples { .. } => "which API servers are behind one address",
            Self::ClusterRoles => "who may write what nodes declare",
            Self::ClusterRoleBindings => "whom these roles are granted to",
            Self::Configuration(_) => "which gates kubeadm was told to set",
            Self::Document { document, .. } => match document {
                Document::Metrics => "which gates really run",
                Document::Flagz => "which gates a flag sets",
                Document::Statusz => "since when it runs",
                Document::Version => "which version it emulates",
                _ => "which gates somebody set",
            },
            Self::Count(_) => "what schedulers and API servers counted",
        }
    }
}
