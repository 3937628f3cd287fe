//! `features explain`: which declared features a Pod or its update requires, and whether the nodes give them.
//!
//! Four look at requirements, each by its own version and gate: the scheduler (`enforcement`), the API server at updates, the kubelet
//! when a Pod comes to it and at each of its starts (`node`), and nobody. The verdict says which of them decides. Whether the rest of
//! a Pod's needs fits a node is the scheduler's to say, and no part of it.

mod enforcement;
pub(crate) mod leaving;
mod node;
mod scheduling;
pub(crate) mod trial;
mod update;
mod wants;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::declared::{self, Judged};
use super::gates::kubelet::{self, KubeletGates};
use super::gates::skew;
use super::message::{self, Parsed};
use super::requirement::{self, Feature, NEWEST, Required};
use super::select;
use crate::answer::Header;
use crate::answer::feature_explanation::{
    Because, BoundBy, FeatureExplanation, For, NodeRow, PodSummary, Reason, Requirement,
    SchedulerReport, Verdict,
};
use crate::answer::feature_explanation_list::FeatureExplanationList;
use crate::answer::nomination_explanation::Evidence;
use crate::model::needs::PodNeeds;
use crate::model::pod::{OwnedField, Pod};
use crate::model::version::{Minor, Release};
use crate::model::world::World;
use enforcement::Enforcement;
pub(crate) use wants::{possible, wants};

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Pods of the cluster, or of files in its place.
    pub(crate) selection: Option<select::Request>,
    /// Manifests to be judged instead.
    pub(crate) manifests: Vec<Manifest>,
    /// What the one Pod is to become.
    pub(crate) update: Option<Box<Manifest>>,
    /// How kubelets and the control plane are reached.
    pub(crate) observation: skew::Request,
}

#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    pub(crate) kind: &'static str,
    pub(crate) source: String,
    pub(crate) pod: Pod,
    /// As it is written, for the API server alone: it may hold anything.
    pub(crate) written: Value,
}

/// A Pod that is explained.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    kind: &'static str,
    source: &'a str,
    pod: &'a Pod,
    is_manifest: bool,
}

/// A release that stands for a minor: no rule depends on a patch as long as no feature has a last version.
fn release(minor: Minor) -> Release {
    Release { minor, patch: 0 }
}

/// The Pods that the request means, as far as they are known.
pub(crate) fn subjects<'a>(world: &'a World, request: &'a Request) -> Vec<Subject<'a>> {
    let manifests = request.manifests.iter().map(|manifest| Subject {
        kind: manifest.kind,
        source: &manifest.source,
        pod: &manifest.pod,
        is_manifest: true,
    });
    let chosen = request.selection.iter().flat_map(|selection| {
        let pods = select::choose(world, selection).pods;
        pods.into_iter().map(|pod| Subject {
            kind: "Pod",
            source: &pod.source,
            pod: &pod.value,
            is_manifest: false,
        })
    });
    manifests.chain(chosen).collect()
}

/// What is required: to be scheduled by anybody who knows it, for an update by an API server that it may be.
fn required_by(
    world: &World,
    subject: &Subject<'_>,
    request: &Request,
) -> impl Iterator<Item = (For, Required)> {
    let needs = subject.pod.needs.as_deref();
    let scheduling = needs.map_or_else(Vec::new, for_scheduling);
    let update = request
        .update
        .as_ref()
        .and_then(|new| new.pod.needs.as_deref());
    let update = needs.zip(update).map_or_else(Vec::new, |(old, new)| {
        for_update(old, new, &enforcement::api_server(world).possible())
    });
    let scheduling = scheduling.into_iter().map(|it| (For::Scheduling, it));
    scheduling.chain(update.into_iter().map(|it| (For::Update, it)))
}

fn for_scheduling(needs: &PodNeeds) -> Vec<Required> {
    requirement::for_scheduling(needs, release(NEWEST))
}

/// By the rules of these minors together, each feature once.
fn for_update(old: &PodNeeds, new: &PodNeeds, minors: &BTreeSet<Minor>) -> Vec<Required> {
    let mut found: BTreeMap<&str, Required> = BTreeMap::new();
    for minor in minors {
        for required in requirement::for_update(old, new, release(*minor)) {
            found.insert(required.feature.name, required);
        }
    }
    found.into_values().collect()
}

