//! What is read to know the gates of a cluster, cheap things first.
//!
//! Every node tells its version, and its kubelet what was set (3 KB); the values follow from the catalogue. One node of each
//! group that is alike is read exactly (150 KB) to confirm it, and a group whose sample contradicts it is read whole.

use std::collections::{BTreeMap, BTreeSet};

use super::effective::Tables;
use super::process::{self, Process};
use super::replicas;
use super::skew::Request;
use crate::answer::gate_skew::GateValue;
use crate::model::component::{ComponentKind, ComponentName, Document, Settings};
use crate::model::coverage::State;
use crate::model::pod::PodName;
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::{AddedApi, Want, Way};
use crate::model::world::World;

/// `ConfigMap`s of kubeadm, in kube-system.
const CONFIGURATIONS: [&str; 2] = ["kubeadm-config", "kubelet-config"];

/// Label of the control plane's Pods (kubeadm).
const CONTROL_PLANE: &str = "tier=control-plane";

const SYSTEM: &str = "kube-system";

/// Who is reached through a Pod, and the port that it serves by TLS unless a flag says otherwise (`pkg/cluster/ports`, 1.37).
const THROUGH_PODS: [(ComponentKind, u16); 2] = [
    (ComponentKind::KubeControllerManager, 10257),
    (ComponentKind::KubeScheduler, 10259),
];

/// EKS shows its schedulers' and controller managers' metrics by an API of its own, from 1.28 on (EKS user guide, "Fetch control
/// plane raw metrics"). Whether gates are among them is for the cluster to say.
const OF_EKS: [(ComponentKind, AddedApi); 2] = [
    (
        ComponentKind::KubeControllerManager,
        AddedApi {
            group: EKS,
            resource: "kcm/metrics",
            path: "/apis/metrics.eks.amazonaws.com/v1/kcm/container/metrics",
        },
    ),
    (
        ComponentKind::KubeScheduler,
        AddedApi {
            group: EKS,
            resource: "ksh/metrics",
            path: "/apis/metrics.eks.amazonaws.com/v1/ksh/container/metrics",
        },
    ),
];

const EKS: &str = "metrics.eks.amazonaws.com";

/// Labels of the control plane's nodes (kubeadm), today and before 1.24.
const CONTROL_PLANE_NODES: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// What other components tell.
const OF_COMPONENT: [Document; 3] = [Document::Flagz, Document::Metrics, Document::Statusz];

/// What is read of a kubelet that speaks for others.
const OF_SAMPLE: [Document; 3] = OF_COMPONENT;

/// Kubelets that tell whether others may be asked.
const ASKED_FIRST: usize = 3;

/// What is still to be read. Asked again after each round, it ends when nothing new is wanted.
pub(crate) fn wants(world: &World, request: &Request) -> BTreeSet<Want> {
    let mut wants = base(request);
    if world.state_of(&Want::ServerAddresses).is_some() {
        wants.extend(replicas::wants(world));
    }
    if world.state_of(&Want::Nodes).is_some() {
        wants.extend(of_kubelets(world, request));
        wants.extend(of_pods(world, request));
        wants.extend(of_eks(world, request));
    }
    wants
}

/// What EKS tells of a control plane that is not seen; kubelets' versions say whose cluster it is.
fn of_eks(world: &World, request: &Request) -> Vec<Want> {
    let is_eks = world.nodes().any(|node| {
        let version = node.value.kubelet_version.as_deref();
        version.is_some_and(|version| version.contains("-eks-"))
    });
    let apis = OF_EKS
        .iter()
        .filter(|(kind, _)| is_eks && request.wants_kind(*kind));
    let wants = apis.map(|(kind, api)| Want::Document {
        component: ComponentName::new(*kind, EKS),
        document: Document::Metrics,
        way: Way::Added(*api),
    });
    wants.collect()
}

/// All reads that may come to be needed, those of any node once; the most needed first.
pub(crate) fn possible(request: &Request) -> Vec<Want> {
    base(request)
        .into_iter()
        .chain(any(
            ComponentKind::KubeApiserver,
            &Way::Server,
            &replicas::OF_SERVER,
        ))
        .chain(possible_of_kubelets(request))
        .chain(THROUGH_PODS.into_iter().flat_map(|(kind, port)| {
            let pod = PodName {
                namespace: SYSTEM.to_owned(),
                name: String::new(),
            };
            any(kind, &Way::Forward { pod, port }, &OF_COMPONENT)
        }))
        .collect()
}

/// The same of any kubelet alone.
pub(crate) fn possible_of_kubelets(request: &Request) -> Vec<Want> {
    let to_kubelets = if request.direct_kubelets {
        Way::Address(String::new())
    } else {
        Way::NodeProxy
    };
    let of_kubelets = [
        Document::Configz,
        Document::Flagz,
        Document::Metrics,
        Document::Statusz,
    ];
    any(ComponentKind::Kubelet, &to_kubelets, &of_kubelets)
}

