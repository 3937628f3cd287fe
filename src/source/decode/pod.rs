//! Decodes core/v1 Pod. It must not read containers' environment, arguments beside those of feature gates, or volumes' contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::workload::{Expression, exactly};
use super::{Amount, amounts, list, number, object, time};
use crate::model::component::{ComponentKind, ComponentVersion, Told};
use crate::model::fact::Content;
use crate::model::needs::{ContainerNeeds, PodNeeds, Requirements, SizedVolume};
use crate::model::node_choice::{NodeChoice, NodeTerm};
use crate::model::pod::{
    ComponentPod, Condition, FieldOwner, OwnedField, Pod, PodName, ResourceVersion, Toleration,
    Traits, Uid,
};
use crate::model::quantity::{Quantity, Resources};
use crate::model::selector::LabelSelector;
use crate::model::written::Written;
use crate::source::component::flags::{self, GateWords};
use crate::source::component::version_of_image;

#[derive(Deserialize)]
struct PodObject<'a> {
    #[serde(borrow)]
    metadata: PodMetadata<'a>,
    #[serde(default, deserialize_with = "object")]
    spec: Spec,
    #[serde(default, deserialize_with = "object")]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodMetadata<'a> {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default, deserialize_with = "number")]
    resource_version: Option<u64>,
    #[serde(default, deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
    #[serde(default, deserialize_with = "time")]
    deletion_timestamp: Option<Timestamp>,
    #[serde(default)]
    deletion_grace_period_seconds: Option<i64>,
    #[serde(default, deserialize_with = "list")]
    finalizers: Vec<String>,
    #[serde(default, deserialize_with = "list")]
    owner_references: Vec<OwnerReference>,
    #[serde(default)]
    annotations: Option<Annotations>,
    #[serde(default)]
    labels: Option<BTreeMap<String, Value>>,
    #[serde(borrow, default)]
    managed_fields: Option<Vec<ManagedFieldsEntry<'a>>>,
}

#[derive(Deserialize)]
struct OwnerReference {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default)]
    controller: Option<bool>,
}

/// Only the annotations that tell of a placement; others may hold anything.
#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "nominate.kube-placement.dev/decision", default)]
    decision: Option<String>,
    #[serde(rename = "kubernetes.io/config.mirror", default)]
    mirror: Option<String>,
    #[serde(rename = "kubernetes.io/config.source", default)]
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedFieldsEntry<'a> {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    subresource: Option<String>,
    #[serde(default, deserialize_with = "time")]
    time: Option<Timestamp>,
    #[serde(borrow, default)]
    fields_v1: Option<&'a RawValue>,
}

