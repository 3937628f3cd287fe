//! What the Pods of a probe tell of a pool.
//!
//! A Pod that was not placed proves nothing where an ordinary one was not placed either. It must not look at objects of the API
//! server beyond what became of the Pods.

use std::time::Duration;

use serde_json::Value;

use super::need::Need;
use super::{Part, Request};
use crate::analysis::conformance::{Look, unschedulable};
use crate::analysis::declared::Judged;
use crate::answer::check_report::{Check, Finding, Measurement, Status};
use crate::answer::declared_features::Freshness;
use crate::answer::gate_skew::Severity;
use crate::answer::nomination_explanation::Evidence;
use crate::answer::parts::some;
use crate::model::pod::Pod;

/// What became of a Pod, as far as it was seen.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    /// As the server took it.
    pub(crate) made: Option<Value>,
    /// What the server said where it did not.
    pub(crate) refused: Option<String>,
    pub(crate) placed: Option<Look>,
    /// Since it was made.
    pub(crate) started: Option<Look>,
    /// Why it could not be looked at.
    pub(crate) lost: Option<String>,
    /// The server's answer to the update, and the time that it took.
    pub(crate) update: Option<(Result<(), String>, Duration)>,
}

/// How much of it was to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// All of it.
    Whole,
    /// The server only judged the Pods (`--dry-run=server`).
    Judged,
    /// Nothing was sent (`--dry-run=client`).
    Planned,
}

impl Fate {
    fn node(&self) -> Option<&str> {
        self.placed.as_ref()?.pod.as_ref()?.node.as_deref()
    }

    fn last(&self) -> Option<&Pod> {
        let look = self.started.as_ref().or(self.placed.as_ref())?;
        look.pod.as_ref()
    }
}

/// The ids of its checks.
pub(crate) const CHECKS: &[&str] = &["control-pod", "declared", "placed", "running", "update"];

/// A check of a pool before it has its words.
struct Draft {
    id: &'static str,
    status: Status,
    severity: Severity,
    /// Of a pass, or why it is unknown or skipped, or what is wrong.
    sentence: String,
    evidence: Vec<String>,
    seconds: Option<(&'static str, f64)>,
}

impl Draft {
    fn new(id: &'static str, status: Status, sentence: impl Into<String>) -> Self {
        Self {
            id,
            status,
            severity: Severity::Error,
            sentence: sentence.into(),
            evidence: Vec::new(),
            seconds: None,
        }
    }

    fn after(mut self, metric: &'static str, took: Duration) -> Self {
        self.seconds = Some((metric, took.as_secs_f64()));
        self
    }

    fn by(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence);
        self
    }
}

/// All that is said of a pool.
pub(crate) fn checks(
    part: &Part<'_>,
    request: &Request,
    limits: Limits,
    control: &Fate,
    needy: &Fate,
) -> Vec<Check> {
    let pool = part.pool.as_deref();
    let subject = pool.map_or_else(
        || "nodes of no pool".to_owned(),
        |pool| format!("pool {pool}"),
    );
    let drafts = if part.pair.is_none() {
        let nobody = |id| Draft::new(id, Status::Unknown, "no node is ready and takes Pods");
        ["control-pod", "placed"].map(nobody).into()
    } else {
        match limits {
            Limits::Whole => of_pods(part, request, control, needy),
            Limits::Judged => vec![would("control-pod", control), would("placed", needy)],
            Limits::Planned => {
                let skipped =
                    |id| Draft::new(id, Status::Skipped, "--dry-run=client sends nothing");
                ["control-pod", "placed"].map(skipped).into()
            }
        }
    };
    let declared = declared(part, request.need);
    let drafts = [declared].into_iter().chain(drafts);
    drafts.map(|draft| check(draft, &subject)).collect()
}

/// What is said where no node is meant.
pub(crate) fn nobody(are_all_seen: bool) -> Check {
    let (status, sentence) = if are_all_seen {
        (
            Status::Fail,
            "no node is in such a pool, or has such a name",
        )
    } else {
        (Status::Unknown, "the nodes could not be read")
    };
    check(Draft::new("declared", status, sentence), "all pools")
}

fn check(draft: Draft, subject: &str) -> Check {
    debug_assert!(CHECKS.contains(&draft.id), "{}", draft.id);
    let sentence = format!("{subject}: {}", draft.sentence);
    let is_open = matches!(draft.status, Status::Unknown | Status::Skipped);
    let evidence = draft.evidence.into_iter().map(|text| Evidence {
        source: "probe".to_owned(),
        at: None,
        text,
    });
    let finding = Finding {
        subject: subject.to_owned(),
        message: draft.sentence.clone(),
        evidence: evidence.collect(),
        measurement: draft.seconds.map(|(metric, value)| Measurement {
            metric,
            baseline: None,
            value,
            threshold: None,
            sample: None,
        }),
        ..Finding::default()
    };
    let is_told = draft.status == Status::Fail || finding.measurement.is_some();
    Check {
        id: draft.id,
        status: draft.status,
        severity: draft.severity,
        title: sentence.clone(),
        findings: Vec::from_iter((is_told && !is_open).then_some(finding)),
        reason: is_open.then_some(sentence),
    }
}