/// Documents of any component of a kind.
fn any(kind: ComponentKind, way: &Way, of_kind: &[Document]) -> Vec<Want> {
    documents(&ComponentName::new(kind, ""), way, of_kind)
}

fn documents(component: &ComponentName, way: &Way, documents: &[Document]) -> Vec<Want> {
    let wants = documents.iter().map(|document| Want::Document {
        component: component.clone(),
        document: *document,
        way: way.clone(),
    });
    wants.collect()
}

/// What is read whatever there is.
fn base(request: &Request) -> BTreeSet<Want> {
    let mut wants = BTreeSet::from([Want::Nodes, Want::ServerAddresses, Want::ServerLeases]);
    wants.extend(CONFIGURATIONS.map(|name| {
        Want::Configuration(PodName {
            namespace: SYSTEM.to_owned(),
            name: name.to_owned(),
        })
    }));
    wants.extend(of_control_plane(request));
    wants
}

/// What tells of schedulers and API servers without asking each: their Pods, and what was named by an address.
pub(crate) fn of_control_plane(request: &Request) -> BTreeSet<Want> {
    let mut wants = BTreeSet::from([Want::Pods {
        namespace: Some(SYSTEM.to_owned()),
        labels: CONTROL_PLANE.parse::<LabelSelector>().unwrap_or_default(),
        fields: FieldSelector::default(),
    }]);
    for (component, way) in &request.components {
        let documents: &[Document] = match component.kind {
            ComponentKind::KubeApiserver => &replicas::OF_SERVER,
            ComponentKind::Kubelet => &[Document::Configz, Document::Flagz, Document::Metrics],
            ComponentKind::KubeProxy => &[Document::Configz, Document::Metrics],
            _ => &OF_COMPONENT,
        };
        wants.extend(self::documents(component, way, documents));
    }
    wants
}

/// Schedulers and controller managers through their Pods. Whoever answers there gets to see who asks, so no other Pod is
/// believed to be one than that which a kubelet of the control plane has made of a file: of a worker's kubelet a thief may have
/// the key. One that the user names is reached as it is named.
fn of_pods(world: &World, request: &Request) -> Vec<Want> {
    let mut wants = Vec::new();
    for pod in world.pods().map(|pod| &pod.value) {
        let Some(component) = &pod.component else {
            continue;
        };
        let name = process::name_of_pod(component, pod);
        let is_named = request.components.iter().any(|(known, _)| *known == name);
        let is_due = pod.from_kubelet
            && pod.name.namespace == SYSTEM
            && request.wants_kind(component.kind)
            && !is_named
            && pod
                .node
                .as_deref()
                .is_some_and(|node| is_control_plane(world, node));
        let usual = port_of(component.kind).filter(|_| is_due);
        let port = usual.map(|usual| component.port.unwrap_or(usual));
        let Some(port) = port.filter(|port| *port > 0) else {
            continue;
        };
        let way = Way::Forward {
            pod: pod.name.clone(),
            port,
        };
        wants.extend(documents(&name, &way, &OF_COMPONENT));
    }
    wants
}

fn is_control_plane(world: &World, node: &str) -> bool {
    let node = world.node(node).map(|node| &node.value);
    node.is_some_and(|node| {
        CONTROL_PLANE_NODES
            .iter()
            .any(|label| node.labels.contains_key(*label))
    })
}

/// The port that a component serves by TLS unless a flag says otherwise; null of those that are not reached through their Pods.
pub(crate) fn port_of(kind: ComponentKind) -> Option<u16> {
    let mut known = THROUGH_PODS.iter();
    known.find_map(|(known, port)| (*known == kind).then_some(*port))
}

/// The way to a kubelet: through the API server, or to its own address.
fn way(world: &World, node: &str, request: &Request) -> Option<Way> {
    let name = ComponentName::new(ComponentKind::Kubelet, node);
    let named = request.components.iter().find(|(known, _)| *known == name);
    if let Some((_, way)) = named {
        return Some(way.clone());
    }
    if !request.direct_kubelets {
        return Some(Way::NodeProxy);
    }
    let (host, port) = world.node(node)?.value.kubelet_endpoint.as_ref()?;
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.clone()
    };
    Some(Way::Address(format!("https://{host}:{port}")))
}