/// All that the verdicts on one Pod rest on.
struct Case<'a> {
    world: &'a World,
    subject: Subject<'a>,
    required: Vec<(For, Required)>,
    nodes: &'a BTreeMap<&'a str, &'a Judged<'a>>,
    gates: &'a BTreeMap<String, KubeletGates>,
    scheduler: Enforcement,
    api_server: Enforcement,
    said: Parsed,
    new: Option<&'a PodNeeds>,
}

impl Case<'_> {
    fn features(&self, for_what: For) -> Vec<&'static Feature> {
        let of = self.required.iter().filter(|(of, _)| *of == for_what);
        of.map(|(_, required)| required.feature).collect()
    }

    /// Whether the API server checks a feature at this update: one minor may see a change where another sees none.
    fn admission_checks(&self, feature: &Feature) -> Option<bool> {
        let old = self.subject.pod.needs.as_deref();
        self.api_server.checks_where(|minor| {
            let update = old.zip(self.new);
            let required =
                update.map(|(old, new)| requirement::for_update(old, new, release(minor)));
            let names = required.into_iter().flatten().map(|it| it.feature.name);
            names.collect::<Vec<_>>().contains(&feature.name)
        })
    }

    /// What a node lists.
    fn listing(&self, row: &NodeRow) -> Evidence {
        let judged = self.nodes.get(row.name.as_str());
        let features = judged.map(|judged| judged.features().join(", "));
        let features = features.filter(|text| !text.is_empty());
        let version = row.version.as_deref().unwrap_or("of an unknown version");
        let features = features.unwrap_or_else(|| "nothing".to_owned());
        self.of_node(
            &row.name,
            format!("{}, kubelet {version}, declares {features}", row.name),
        )
    }

    fn row(&self, judged: &Judged<'_>, for_what: For) -> NodeRow {
        let gates = self.gates.get(&judged.node.name);
        node::row(judged, gates, &self.features(for_what), for_what)
    }

    fn of_pod(&self, text: impl Into<String>) -> Evidence {
        Evidence {
            source: self.subject.source.to_owned(),
            at: None,
            text: text.into(),
        }
    }

    fn of_node(&self, name: &str, text: impl Into<String>) -> Evidence {
        let source = self.world.node(name).map(|node| node.source.to_string());
        Evidence {
            source: source.unwrap_or_default(),
            at: None,
            text: text.into(),
        }
    }

    /// What a node's list is worth, in the words of `DeclaredFeatures`.
    fn worth(&self, name: &str) -> Vec<Evidence> {
        let judged = self.nodes.get(name).into_iter();
        let texts = judged.flat_map(|judged| judged.judgement.evidence.clone());
        texts
            .map(|text| self.of_node(name, format!("{name}: {text}")))
            .collect()
    }

    fn bound_by(&self) -> Option<BoundBy> {
        let pod = self.subject.pod;
        pod.node.as_ref()?;
        let owners = pod.managed_fields.as_ref();
        let is_owned = owners
            .into_iter()
            .flatten()
            .any(|owner| owner.owns(OwnedField::NodeName));
        Some(
            if pod.from_kubelet || is_owned || self.subject.is_manifest && owners.is_none() {
                BoundBy::Hand
            } else if owners.is_some() {
                BoundBy::Binding
            } else {
                BoundBy::Unknown
            },
        )
    }
}

/// Explains each Pod; they share what is known of the nodes.
pub(crate) fn explain(
    world: &World,
    request: &Request,
    now: Timestamp,
    generated_at: Timestamp,
) -> Vec<FeatureExplanation> {
    let about_nodes = declared::Request {
        observation: request.observation.clone(),
        ..declared::Request::default()
    };
    let judged = declared::judge(world, &about_nodes, now);
    let nodes: BTreeMap<&str, &Judged<'_>> = judged
        .iter()
        .map(|it| (it.node.name.as_str(), it))
        .collect();
    let gates = kubelet::all(world, request.observation.pool_label.as_deref());
    subjects(world, request)
        .into_iter()
        .map(|subject| {
            let said = said(subject.pod);
            let mut lacking = said
                .reasons
                .iter()
                .filter_map(|it| message::lacking_features(&it.text));
            let named = lacking.next().map(|names| !names.is_empty());
            let case = Case {
                required: required_by(world, &subject, request).collect(),
                scheduler: enforcement::scheduler(world, &subject.pod.scheduler_name, named),
                api_server: enforcement::api_server(world),
                new: request
                    .update
                    .as_ref()
                    .and_then(|new| new.pod.needs.as_deref()),
                world,
                subject,
                nodes: &nodes,
                gates: &gates,
                said,
            };
            answer(&case, request, now, generated_at)
        })
        .collect()
}