fn names(nodes: &[&Judged<'_>]) -> String {
    let names: Vec<String> = nodes.iter().map(|it| it.node.name.clone()).collect();
    some(&names)
}

/// Whether all nodes declare it, and can be believed.
fn declared(part: &Part<'_>, need: &Need) -> Draft {
    let feature = need.feature;
    let lists = |it: &&Judged<'_>| it.features().iter().any(|name| name == feature);
    let (listing, without): (Vec<&Judged<'_>>, Vec<&Judged<'_>>) =
        part.nodes.iter().partition(lists);
    let (has, false_ones): (Vec<&Judged<'_>>, Vec<&Judged<'_>>) =
        listing.into_iter().partition(|it| it.has(feature));
    let fail = |sentence: String| Draft::new("declared", Status::Fail, sentence);
    if !false_ones.is_empty() {
        let evidence = false_ones
            .iter()
            .flat_map(|it| it.judgement.evidence.clone());
        return fail(format!(
            "{feature} is in the list of {}, which cannot have it; schedulers and API servers believe the list",
            names(&false_ones)
        ))
        .by(evidence);
    }
    if has.is_empty() {
        return fail(format!("no node declares {feature}"))
            .by([format!("without it: {}", names(&without))]);
    }
    if !without.is_empty() {
        let sentence = format!(
            "{} of {} nodes do not declare {feature}",
            without.len(),
            part.nodes.len()
        );
        let draft = fail(sentence).by([format!("without it: {}", names(&without))]);
        return Draft {
            severity: Severity::Warning,
            ..draft
        };
    }
    let unsure: Vec<&Judged<'_>> = has
        .iter()
        .filter(|it| it.judgement.freshness == Freshness::Unknown)
        .copied()
        .collect();
    if let Some(first) = unsure.first() {
        let sentence = format!(
            "whether the lists of {} can be believed is not known ({})",
            names(&unsure),
            first.judgement.cause
        );
        return Draft::new("declared", Status::Unknown, sentence);
    }
    let sentence = format!("{} of {} nodes declare it", has.len(), part.nodes.len());
    Draft::new("declared", Status::Pass, sentence)
}

/// What the server said to a Pod that it only judged.
fn would(id: &'static str, fate: &Fate) -> Draft {
    match &fate.refused {
        Some(words) => Draft::new(id, Status::Fail, "the API server would not take the Pod")
            .by([words.clone()]),
        None => Draft::new(id, Status::Pass, "the API server would take the Pod"),
    }
}

fn of_pods(part: &Part<'_>, request: &Request, control: &Fate, needy: &Fate) -> Vec<Draft> {
    let mut drafts = vec![
        ordinary(control),
        placed(part, request.need, control, needy),
    ];
    let is_placed = needy.node().is_some();
    let skipped = |id| Draft::new(id, Status::Skipped, "the Pod was not placed");
    drafts.push(if is_placed {
        used(part, request.need, needy)
    } else {
        skipped("running")
    });
    if request.need.update.is_some() {
        drafts.push(if is_placed {
            updated(part, request.need, needy)
        } else {
            skipped("update")
        });
    }
    drafts
}

/// An ordinary Pod says whether anything at all is placed and runs there.
fn ordinary(fate: &Fate) -> Draft {
    const ID: &str = "control-pod";
    if let Some(words) = &fate.refused {
        return Draft::new(
            ID,
            Status::Fail,
            "the API server did not take an ordinary Pod",
        )
        .by([words.clone()]);
    }
    if let Some(why) = &fate.lost {
        return Draft::new(ID, Status::Unknown, why);
    }
    match (fate.node(), fate.last()) {
        (None, Some(pod)) => match unschedulable(pod) {
            Some(words) => {
                Draft::new(ID, Status::Fail, "an ordinary Pod is not placed").by([words.to_owned()])
            }
            None => Draft::new(
                ID,
                Status::Unknown,
                "no scheduler said anything of an ordinary Pod in time",
            ),
        },
        (None, None) => Draft::new(ID, Status::Unknown, "somebody removed the ordinary Pod"),
        (Some(_), _) => {
            let draft = running(ID, "control_seconds", &Need::NONE, fate);
            Draft {
                sentence: format!("an ordinary Pod: {}", draft.sentence),
                ..draft
            }
        }
    }
}

/// Whether the scheduler placed the Pod that needs the feature, and where it may.
fn placed(part: &Part<'_>, need: &Need, control: &Fate, needy: &Fate) -> Draft {
    const ID: &str = "placed";
    if let Some(words) = &needy.refused {
        return Draft::new(ID, Status::Fail, "the API server did not take the Pod")
            .by([words.clone()]);
    }
    if needy.made.as_ref().is_some_and(|pod| !need.is_in(pod)) {
        let sentence = "the API server took out of the Pod what makes it need the feature: its own gate is off";
        return Draft::new(ID, Status::Unknown, sentence);
    }
    if let Some(why) = &needy.lost {
        return Draft::new(ID, Status::Unknown, why);
    }
    let Some(look) = &needy.placed else {
        return Draft::new(ID, Status::Unknown, "it was not looked at");
    };
    let Some(pod) = &look.pod else {
        return Draft::new(ID, Status::Unknown, "somebody removed the Pod");
    };
    let Some(node) = &pod.node else {
        return match unschedulable(pod) {
            _ if control.node().is_none() => {
                Draft::new(ID, Status::Unknown, "an ordinary Pod is not placed either")
            }
            Some(words) => Draft::new(ID, Status::Fail, "the scheduler does not place it")
                .by([words.to_owned()]),
            None => Draft::new(
                ID,
                Status::Unknown,
                "no scheduler said anything of it in time",
            ),
        };
    };
    let sentence = format!("placed on {node} after {:.1}s", look.took.as_secs_f64());
    let fail = |sentence: String| Draft::new(ID, Status::Fail, sentence);
    // An update is the API server's to judge.
    let draft = match standing(part, need, node) {
        _ if need.update.is_some() => Draft::new(ID, Status::Pass, sentence),
        Standing::Declared => Draft::new(ID, Status::Pass, sentence),
        Standing::Untrue => fail(format!("{sentence}, by a list that is not true")),
        Standing::Without => fail(format!("{sentence}, which does not declare the feature")).by([
            "the scheduler does not mind the feature, or the list has changed since".to_owned(),
        ]),
    };
    draft.after("placed_seconds", look.took)
}

/// What a node's list is worth for the feature.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Declared,
    /// Listed, and it cannot be.
    Untrue,
    Without,
}

