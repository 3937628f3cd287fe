//! The answer of `features explain`: which declared features a Pod or its update requires, and what the nodes give.
//!
//! Shapes as the contract has them. It must not judge: the analysis fills it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Header;
use super::declared_features::Freshness;
use super::gate_skew::{Known, Severity};
use super::nomination_explanation::Evidence;
use super::parts::{column, heading, not_seen, some};
use crate::block::{Block, Column, Finding, Role, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeatureExplanation {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) pod: PodSummary,
    pub(crate) verdict: Verdict,
    pub(crate) requirements: Vec<Requirement>,
    /// Of an unbound Pod all nodes, of a bound one its own; none where nothing is required.
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) scheduler: SchedulerReport,
    pub(crate) api_server: Enforcer,
    /// What admission makes of the update; null where none is asked about.
    pub(crate) update: Option<UpdateReport>,
    /// What the API server itself said to a dry run; null where it was not asked.
    pub(crate) server: Option<ServerWord>,
    /// Other Pods of its node that require what the node does not have.
    pub(crate) at_risk: Vec<PodAtRisk>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodSummary {
    /// Kubeconfig context; null when read from files.
    pub(crate) context: Option<String>,
    /// `Pod`, or what makes it, of which the name is.
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Null for what was never created.
    pub(crate) uid: Option<String>,
    pub(crate) phase: Option<String>,
    pub(crate) scheduler_name: String,
    pub(crate) node_name: Option<String>,
    pub(crate) bound_by: Option<BoundBy>,
}

/// Who put the Pod on its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum BoundBy {
    /// Nobody owns `spec.nodeName`: it came by a binding.
    Binding,
    /// Somebody wrote `spec.nodeName`, or the kubelet made the Pod itself: no scheduler was asked.
    Hand,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum For {
    Scheduling,
    Update,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Requirement {
    pub(crate) feature: &'static str,
    pub(crate) because: Vec<Because>,
    pub(crate) r#for: For,
    /// The first and last minor that know it; the last is null where the newest known does.
    pub(crate) since: String,
    pub(crate) until: Option<String>,
    /// Whether who should see to it does: the scheduler, or the API server for an update.
    pub(crate) enforced: Answered,
    /// What that rests on.
    pub(crate) detail: String,
}

/// The field that makes it so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Because {
    pub(crate) field: String,
    pub(crate) value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Answered {
    Yes,
    No,
    Unknown,
}

impl From<Option<bool>> for Answered {
    fn from(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeRow {
    pub(crate) name: String,
    pub(crate) pool: Option<String>,
    pub(crate) version: Option<String>,
    /// It lists all that is required, as schedulers and API servers look at it.
    pub(crate) satisfies: bool,
    /// What is required and not listed.
    pub(crate) missing: Vec<&'static str>,
    /// What is required, listed, and cannot have been declared by its kubelet.
    pub(crate) unproven: Vec<&'static str>,
    /// Whether the list is left over; null where that is not known.
    pub(crate) stale: Option<bool>,
    pub(crate) freshness: Freshness,
    /// Why, in the words of `DeclaredFeatures`.
    pub(crate) cause: &'static str,
    pub(crate) kubelet: KubeletDoes,
}

/// What a kubelet does with a Pod that comes to it, or that it finds when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum KubeletDoes {
    /// It declares all that is required.
    Runs,
    /// It looks at requirements and lacks one: `PodFeatureUnsupported`.
    Refuses,
    /// It does not know the requirement, or looks at none: the Pod runs without the feature.
    Ignores,
    Unknown,
}

impl KubeletDoes {
    fn word(self) -> &'static str {
        match self {
            Self::Runs => "runs it",
            Self::Refuses => "refuses it",
            Self::Ignores => "runs it without",
            Self::Unknown => "not known",
        }
    }
}

/// Who sees to requirements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Enforcer {
    /// Minors that it is, or may be of.
    pub(crate) versions: Vec<String>,
    pub(crate) known: Known,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SchedulerReport {
    #[serde(flatten)]
    pub(crate) enforcer: Enforcer,
    pub(crate) nodes_total: Option<u64>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) raw: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Reason {
    pub(crate) text: String,
    pub(crate) nodes: Option<u64>,
    /// What the reason is about, where it is a lack of declared features: named by the scheduler, or by the Pod's requirements.
    pub(crate) features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UpdateReport {
    pub(crate) admitted: Answered,
    /// The API server's sentence; null where it lets the update pass, or nobody knows.
    pub(crate) message: Option<String>,
}

/// A dry run, which stores nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ServerWord {
    /// `Create` or `Resize`.
    pub(crate) asked: &'static str,
    /// Unknown where no answer came.
    pub(crate) accepted: Answered,
    /// The HTTP status of a refusal.
    pub(crate) code: Option<u16>,
    pub(crate) message: Option<String>,
    /// Features that the object which the server would store does not require any more: it drops fields of gates that are off.
    pub(crate) dropped: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct PodAtRisk {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) features: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum VerdictKind {
    Satisfied,
    Unsatisfied,
    NothingRequired,
    RefusedByAdmission,
    RefusedByKubelet,
    SilentlyIgnored,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) kind: VerdictKind,
    /// A stable word in kebab case; docs/declared-features.md lists them.
    pub(crate) cause: &'static str,
    pub(crate) summary: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) advice: Vec<String>,
}

