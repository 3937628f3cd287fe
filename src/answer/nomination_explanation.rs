//! The answer of `nominate explain`: one Pod's nomination, binding and verdict.
//!
//! Shapes as the contract has them; times RFC 3339 UTC. It must not judge: the analysis fills it.

use jiff::Timestamp;
use serde::Serialize;

use super::Header;
use crate::block::{Block, Column, CoverageLine, Finding, Moment as MomentLine, Role, Text};
use crate::model::coverage::State;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NominationExplanation {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) pod: PodSummary,
    pub(crate) verdict: Verdict,
    pub(crate) nominations: Vec<Nomination>,
    pub(crate) binding: Option<Binding>,
    pub(crate) victims: Vec<Victim>,
    pub(crate) preempted_by: Option<PreemptedBy>,
    pub(crate) scheduler: SchedulerReport,
    pub(crate) timeline: Vec<Moment>,
    /// Nothing more can become of the Pod's placement. For a watch, as is what follows.
    #[serde(skip)]
    pub(crate) settled: bool,
    /// Until then the answer stays as it is unless something changes in the cluster; null is for ever.
    #[serde(skip)]
    pub(crate) holds_until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodSummary {
    /// Kubeconfig context; null when read from files.
    pub(crate) context: Option<String>,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) phase: Option<String>,
    pub(crate) scheduler_name: String,
    pub(crate) priority: Option<i64>,
    pub(crate) node_name: Option<String>,
    pub(crate) nominated_node_name: Option<String>,
    /// For a row of a list; as data the timeline has the time itself.
    #[serde(skip)]
    pub(crate) age: Option<String>,
}