/// The paths of managedFields that tell of a placement; the many others are passed over.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "f:metadata")]
    metadata: MetadataFields,
    #[serde(rename = "f:spec")]
    spec: SpecFields,
    #[serde(rename = "f:status")]
    status: StatusFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MetadataFields {
    #[serde(rename = "f:annotations")]
    annotations: AnnotationFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnnotationFields {
    #[serde(rename = "f:nominate.kube-placement.dev/decision")]
    decision: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SpecFields {
    #[serde(rename = "f:nodeName")]
    node: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusFields {
    #[serde(rename = "f:nominatedNodeName")]
    nominated_node: Option<IgnoredAny>,
    #[serde(rename = "f:conditions")]
    conditions: ConditionFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ConditionFields {
    #[serde(rename = r#"k:{"type":"PodScheduled"}"#)]
    scheduled: ScheduledFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ScheduledFields {
    #[serde(rename = "f:message")]
    message: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    scheduler_name: Option<String>,
    priority: Option<i64>,
    preemption_policy: Option<String>,
    node_name: Option<String>,
    #[serde(deserialize_with = "list")]
    scheduling_gates: Vec<Named>,
    scheduling_group: Option<SchedulingGroup>,
    #[serde(deserialize_with = "list")]
    containers: Vec<Container>,
    #[serde(deserialize_with = "list")]
    init_containers: Vec<Container>,
    #[serde(deserialize_with = "list")]
    ephemeral_containers: Vec<Container>,
    host_network: Option<bool>,
    host_users: Option<bool>,
    overhead: Option<BTreeMap<String, Amount>>,
    resources: Option<ResourceRequirements>,
    node_selector: Option<BTreeMap<String, String>>,
    #[serde(deserialize_with = "object")]
    affinity: Affinity,
    #[serde(deserialize_with = "list")]
    tolerations: Vec<TolerationObject>,
    #[serde(deserialize_with = "list")]
    volumes: Vec<Volume>,
}

/// A container's claims on the node, what needs a feature of the node, which component of the cluster it runs with which
/// gates, and nothing else of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    #[serde(default)]
    resources: Option<ResourceRequirements>,
    #[serde(default)]
    restart_policy: Option<String>,
    #[serde(default, deserialize_with = "list")]
    restart_policy_rules: Vec<RestartRule>,
    #[serde(default, deserialize_with = "list")]
    volume_mounts: Vec<Mount>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    command: GateWords,
    #[serde(default)]
    args: GateWords,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResourceRequirements {
    limits: Option<BTreeMap<String, Amount>>,
    requests: Option<BTreeMap<String, Amount>>,
    claims: Option<Vec<ContainerClaim>>,
}

#[derive(Deserialize)]
struct ContainerClaim {
    #[serde(default)]
    name: String,
    #[serde(default)]
    request: String,
}

#[derive(Deserialize)]
struct RestartRule {
    #[serde(default)]
    action: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mount {
    #[serde(default, deserialize_with = "list")]
    bind_mount_options: Vec<IgnoredAny>,
}

/// What is required of nodes; preferences and other Pods tell nothing of where it may come to.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Affinity {
    #[serde(deserialize_with = "object")]
    node_affinity: NodeAffinity,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<NodeTerms>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeTerms {
    #[serde(default, deserialize_with = "list")]
    node_selector_terms: Vec<NodeTermObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeTermObject {
    #[serde(default, deserialize_with = "list")]
    match_expressions: Vec<Expression>,
    #[serde(default, deserialize_with = "list")]
    match_fields: Vec<Expression>,
}

#[derive(Deserialize)]
struct TolerationObject {
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    operator: Option<String>,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    effect: Option<String>,
}

/// Only claims, and how large an empty folder may grow: other volumes may hold anything.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume {
    #[serde(default)]
    name: String,
    #[serde(default)]
    persistent_volume_claim: Option<ClaimVolume>,
    #[serde(default)]
    empty_dir: Option<EmptyDir>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct EmptyDir {
    medium: String,
    size_limit: Option<Amount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimVolume {
    #[serde(default)]
    claim_name: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchedulingGroup {
    #[serde(default)]
    pod_group_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    qos_class: Option<String>,
    #[serde(deserialize_with = "time")]
    start_time: Option<Timestamp>,
    nominated_node_name: Option<String>,
    #[serde(deserialize_with = "list")]
    conditions: Vec<ConditionObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConditionObject {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default, deserialize_with = "time")]
    last_transition_time: Option<Timestamp>,
}

/// An empty string means the same as an absent field in the API.
fn filled(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.is_empty())
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let object: PodObject<'_> = serde_json::from_str(json)?;
    let metadata = object.metadata;
    let namespace = filled(metadata.namespace).unwrap_or_else(|| "default".to_owned());
    // Hand-written files may lack a uid; the name is then all the identity there is.
    let uid = filled(metadata.uid).unwrap_or_else(|| format!("{namespace}/{}", metadata.name));
    let annotations = metadata.annotations.unwrap_or_default();
    let spec = object.spec;
    let status = object.status;
    let requests = requests(&spec);
    // No Pod is without containers: such a one was never shown whole.
    let needs = (!spec.containers.is_empty()).then(|| Box::new(needs(&spec, status.qos_class)));
    let component = spec.containers.iter().find_map(component);
    let controller = metadata
        .owner_references
        .into_iter()
        .find(|owner| owner.controller == Some(true));
    let of_controller = |owner: &OwnerReference| format!("{}/{}", owner.kind, owner.name).into();
    Ok(Content::Pod(Box::new(Pod {
        name: PodName {
            namespace,
            name: metadata.name,
        },
        uid: Uid(uid.into()),
        resource_version: metadata.resource_version.map(ResourceVersion),
        created: metadata.creation_timestamp,
        node: filled(spec.node_name),
        controller: controller.as_ref().map(of_controller),
        traits: Arc::new(Traits {
            deletion: metadata.deletion_timestamp,
            deletion_grace_seconds: metadata.deletion_grace_period_seconds,
            finalizers: metadata.finalizers,
            controller_uid: controller
                .and_then(|owner| filled(owner.uid))
                .map(|uid| Uid(uid.into())),
            labels: metadata
                .labels
                .into_iter()
                .flatten()
                .map(|(key, value)| match value {
                    Value::String(text) => (key, text),
                    // Hand-written YAML may have a bare number; that is no reason to lose the Pod.
                    other => (key, other.to_string()),
                })
                .collect(),
            from_kubelet: annotations.mirror.is_some()
                || annotations.source.is_some_and(|source| source != "api"),
            decision: annotations.decision,
            managed_fields: metadata
                .managed_fields
                .map(|entries| entries.into_iter().map(owner).collect()),
            scheduler_name: filled(spec.scheduler_name)
                .unwrap_or_else(|| "default-scheduler".to_owned()),
            priority: spec.priority,
            preemption_policy: spec.preemption_policy,
            gates: spec
                .scheduling_gates
                .into_iter()
                .map(|gate| gate.name)
                .collect(),
            group: spec
                .scheduling_group
                .and_then(|group| filled(group.pod_group_name)),
            needs,
            component: component.map(Box::new),
            requests,
            tolerations: spec
                .tolerations
                .into_iter()
                .map(|toleration| Toleration {
                    key: filled(toleration.key),
                    exists: toleration.operator.as_deref() == Some("Exists"),
                    value: toleration.value.unwrap_or_default(),
                    effect: filled(toleration.effect),
                })
                .collect(),
            choice: choice(spec.node_selector.unwrap_or_default(), spec.affinity),
            claims: spec
                .volumes
                .into_iter()
                .filter_map(|volume| volume.persistent_volume_claim)
                .map(|claim| claim.claim_name)
                .filter(|name| !name.is_empty())
                .collect(),
            phase: filled(status.phase),
            reason: filled(status.reason),
            message: filled(status.message),
            start: status.start_time,
            nominated_node: filled(status.nominated_node_name),
            conditions: status
                .conditions
                .into_iter()
                .map(|condition| Condition {
                    kind: condition.kind,
                    status: condition.status,
                    reason: filled(condition.reason),
                    message: filled(condition.message),
                    last_transition: condition.last_transition_time,
                })
                .collect(),
        }),
    })))
}

/// Which nodes its words allow; null where there are none.
fn choice(labels: BTreeMap<String, String>, affinity: Affinity) -> Option<Box<NodeChoice>> {
    let selector = |all: Vec<Expression>| {
        LabelSelector(all.into_iter().map(Expression::requirement).collect())
    };
    let term = |term: NodeTermObject| NodeTerm {
        labels: selector(term.match_expressions),
        fields: selector(term.match_fields),
    };
    let required = affinity.node_affinity.required;
    let terms = required.map(|it| it.node_selector_terms.into_iter().map(term).collect());
    (terms.is_some() || !labels.is_empty()).then(|| {
        let selector = LabelSelector(exactly(labels).collect());
        Box::new(NodeChoice { selector, terms })
    })
}

/// The component that a container runs: its program, or its name where the image starts the program.
fn component(container: &Container) -> Option<ComponentPod> {
    let kind = container
        .command
        .program()
        .or_else(|| ComponentKind::of_word(&container.name))?;
    let words = [&container.command, &container.args];
    let words: Vec<String> = words
        .into_iter()
        .flat_map(|words| words.0.clone())
        .collect();
    let mut told = flags::told(kind, &words);
    if let Some(git) = container.image.as_deref().and_then(version_of_image) {
        told.push(Told::Version(ComponentVersion {
            git: Some(git.to_owned()),
            ..ComponentVersion::default()
        }));
    }
    Some(ComponentPod {
        kind,
        address: flags::address(&words),
        port: flags::port(&words),
        told,
    })
}

/// A template of Pods: their specification.
#[derive(Deserialize)]
struct Template {
    #[serde(default)]
    spec: Spec,
}

/// What Pods of a template will need, and the component that they run; null where it has no containers, or cannot be read.
pub(super) fn of_template(json: &str) -> Option<(PodNeeds, Option<ComponentPod>)> {
    let Template { spec } = serde_json::from_str(json).ok()?;
    let component = spec.containers.iter().find_map(component);
    (!spec.containers.is_empty()).then(|| (needs(&spec, None), component))
}

/// What rules of declared features read.
fn needs(spec: &Spec, qos: Option<String>) -> PodNeeds {
    let containers = |containers: &[Container]| containers.iter().map(container_needs).collect();
    let sized = |(at, volume): (usize, &Volume)| {
        let folder = volume.empty_dir.as_ref()?;
        Some(SizedVolume {
            at,
            name: volume.name.clone(),
            in_memory: folder.medium == "Memory",
            size: folder.size_limit.as_ref().and_then(written)?,
        })
    };
    PodNeeds {
        host_network: spec.host_network == Some(true),
        host_users: spec.host_users,
        containers: containers(&spec.containers),
        init_containers: containers(&spec.init_containers),
        ephemeral_containers: containers(&spec.ephemeral_containers),
        resources: spec.resources.as_ref().map(requirements),
        volumes: spec.volumes.len(),
        sized_volumes: spec.volumes.iter().enumerate().filter_map(sized).collect(),
        qos: filled(qos),
    }
}

fn container_needs(container: &Container) -> ContainerNeeds {
    let mounts = container.volume_mounts.iter().enumerate();
    ContainerNeeds {
        exit_actions: container
            .restart_policy_rules
            .iter()
            .map(|rule| rule.action.clone())
            .collect(),
        optioned_mounts: mounts
            .filter(|(_, mount)| !mount.bind_mount_options.is_empty())
            .map(|(at, _)| at)
            .collect(),
        is_sidecar: container.restart_policy.as_deref() == Some("Always"),
        resources: container
            .resources
            .as_ref()
            .map(requirements)
            .unwrap_or_default(),
    }
}

fn requirements(resources: &ResourceRequirements) -> Requirements {
    let map = |amounts: &Option<BTreeMap<String, Amount>>| {
        let amounts = amounts.as_ref()?.iter();
        Some(
            amounts
                .filter_map(|(name, amount)| Some((name.clone(), written(amount)?)))
                .collect(),
        )
    };
    let claim = |claim: &ContainerClaim| (claim.name.clone(), claim.request.clone());
    Requirements {
        limits: map(&resources.limits),
        requests: map(&resources.requests),
        claims: resources
            .claims
            .as_ref()
            .map(|claims| claims.iter().map(claim).collect()),
    }
}

fn written(amount: &Amount) -> Option<Written> {
    match amount {
        Amount::Text(text) => Some(Written(text.clone())),
        Amount::Number(number) => Some(Written(number.to_string())),
        Amount::Other(_) => None,
    }
}

/// What the scheduler counts for a Pod (component-helpers `resource/helpers.go`, 1.37).
fn requests(spec: &Spec) -> Resources {
    let of = |requirements: Option<&ResourceRequirements>| {
        amounts(requirements.and_then(|requirements| requirements.requests.as_ref()))
    };
    let mut running = Resources::new();
    for container in &spec.containers {
        add(&mut running, &of(container.resources.as_ref()));
    }
    let mut sidecars = Resources::new();
    let mut peak = Resources::new();
    for container in &spec.init_containers {
        let own = of(container.resources.as_ref());
        let mut together = sidecars.clone();
        add(&mut together, &own);
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars = together;
        } else {
            raise(&mut peak, &together);
        }
    }
    add(&mut running, &sidecars);
    raise(&mut running, &peak);
    // Requests of the Pod as a whole stand for its containers' (KEP-2837).
    running.extend(of(spec.resources.as_ref()));
    add(&mut running, &amounts(spec.overhead.as_ref()));
    running.insert("pods".to_owned(), Quantity::ONE);
    running
}

fn add(sum: &mut Resources, more: &Resources) {
    for (name, amount) in more {
        let known = sum.entry(name.clone()).or_default();
        *known = known.plus(*amount);
    }
}

fn raise(sum: &mut Resources, least: &Resources) {
    for (name, amount) in least {
        let known = sum.entry(name.clone()).or_default();
        *known = (*known).max(*amount);
    }
}

fn owner(entry: ManagedFieldsEntry<'_>) -> FieldOwner {
    // What has another shape owns nothing that is known here; that is no reason to lose the Pod.
    let fields: Fields = entry
        .fields_v1
        .and_then(|fields| serde_json::from_str(fields.get()).ok())
        .unwrap_or_default();
    let status = fields.status;
    let paths = [
        (OwnedField::NominatedNode, status.nominated_node),
        (
            OwnedField::ScheduledMessage,
            status.conditions.scheduled.message,
        ),
        (OwnedField::NodeName, fields.spec.node),
        (OwnedField::Decision, fields.metadata.annotations.decision),
    ];
    FieldOwner {
        owns: paths
            .into_iter()
            .filter(|(_, there)| there.is_some())
            .map(|(field, _)| field)
            .collect(),
        manager: entry.manager,
        subresource: filled(entry.subresource),
        time: entry.time,
    }
}