impl Verdict {
    /// Severity for `--fail-on`.
    pub(crate) fn severity(&self) -> Option<Severity> {
        match self.kind {
            VerdictKind::Unsatisfied
            | VerdictKind::RefusedByAdmission
            | VerdictKind::RefusedByKubelet => Some(Severity::Error),
            VerdictKind::SilentlyIgnored => Some(Severity::Warning),
            VerdictKind::Satisfied | VerdictKind::NothingRequired | VerdictKind::Unknown => None,
        }
    }

    pub(super) fn role(&self) -> Role {
        match self.kind {
            VerdictKind::Satisfied | VerdictKind::NothingRequired => Role::Good,
            VerdictKind::SilentlyIgnored | VerdictKind::Unknown => Role::Warning,
            _ => Role::Bad,
        }
    }
}

fn columns<const N: usize>(titles: [&'static str; N]) -> Vec<Column> {
    titles.map(column).into()
}

fn or_none(names: &[String]) -> Text {
    if names.is_empty() {
        Text::new(Role::Dim, "<none>")
    } else {
        Text::plain(names.join(","))
    }
}

fn requirements(requirements: &[Requirement]) -> Block {
    let row = |requirement: &Requirement| {
        let fields = requirement.because.iter().map(|it| it.field.clone());
        let (for_what, who) = match requirement.r#for {
            For::Scheduling => ("scheduling", "the scheduler"),
            For::Update => ("this update", "the API server"),
        };
        let enforced = match requirement.enforced {
            Answered::Yes => format!("{who} checks it"),
            Answered::No => format!("{who} does not check it"),
            Answered::Unknown => format!("whether {who} checks it is not known"),
        };
        Finding {
            title: Text::name(requirement.feature),
            message: format!(
                "required for {for_what}; {enforced}: {}",
                requirement.detail
            ),
            extras: vec![("Because", some(&fields.collect::<Vec<_>>()))],
        }
    };
    Block::Findings(requirements.iter().map(row).collect())
}

/// Nodes that are alike in a row.
fn nodes(nodes: &[NodeRow]) -> Block {
    let mut groups: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for node in nodes {
        let lacks: Vec<String> = node.missing.iter().map(|&name| name.to_owned()).collect();
        let unproven: Vec<String> = node.unproven.iter().map(|&name| name.to_owned()).collect();
        let key = (
            !node.satisfies,
            lacks,
            unproven,
            &node.version,
            node.kubelet,
        );
        groups.entry(key).or_default().push(node.name.clone());
    }
    let rows = groups
        .iter()
        .map(|((lacking, lacks, unproven, version, kubelet), names)| {
            let (role, word) = if *lacking {
                (Role::Bad, "no")
            } else if unproven.is_empty() {
                (Role::Good, "yes")
            } else {
                (Role::Warning, "stale")
            };
            vec![
                Text::new(role, word),
                Text::plain(names.len().to_string()),
                version
                    .as_deref()
                    .map_or_else(|| Text::new(Role::Dim, "<unknown>"), Text::plain),
                or_none(lacks),
                or_none(unproven),
                Text::plain(kubelet.word()),
                Text::plain(some(names)),
            ]
        });
    Block::Rows {
        columns: columns([
            "DECLARED", "COUNT", "VERSION", "LACKS", "STALE", "KUBELET", "NODES",
        ]),
        rows: rows.collect(),
    }
}