impl NominationExplanation {
    /// Whether another one, of the same Pod at another time, tells the same. Words that count time do not matter.
    pub(crate) fn tells_the_same(&self, other: &Self) -> bool {
        let judged = |one: &Self| {
            let verdict = &one.verdict;
            let (kind, cause, certainty) = (verdict.kind, verdict.cause, verdict.certainty);
            (kind, cause, certainty, verdict.overdue)
        };
        self.pod.uid == other.pod.uid
            && judged(self) == judged(other)
            && self.nominations == other.nominations
            && self.binding == other.binding
            && self.victims == other.victims
            && self.preempted_by == other.preempted_by
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum VerdictKind {
    NotNominated,
    WaitingForVictims,
    WaitingForBinding,
    WaitingForScheduler,
    Honoured,
    Moved,
    Cleared,
    Withdrawn,
    Expired,
    Stale,
    Bypassed,
    RefusedByKubelet,
    Gated,
    NeverAttempted,
    Deleted,
    Unknown,
}

impl VerdictKind {
    /// Every kind, in the order of the contract.
    pub(crate) const ALL: [Self; 16] = [
        Self::NotNominated,
        Self::WaitingForVictims,
        Self::WaitingForBinding,
        Self::WaitingForScheduler,
        Self::Honoured,
        Self::Moved,
        Self::Cleared,
        Self::Withdrawn,
        Self::Expired,
        Self::Stale,
        Self::Bypassed,
        Self::RefusedByKubelet,
        Self::Gated,
        Self::NeverAttempted,
        Self::Deleted,
        Self::Unknown,
    ];
}

/// Proven: an object or audit line states it. Inferred: it follows from what they state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Certainty {
    Proven,
    Inferred,
}

/// How much a verdict asks for attention; `--fail-on` compares with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    None,
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    pub(crate) kind: VerdictKind,
    /// A stable word in kebab case; docs/verdicts.md lists them.
    pub(crate) cause: Option<&'static str>,
    pub(crate) certainty: Certainty,
    pub(crate) overdue: bool,
    pub(crate) summary: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) advice: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Evidence {
    pub(crate) source: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum NominationKind {
    /// The scheduler chose victims on the node.
    Preemption,
    /// The scheduler binds the Pod and waits for Permit or PreBind (KEP-5278).
    Expectation,
    /// Written by something that is not a scheduler.
    External,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Ended {
    BoundHere,
    BoundElsewhere,
    Cleared,
    Withdrawn,
    Expired,
    Replaced,
    Deleted,
}

impl Ended {
    /// How a nomination that stood ended with a binding.
    pub(crate) fn by_binding(nominated: Option<&String>, bound: Option<&String>) -> Self {
        if nominated == bound {
            Self::BoundHere
        } else {
            Self::BoundElsewhere
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Nomination {
    /// Null where the object keeps who and when, but not where.
    pub(crate) node: Option<String>,
    pub(crate) kind: NominationKind,
    pub(crate) by: Writer,
    /// Latest possible time of the write, one second fine, where it comes from managedFields.
    pub(crate) from: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) ended: Option<Ended>,
    pub(crate) ended_by: Option<String>,
    pub(crate) decision: Option<Decision>,
}

/// Who wrote: the manager is the writer's own claim, the user is proven by an audit log only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Writer {
    pub(crate) manager: Option<String>,
    pub(crate) user: Option<String>,
    /// Scheduler name, if the writer is one.
    pub(crate) scheduler: Option<String>,
}

/// A recommender's record, from the annotation `nominate.kube-placement.dev/decision`. Its own claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Decision {
    pub(crate) id: String,
    pub(crate) node: String,
    pub(crate) recommender: String,
    pub(crate) algorithm: String,
    pub(crate) algorithm_version: String,
    pub(crate) reason: String,
    pub(crate) written_at: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    /// When its writer took it back; the record stays where the field is emptied.
    pub(crate) withdrawn_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Binding {
    pub(crate) node: String,
    pub(crate) at: Option<Timestamp>,
    /// Reporter of the `Scheduled` event, or the manager that wrote `spec.nodeName` itself.
    pub(crate) by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Victim {
    /// Null where only an event tells of the victim and names no object that is still there.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) priority: Option<i64>,
    /// When its grace period ends: the time at which it is due to be gone.
    pub(crate) deletion_timestamp: Option<Timestamp>,
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) overdue: bool,
    pub(crate) cause: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PreemptedBy {
    pub(crate) uid: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) outcome: Option<String>,
}

/// What the scheduler said last, parsed; `raw` is the text as it stood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SchedulerReport {
    /// Failed attempts that events tell of; a lower bound, since events expire.
    pub(crate) attempts: i64,
    pub(crate) nodes_total: Option<u64>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) preemption: Option<String>,
    pub(crate) raw: Option<String>,
}

/// Why nodes were ruled out; counts overlap, since one node can fail for several reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Reason {
    pub(crate) text: String,
    /// Null where the scheduler gave no count.
    pub(crate) nodes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Moment {
    pub(crate) at: Option<Timestamp>,
    pub(crate) source: String,
    pub(crate) actor: String,
    pub(crate) what: String,
    pub(crate) detail: String,
}

impl Verdict {
    /// Severity for `--fail-on`.
    pub(crate) fn severity(&self) -> Severity {
        match self.kind {
            VerdictKind::Stale | VerdictKind::RefusedByKubelet | VerdictKind::NeverAttempted => {
                if self
                    .cause
                    .is_some_and(|cause| matches!(cause, "just-created" | "waiting-for-group"))
                {
                    Severity::None
                } else {
                    Severity::Error
                }
            }
            _ if self.overdue => Severity::Error,
            // A static Pod has no scheduler by design.
            VerdictKind::Bypassed if self.cause == Some("static-pod") => Severity::None,
            VerdictKind::WaitingForBinding if self.cause == Some("binding-elsewhere") => {
                Severity::Warning
            }
            VerdictKind::Moved
            | VerdictKind::Cleared
            | VerdictKind::Bypassed
            | VerdictKind::Expired => Severity::Warning,
            _ => Severity::None,
        }
    }

    /// Whether the question stayed open (exit 5).
    pub(crate) fn is_unanswered(&self) -> bool {
        self.kind == VerdictKind::Unknown
    }

    pub(super) fn role(&self) -> Role {
        match (self.kind, self.severity()) {
            (VerdictKind::Honoured, _) => Role::Good,
            (_, Severity::Error) => Role::Bad,
            (VerdictKind::Unknown, _) | (_, Severity::Warning) => Role::Warning,
            _ => Role::Plain,
        }
    }
}

pub(super) fn or_none(value: Option<&str>) -> Text {
    value.map_or_else(|| Text::plain("<none>"), Text::name)
}

fn time(value: Option<Timestamp>) -> String {
    value.map_or_else(|| "<unknown>".to_owned(), moment)
}

/// A time for people: to the second, or to the millisecond where the source is finer.
fn moment(at: Timestamp) -> String {
    if at.subsec_nanosecond() == 0 {
        at.to_string()
    } else {
        format!("{at:.3}")
    }
}

fn heading(text: &'static str) -> Block {
    Block::Heading(Text::plain(text))
}

/// The explanation top down: verdict, why, what now, then the rest.
pub(crate) fn view(answer: &NominationExplanation) -> Vec<Block> {
    let pod = &answer.pod;
    let verdict = &answer.verdict;
    let mut blocks = vec![Block::KeyValues(vec![
        ("Pod", Text::name(format!("{}/{}", pod.namespace, pod.name))),
        (
            "Phase",
            Text::plain(pod.phase.as_deref().unwrap_or("<unknown>")),
        ),
        ("Nominated", or_none(pod.nominated_node_name.as_deref())),
        ("Node", or_none(pod.node_name.as_deref())),
    ])];
    blocks.push(Block::Wide(Box::new(Block::KeyValues(vec![
        ("UID", Text::plain(pod.uid.as_str())),
        ("Scheduler", Text::name(pod.scheduler_name.as_str())),
        (
            "Priority",
            Text::plain(
                pod.priority
                    .map_or_else(|| "<none>".to_owned(), |value| value.to_string()),
            ),
        ),
        ("Now", Text::plain(answer.header.now.to_string())),
    ]))));
    blocks.push(heading("Verdict"));
    let mut extras = Vec::new();
    if let Some(cause) = verdict.cause {
        extras.push(("Cause", cause.to_owned()));
    }
    let certainty = match verdict.certainty {
        Certainty::Proven => "proven: an object or the audit log states it",
        Certainty::Inferred => "inferred from what the objects state",
    };
    extras.push(("Certainty", certainty.to_owned()));
    if verdict.overdue {
        extras.push(("Overdue", "yes".to_owned()));
    }
    blocks.push(Block::Findings(vec![Finding {
        title: Text::new(verdict.role(), format!("{:?}", verdict.kind)),
        message: verdict.summary.clone(),
        extras,
    }]));
    if !verdict.evidence.is_empty() {
        blocks.push(heading("Evidence"));
        blocks.push(Block::Notes(
            verdict
                .evidence
                .iter()
                .map(|evidence| match evidence.at {
                    Some(at) => format!("{} ({})", evidence.text, moment(at)),
                    None => evidence.text.clone(),
                })
                .collect(),
        ));
    }
    if !verdict.advice.is_empty() {
        blocks.push(heading("What now"));
        blocks.push(Block::Notes(verdict.advice.clone()));
    }
    if !answer.victims.is_empty() {
        blocks.push(heading("Victims"));
        blocks.push(victims(&answer.victims));
    }
    if let Some(preemptor) = &answer.preempted_by {
        blocks.push(heading("Preempted by"));
        blocks.push(Block::KeyValues(preempted_by(preemptor)));
    }
    if !answer.nominations.is_empty() {
        blocks.push(heading("Nominations"));
        blocks.push(nominations(&answer.nominations, answer.binding.is_some()));
    }
    if let Some(raw) = &answer.scheduler.raw {
        blocks.push(heading("Scheduler"));
        if !answer.scheduler.reasons.is_empty() {
            blocks.push(reasons(&answer.scheduler));
        }
        let mut rows = Vec::new();
        if let Some(preemption) = &answer.scheduler.preemption {
            rows.push(("Preemption", Text::plain(preemption.as_str())));
        }
        if answer.scheduler.attempts > 0 {
            rows.push((
                "Failed attempts seen",
                Text::plain(answer.scheduler.attempts.to_string()),
            ));
        }
        if !rows.is_empty() {
            blocks.push(Block::KeyValues(rows));
        }
        let message = Block::KeyValues(vec![("Message", Text::plain(raw.as_str()))]);
        let parsed = !answer.scheduler.reasons.is_empty();
        blocks.push(if parsed {
            Block::Wide(Box::new(message))
        } else {
            message
        });
    }
    if !answer.timeline.is_empty() {
        blocks.push(heading("Timeline"));
        blocks.push(Block::Timeline(
            answer
                .timeline
                .iter()
                .map(|moment| MomentLine {
                    at: moment.at,
                    actor: moment.actor.clone(),
                    what: moment.what.clone(),
                    detail: moment.detail.clone(),
                })
                .collect(),
        ));
    }
    let (missing, read): (Vec<_>, Vec<_>) = answer
        .header
        .coverage
        .iter()
        .partition(|line| line.state != State::Complete);
    if !missing.is_empty() {
        blocks.push(heading("Not observed"));
        blocks.push(coverage(&missing));
    }
    if !read.is_empty() {
        blocks.push(Block::Wide(Box::new(heading("Observed"))));
        blocks.push(Block::Wide(Box::new(coverage(&read))));
    }
    blocks
}

fn victims(victims: &[Victim]) -> Block {
    let column = |title, wide| Column { title, wide };
    Block::Table {
        columns: vec![
            column("NAMESPACE", false),
            column("NAME", false),
            column("NODE", false),
            column("PRIORITY", false),
            column("GRACE", false),
            column("DUE", false),
            column("STATE", false),
            column("UID", true),
        ],
        rows: victims
            .iter()
            .map(|victim| {
                let role = if victim.overdue {
                    Role::Bad
                } else {
                    Role::Plain
                };
                let plain = |value: Option<String>| {
                    Text::plain(value.unwrap_or_else(|| "<unknown>".to_owned()))
                };
                vec![
                    Text::plain(victim.namespace.as_str()),
                    Text::name(victim.name.as_str()),
                    victim
                        .node
                        .as_deref()
                        .map_or_else(|| Text::plain("<unknown>"), Text::name),
                    plain(victim.priority.map(|value| value.to_string())),
                    plain(
                        victim
                            .grace_period_seconds
                            .map(|seconds| format!("{seconds}s")),
                    ),
                    Text::plain(time(victim.deletion_timestamp)),
                    Text::new(role, victim.cause),
                    plain(victim.uid.clone()),
                ]
            })
            .collect(),
    }
}

fn preempted_by(preemptor: &PreemptedBy) -> Vec<(&'static str, Text)> {
    let pod = match (&preemptor.namespace, &preemptor.name) {
        (Some(namespace), Some(name)) => Text::name(format!("{namespace}/{name}")),
        _ => Text::plain("<no longer in the cluster, or not read>"),
    };
    vec![
        ("Pod", pod),
        ("UID", Text::plain(preemptor.uid.as_str())),
        ("Node", or_none(preemptor.node.as_deref())),
        (
            "Outcome",
            Text::plain(preemptor.outcome.as_deref().unwrap_or("<unknown>")),
        ),
    ]
}

fn nominations(nominations: &[Nomination], bound: bool) -> Block {
    // A bound Pod's nomination is over; where it led may still be unknown.
    let open = if bound { "<unknown>" } else { "<stands>" };
    let column = |title, wide| Column { title, wide };
    Block::Table {
        columns: vec![
            column("NODE", false),
            column("KIND", false),
            column("BY", false),
            column("FROM", false),
            column("UNTIL", true),
            column("ENDED", false),
            column("DECISION", true),
        ],
        rows: nominations
            .iter()
            .map(|nomination| {
                let ended = nomination
                    .ended
                    .map_or_else(|| open.to_owned(), |ended| format!("{ended:?}"));
                let by = nomination
                    .by
                    .scheduler
                    .as_ref()
                    .or(nomination.by.user.as_ref())
                    .or(nomination.by.manager.as_ref());
                vec![
                    nomination
                        .node
                        .as_deref()
                        .map_or_else(|| Text::plain("<not recorded>"), Text::name),
                    Text::plain(format!("{:?}", nomination.kind)),
                    Text::plain(by.map_or("<unknown>", String::as_str)),
                    Text::plain(time(nomination.from)),
                    Text::plain(
                        nomination
                            .until
                            .map_or_else(|| "<none>".to_owned(), |at| at.to_string()),
                    ),
                    Text::plain(ended),
                    Text::plain(
                        nomination
                            .decision
                            .as_ref()
                            .map_or("<none>", |decision| decision.id.as_str()),
                    ),
                ]
            })
            .collect(),
    }
}

fn reasons(report: &SchedulerReport) -> Block {
    Block::Table {
        columns: vec![
            Column {
                title: "NODES",
                wide: false,
            },
            Column {
                title: "REASON",
                wide: false,
            },
        ],
        rows: report
            .reasons
            .iter()
            .map(|reason| {
                let count = match (reason.nodes, report.nodes_total) {
                    (Some(nodes), Some(total)) => format!("{nodes} of {total}"),
                    (Some(nodes), None) => nodes.to_string(),
                    (None, None) if !reason.text.contains("plugin") => {
                        "<not recognised>".to_owned()
                    }
                    (None, _) => "<no count>".to_owned(),
                };
                vec![Text::plain(count), Text::plain(reason.text.as_str())]
            })
            .collect(),
    }
}

pub(super) fn coverage(lines: &[&crate::model::coverage::Coverage]) -> Block {
    Block::Coverage(
        lines
            .iter()
            .map(|line| {
                let role = if line.state == State::Complete {
                    Role::Dim
                } else {
                    Role::Warning
                };
                CoverageLine {
                    subject: line.named(),
                    state: Text::new(role, format!("{:?}", line.state)),
                    detail: line.detail.clone().unwrap_or_default(),
                }
            })
            .collect(),
    )
}