/// Several of them as one answer.
pub(crate) fn list(
    world: &World,
    items: Vec<FeatureExplanation>,
    now: Timestamp,
    generated_at: Timestamp,
) -> FeatureExplanationList {
    FeatureExplanationList {
        header: Header::of("FeatureExplanationList", world, now, generated_at),
        items,
    }
}

/// What the scheduler said last of a Pod that it could not place.
fn said(pod: &Pod) -> Parsed {
    let condition = pod
        .scheduled()
        .filter(|condition| condition.status == "False");
    let message = condition.and_then(|condition| condition.message.as_deref());
    message.map(message::parse).unwrap_or_default()
}

fn answer(
    case: &Case<'_>,
    request: &Request,
    now: Timestamp,
    generated_at: Timestamp,
) -> FeatureExplanation {
    let judged = if case.new.is_some() {
        update::judge(case)
    } else {
        scheduling::judge(case)
    };
    let pod = case.subject.pod;
    FeatureExplanation {
        header: Header::of("FeatureExplanation", case.world, now, generated_at),
        pod: PodSummary {
            context: request.selection.as_ref().and_then(|it| it.context.clone()),
            kind: case.subject.kind,
            namespace: pod.name.namespace.clone(),
            name: pod.name.name.clone(),
            uid: (!pod.is_unidentified()).then(|| pod.uid.0.to_string()),
            phase: pod.phase.clone(),
            scheduler_name: pod.scheduler_name.clone(),
            node_name: pod.node.clone(),
            bound_by: case.bound_by(),
        },
        verdict: judged.verdict,
        requirements: case
            .required
            .iter()
            .map(|it| requirement(case, it))
            .collect(),
        nodes: judged.nodes,
        scheduler: scheduler(case),
        api_server: case.api_server.report(),
        update: judged.update,
        server: None,
        at_risk: judged.at_risk,
    }
}

/// What came of judging a case.
struct Judgement {
    verdict: Verdict,
    nodes: Vec<NodeRow>,
    update: Option<crate::answer::feature_explanation::UpdateReport>,
    at_risk: Vec<crate::answer::feature_explanation::PodAtRisk>,
}

impl Judgement {
    fn of(verdict: Verdict) -> Self {
        Self {
            verdict,
            nodes: Vec::new(),
            update: None,
            at_risk: Vec::new(),
        }
    }
}

fn requirement(case: &Case<'_>, (for_what, required): &(For, Required)) -> Requirement {
    let feature = required.feature;
    let (enforcer, checks) = match for_what {
        For::Scheduling => (&case.scheduler, case.scheduler.checks(feature)),
        For::Update => (&case.api_server, case.admission_checks(feature)),
    };
    let because = required.because.iter().map(|it| Because {
        field: it.field.clone(),
        value: it.value.clone(),
    });
    Requirement {
        feature: feature.name,
        because: because.collect(),
        r#for: *for_what,
        since: feature.since.to_string(),
        until: feature.until.map(|minor| minor.to_string()),
        enforced: checks.into(),
        detail: enforcer.why(feature, checks),
    }
}

fn scheduler(case: &Case<'_>) -> SchedulerReport {
    let pod = case.subject.pod;
    let required = case.features(For::Scheduling);
    let reasons = case.said.reasons.iter().map(|reason| Reason {
        text: reason.text.clone(),
        nodes: reason.nodes,
        features: match message::lacking_features(&reason.text) {
            // The message names none: what the Pod requires and the scheduler checks.
            Some(names) if names.is_empty() => {
                let checked = required
                    .iter()
                    .filter(|it| case.scheduler.checks(it) != Some(false));
                checked.map(|it| it.name.to_owned()).collect()
            }
            Some(names) => names,
            None => Vec::new(),
        },
    });
    let condition = pod
        .scheduled()
        .filter(|condition| condition.status == "False");
    SchedulerReport {
        enforcer: case.scheduler.report(),
        nodes_total: case.said.nodes_total,
        reasons: reasons.collect(),
        raw: condition.and_then(|condition| condition.message.clone()),
    }
}