/// The verdict, what it rests on, then what is required and what the nodes give.
pub(crate) fn view(answer: &FeatureExplanation) -> Vec<Block> {
    let pod = &answer.pod;
    let verdict = &answer.verdict;
    let name = format!("{}/{}", pod.namespace, pod.name);
    let mut facts = vec![(pod.kind, Text::name(name))];
    if let Some(node) = &pod.node_name {
        let by_hand = match pod.bound_by {
            Some(BoundBy::Hand) => " (no scheduler was asked)",
            _ => "",
        };
        facts.push(("Node", Text::name(format!("{node}{by_hand}"))));
    }
    facts.push((
        "Verdict",
        Text::new(
            verdict.role(),
            format!("{:?} ({})", verdict.kind, verdict.cause),
        ),
    ));
    let mut blocks = vec![Block::KeyValues(facts)];
    blocks.push(Block::Notes(vec![verdict.summary.clone()]));
    if let Some(message) = answer.update.as_ref().and_then(|it| it.message.clone()) {
        blocks.push(heading("The API server would say"));
        blocks.push(Block::Notes(vec![message]));
    }
    if let Some(server) = &answer.server {
        let said = match server.accepted {
            Answered::Yes if server.dropped.is_empty() => "accepted".to_owned(),
            Answered::Yes => format!("accepted, without {}", server.dropped.join(", ")),
            Answered::No => format!("refused: {}", server.message.as_deref().unwrap_or_default()),
            Answered::Unknown => format!(
                "no answer: {}",
                server.message.as_deref().unwrap_or_default()
            ),
        };
        blocks.push(heading("The API server says to a dry run"));
        blocks.push(Block::Notes(vec![said]));
    }
    if !answer.requirements.is_empty() {
        blocks.push(heading("Requires"));
        blocks.push(requirements(&answer.requirements));
    }
    if !answer.nodes.is_empty() {
        blocks.push(heading("Nodes"));
        blocks.push(nodes(&answer.nodes));
    }
    let lacking = answer.scheduler.reasons.iter();
    let lacking: Vec<String> = lacking
        .filter(|reason| !reason.features.is_empty())
        .map(|reason| {
            let count = reason
                .nodes
                .map_or_else(String::new, |count| format!("{count} "));
            format!("{count}{}: {}", reason.text, reason.features.join(", "))
        })
        .collect();
    if !lacking.is_empty() {
        blocks.push(heading("The scheduler says"));
        blocks.push(Block::Notes(lacking));
    }
    if !answer.at_risk.is_empty() {
        blocks.push(heading("Pods that share the risk"));
        let row = |pod: &PodAtRisk| {
            let features = pod.features.join(",");
            vec![
                Text::plain(pod.namespace.as_str()),
                Text::name(pod.name.as_str()),
                Text::plain(features),
            ]
        };
        blocks.push(Block::Rows {
            columns: columns(["NAMESPACE", "POD", "REQUIRES"]),
            rows: answer.at_risk.iter().map(row).collect(),
        });
    }
    if !verdict.evidence.is_empty() {
        blocks.push(heading("Evidence"));
        let lines = verdict.evidence.iter().map(|it| it.text.clone());
        blocks.push(Block::Notes(lines.collect()));
    }
    if !verdict.advice.is_empty() {
        blocks.push(heading("Advice"));
        blocks.push(Block::Notes(verdict.advice.clone()));
    }
    blocks.extend(not_seen(&answer.header.coverage));
    blocks
}