/// What is read of the kubelets that are asked about, once the Nodes are known.
pub(crate) fn of_kubelets(world: &World, request: &Request) -> Vec<Want> {
    let processes = process::all(world, request.pool_label.as_deref());
    let kubelets: Vec<&Process<'_>> = processes
        .iter()
        .filter(|it| it.name.kind == ComponentKind::Kubelet && !it.name.identity.is_empty())
        .filter(|it| world.node(&it.name.identity).is_some() && request.wants(it))
        .collect();
    let want = |process: &Process<'_>, document: Document| {
        Some(Want::Document {
            component: process.name.clone(),
            document,
            way: way(world, &process.name.identity, request)?,
        })
    };
    // A few tell whether it is allowed at all: thousands of refusals would help nobody, and one may be that kubelet's own.
    let first = kubelets
        .iter()
        .filter_map(|it| want(it, Document::Configz))
        .take(ASKED_FIRST);
    let first: Vec<Want> = first.collect();
    let states = first.iter().map(|want| world.state_of(want));
    let states: BTreeSet<Option<State>> = states.collect();
    if states.contains(&None) || first.is_empty() {
        return first;
    }
    if states == BTreeSet::from([Some(State::Denied)]) {
        return of_denied(first, &kubelets, &want);
    }
    let sampled = sampled(&kubelets, request.sample);
    let mut wants: Vec<Want> = sampled
        .iter()
        .filter_map(|it| want(it, Document::Configz))
        .collect();
    let state = |it: &Process<'_>, document: Document| world.state_of(&want(it, document)?);
    if sampled
        .iter()
        .any(|it| state(it, Document::Configz).is_none())
    {
        return wants;
    }
    // Who could not be reached once is not waited for again.
    let is_reached = |it: &&&Process<'_>| {
        state(it, Document::Configz).is_some_and(|state| state != State::Unreachable)
    };
    let reached: Vec<&Process<'_>> = sampled.iter().filter(is_reached).copied().collect();
    let mut exact: Vec<&Process<'_>> = Vec::new();
    if request.exact {
        exact = reached;
    } else {
        for group in groups(&reached).into_values() {
            let is_contradicted = group.iter().any(|it| contradicts(it));
            // Where the first one does not tell, the next one does.
            let is_silent = group
                .first()
                .and_then(|it| state(it, Document::Metrics))
                .is_some_and(|state| state != State::Complete);
            let read = match (is_contradicted, is_silent) {
                (true, _) => group.len(),
                (false, true) => 2,
                (false, false) => 1,
            };
            exact.extend(group.into_iter().take(read));
        }
    }
    let exact = exact
        .into_iter()
        .flat_map(|it| OF_SAMPLE.map(|document| want(it, document)));
    wants.extend(exact.flatten());
    wants
}

/// Where the configuration is denied, metrics may be allowed: to a monitoring user, at the kubelet's own address.
fn of_denied(
    first: Vec<Want>,
    kubelets: &[&Process<'_>],
    want: &impl Fn(&Process<'_>, Document) -> Option<Want>,
) -> Vec<Want> {
    let is_direct = |want: &Want| {
        let Want::Document { way, .. } = want else {
            return false;
        };
        matches!(way, Way::Address(_))
    };
    if !first.iter().any(is_direct) {
        return first;
    }
    let metrics = kubelets.iter().filter_map(|it| want(it, Document::Metrics));
    metrics.chain(first).collect()
}

/// The first nodes of each pool and version, so many as are asked for.
pub(super) fn sampled<'p, 'w>(
    kubelets: &[&'p Process<'w>],
    sample: Option<usize>,
) -> Vec<&'p Process<'w>> {
    let mut counts: BTreeMap<(&Option<String>, &Option<String>), usize> = BTreeMap::new();
    kubelets
        .iter()
        .filter(|process| {
            let count = counts.entry((&process.pool, &process.version)).or_default();
            *count += 1;
            sample.is_none_or(|sample| *count <= sample)
        })
        .copied()
        .collect()
}

/// What kubelets that are alike have in common: version, pool and what was set.
type Likeness<'p> = (Option<&'p str>, Option<&'p str>, Option<&'p Settings>);

fn groups<'p, 'w>(kubelets: &[&'p Process<'w>]) -> BTreeMap<Likeness<'p>, Vec<&'p Process<'w>>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for process in kubelets {
        let key = (
            process.version.as_deref(),
            process.pool.as_deref(),
            process.configuration,
        );
        groups.entry(key).or_default().push(*process);
    }
    groups
}

/// Whether what runs is not what follows from the version and what was set.
fn contradicts(process: &Process<'_>) -> bool {
    if process.runs.is_none() {
        return false;
    }
    let derived = Process {
        runs: None,
        ..process.clone()
    };
    let mut tables = Tables::default();
    let (observed, derived) = (tables.of(process), tables.of(&derived));
    derived.gates.iter().any(|(name, derived)| {
        let observed = observed.gates.get(name).map(|it| it.value);
        let is_known = |value: GateValue| matches!(value, GateValue::True | GateValue::False);
        is_known(derived.value) && observed.is_some_and(|it| is_known(it) && it != derived.value)
    })
}
