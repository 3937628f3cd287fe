//! Decodes what makes Pods: apps/v1 DaemonSet, Deployment, ReplicaSet and StatefulSet, batch/v1 `CronJob` and Job.
//!
//! Only their selectors and owners, and of their templates what Pods will need of a node, and which component of the cluster they run with
//! which gates. A template may hold anything: one that cannot be read is no reason to lose the rest.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{list, pod};
use crate::model::fact::Content;
use crate::model::pod::{PodName, Uid};
use crate::model::selector::{LabelSelector, LabelTest, Requirement};
use crate::model::workload::{Workload, WorkloadKind};

#[derive(Deserialize)]
struct WorkloadObject<'o> {
    metadata: Metadata,
    #[serde(borrow, default)]
    spec: Spec<'o>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default, deserialize_with = "list")]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
struct OwnerReference {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    controller: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'o> {
    #[serde(default)]
    selector: Option<Selector>,
    #[serde(borrow, default)]
    template: Option<&'o RawValue>,
    /// Of a `CronJob`.
    #[serde(borrow, default)]
    job_template: Option<&'o RawValue>,
}

#[derive(Deserialize)]
struct JobTemplate<'o> {
    #[serde(borrow)]
    spec: JobSpec<'o>,
}

#[derive(Deserialize)]
struct JobSpec<'o> {
    #[serde(borrow)]
    template: &'o RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Selector {
    #[serde(default)]
    match_labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "list")]
    match_expressions: Vec<Expression>,
}

#[derive(Deserialize)]
pub(super) struct Expression {
    key: String,
    operator: Operator,
    #[serde(default, deserialize_with = "list")]
    values: Vec<String>,
}

#[derive(Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    /// Of nodes alone, as the next one.
    Gt,
    Lt,
}

impl Expression {
    pub(super) fn requirement(self) -> Requirement {
        // What is no number nothing is greater or less than.
        let number = self.values.first().and_then(|it| it.parse().ok());
        let compared = |test: fn(i64) -> LabelTest| {
            number.map_or_else(|| LabelTest::In(BTreeSet::new()), test)
        };
        let test = match self.operator {
            Operator::Gt => compared(LabelTest::GreaterThan),
            Operator::Lt => compared(LabelTest::LessThan),
            Operator::Exists => LabelTest::Exists,
            Operator::DoesNotExist => LabelTest::DoesNotExist,
            Operator::In => LabelTest::In(self.values.into_iter().collect()),
            Operator::NotIn => LabelTest::NotIn(self.values.into_iter().collect()),
        };
        Requirement {
            key: self.key,
            test,
        }
    }
}

/// Labels that are all as they are written.
pub(super) fn exactly(labels: BTreeMap<String, String>) -> impl Iterator<Item = Requirement> {
    labels.into_iter().map(|(key, value)| Requirement {
        key,
        test: LabelTest::In(BTreeSet::from([value])),
    })
}

pub(super) fn cron_job(json: &str) -> Result<Content, serde_json::Error> {
    decode(WorkloadKind::CronJob, json)
}

pub(super) fn daemon_set(json: &str) -> Result<Content, serde_json::Error> {
    decode(WorkloadKind::DaemonSet, json)
}

pub(super) fn deployment(json: &str) -> Result<Content, serde_json::Error> {
    decode(WorkloadKind::Deployment, json)
}

pub(super) fn job(json: &str) -> Result<Content, serde_json::Error> {
    decode(WorkloadKind::Job, json)
}

pub(super) fn replica_set(json: &str) -> Result<Content, serde_json::Error> {
    decode(WorkloadKind::ReplicaSet, json)
}

pub(super) fn stateful_set(json: &str) -> Result<Content, serde_json::Error> {
    decode(WorkloadKind::StatefulSet, json)
}

fn decode(kind: WorkloadKind, json: &str) -> Result<Content, serde_json::Error> {
    let object: WorkloadObject<'_> = serde_json::from_str(json)?;
    let metadata = object.metadata;
    let namespace = metadata.namespace.unwrap_or_else(|| "default".to_owned());
    // Hand-written files may lack a uid; nothing is then theirs by ownership.
    let uid = metadata
        .uid
        .unwrap_or_else(|| format!("{}/{namespace}/{}", kind.resource(), metadata.name));
    let template = template(&object.spec).and_then(pod::of_template);
    let (needs, component) = template.unzip();
    let runs_for_good = matches!(
        kind,
        WorkloadKind::DaemonSet | WorkloadKind::Deployment | WorkloadKind::StatefulSet
    );
    Ok(Content::Workload(Box::new(Workload {
        kind,
        name: PodName {
            namespace,
            name: metadata.name,
        },
        uid: Uid(uid.into()),
        template: needs.filter(|needs| !needs.is_plain()).map(Box::new),
        component: component.flatten().filter(|_| runs_for_good).map(Box::new),
        selector: object.spec.selector.map(selector),
        controller: metadata
            .owner_references
            .into_iter()
            .find(|owner| owner.controller == Some(true))
            .map(|owner| Uid(owner.uid.into())),
    })))
}

fn template<'o>(spec: &Spec<'o>) -> Option<&'o str> {
    let template = match (spec.template, spec.job_template) {
        (Some(template), _) => template,
        (None, Some(job)) => {
            let job: JobTemplate<'_> = serde_json::from_str(job.get()).ok()?;
            job.spec.template
        }
        (None, None) => return None,
    };
    Some(template.get())
}

pub(super) fn selector(selector: Selector) -> LabelSelector {
    let labels = exactly(selector.match_labels.unwrap_or_default());
    let expressions = selector.match_expressions.into_iter();
    LabelSelector(
        labels
            .chain(expressions.map(Expression::requirement))
            .collect(),
    )
}