fn standing(part: &Part<'_>, need: &Need, node: &str) -> Standing {
    let judged = part.nodes.iter().find(|it| it.node.name == node);
    let lists = |it: &Judged<'_>| it.features().iter().any(|name| name == need.feature);
    match judged {
        Some(it) if it.has(need.feature) => Standing::Declared,
        Some(it) if lists(it) => Standing::Untrue,
        _ => Standing::Without,
    }
}

/// Whether the kubelet runs it, with what it needs.
fn used(part: &Part<'_>, need: &Need, needy: &Fate) -> Draft {
    let draft = running("running", "running_seconds", need, needy);
    let is_ignored = need.update.is_none()
        && draft.status == Status::Pass
        && standing(part, need, needy.node().unwrap_or_default()) != Standing::Declared;
    if !is_ignored {
        return draft;
    }
    Draft {
        status: Status::Fail,
        sentence: format!("{}: the kubelet ignores what the Pod needs", draft.sentence),
        ..draft
    }
}

/// Whether the kubelet runs it.
fn running(id: &'static str, metric: &'static str, need: &Need, fate: &Fate) -> Draft {
    if let Some(why) = &fate.lost {
        return Draft::new(id, Status::Unknown, why);
    }
    let look = fate.started.as_ref();
    let Some((look, pod)) = look.and_then(|look| Some((look, look.pod.as_ref()?))) else {
        return Draft::new(id, Status::Unknown, "somebody removed the Pod");
    };
    let node = pod.node.as_deref().unwrap_or_default();
    if pod.finished() {
        let words = [&pod.reason, &pod.message].into_iter().flatten().cloned();
        let words: Vec<String> = words.collect();
        let sentence = format!("the kubelet of {node} does not run it");
        return Draft::new(id, Status::Fail, sentence).by([words.join(": ")]);
    }
    if !look.is_met {
        let seconds = look.took.as_secs_f64();
        let sentence = format!("on {node} it does not run after {seconds:.0}s; see its image");
        return Draft::new(id, Status::Unknown, sentence);
    }
    let word = if need.is_for_ever_starting {
        "taken up"
    } else {
        "running"
    };
    let sentence = format!("{word} on {node} after {:.1}s", look.took.as_secs_f64());
    Draft::new(id, Status::Pass, sentence).after(metric, look.took)
}

/// Whether the API server accepts the update, and whether it may.
fn updated(part: &Part<'_>, need: &Need, needy: &Fate) -> Draft {
    const ID: &str = "update";
    let Some((answer, took)) = &needy.update else {
        return Draft::new(
            ID,
            Status::Unknown,
            "the Pod was not updated, for it does not run",
        );
    };
    let node = needy.node().unwrap_or_default();
    match answer {
        Err(words) => Draft::new(ID, Status::Fail, format!("the update on {node} is refused"))
            .by([words.clone()]),
        Ok(()) if standing(part, need, node) != Standing::Declared => {
            let sentence = format!(
                "the update on {node} is accepted, and the node cannot have the feature: nothing will come of it"
            );
            Draft::new(ID, Status::Fail, sentence)
        }
        Ok(()) => {
            let sentence = format!(
                "the update on {node} is accepted after {:.1}s",
                took.as_secs_f64()
            );
            Draft::new(ID, Status::Pass, sentence).after("update_seconds", *took)
        }
    }
}
