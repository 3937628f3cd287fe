//! What schedulers' logs tell of one Pod: when it was tried, what was tried, and what came of it.
//!
//! A line states what the component says that it did; its time is that of the scheduler's machine. Where a log and the objects do not agree,
//! it is said, and nothing is concluded from the log. It must not judge.

use jiff::{SignedDuration, Timestamp};

use super::index::Index;
use crate::answer::nomination_explanation::{Binding, Evidence, Moment};
use crate::model::coverage::{Coverage, State};
use crate::model::pod::Pod;
use crate::model::scheduler_line::Said;

/// How far the clocks of two machines may be apart, and how long a scheduler may take to learn of a write.
const SLACK: SignedDuration = SignedDuration::from_secs(1);

/// The line of a binding comes within this time of the binding, unless clock or zone are others.
const SAME_CLOCK: SignedDuration = SignedDuration::from_secs(5);

const ACTOR: &str = "scheduler's log";

/// Lines about one incarnation, oldest first.
#[derive(Debug, Default)]
pub(super) struct Attempts<'w> {
    lines: Vec<Line<'w>>,
    /// What the log says against the objects.
    dispute: Option<Dispute>,
}

#[derive(Debug)]
struct Dispute {
    source: String,
    what: String,
}

#[derive(Debug, Clone, Copy)]
struct Line<'w> {
    at: Timestamp,
    said: &'w Said,
    source: &'w str,
}

/// When a hint was written, seen from an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// The scheduler had it when the attempt began.
    InTime,
    /// The attempt had begun.
    Late,
    /// Too close to tell, or the log does not tell when the attempt began.
    Unknown,
}

/// One attempt: from its first line to its last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a, 'w> {
    all: &'a Attempts<'w>,
    lines: &'a [Line<'w>],
}

impl<'w> Attempts<'w> {
    /// Those of a Pod, from its creation to that of the next Pod of its name.
    pub(super) fn of(
        index: &Index<'w>,
        pod: &Pod,
        binding: Option<&Binding>,
        now: Timestamp,
    ) -> Self {
        let mut lines: Vec<Line<'w>> = index
            .world
            .lines_about(&pod.name)
            .filter_map(|(line, source)| {
                let at = line.at.near(now)?;
                let said = &line.said;
                Some(Line { at, said, source })
            })
            .collect();
        if lines.is_empty() {
            return Self::default();
        }
        let next = index.successor(pod);
        lines.retain(|line| {
            pod.created.is_none_or(|created| line.at >= created)
                && next.is_none_or(|next| line.at < next)
        });
        lines.sort_by_key(|line| (line.at, line.said));
        let mut attempts = Self {
            lines,
            dispute: None,
        };
        attempts.dispute = attempts.dispute(binding);
        attempts
    }

    /// What does not agree with where and when the objects say that it was bound.
    fn dispute(&self, binding: Option<&Binding>) -> Option<Dispute> {
        let (line, said_node) = self.lines.iter().rev().find_map(|line| match line.said {
            Said::Bound { node, .. } => Some((line, node)),
            _ => None,
        })?;
        let what = match binding {
            None => format!(
                "at {} it was bound to {said_node}, which no object shows",
                line.at
            ),
            Some(binding) if binding.node != *said_node => format!(
                "it was bound to {said_node}, and the objects say {}: the log is of another cluster, or of another Pod of this name",
                binding.node
            ),
            Some(binding) => {
                let apart = line.at.duration_since(binding.at?);
                if apart.abs() <= SAME_CLOCK {
                    return None;
                }
                format!(
                    "it was bound {} s {} than the objects say: its clock or its zone is another one, and its times are not compared",
                    apart.abs().as_secs(),
                    if apart.is_negative() {
                        "earlier"
                    } else {
                        "later"
                    }
                )
            }
        };
        let source = line.source.to_owned();
        Some(Dispute { source, what })
    }

    /// That the log says something else than the objects, if it does.
    pub(super) fn coverage(&self) -> Option<Coverage> {
        let dispute = self.dispute.as_ref()?;
        Some(Coverage {
            source: dispute.source.clone(),
            subject: "scheduler's log".to_owned(),
            state: State::Partial,
            detail: Some(format!(
                "it says that {}; nothing is concluded from it",
                dispute.what
            )),
            location: None,
        })
    }

    /// What something may be concluded from.
    fn trusted(&self) -> &[Line<'w>] {
        if self.dispute.is_some() {
            &[]
        } else {
            &self.lines
        }
    }

    /// Whether a scheduler tried it at all.
    pub(super) fn is_tried(&self) -> bool {
        self.trusted()
            .iter()
            .any(|line| !matches!(line.said, Said::Update))
    }

    /// Why the last attempt that told it found no node.
    pub(super) fn last_failure(&self) -> Option<&'w str> {
        self.trusted()
            .iter()
            .rev()
            .find_map(|line| match line.said {
                Said::NoFit { why } | Said::Error { why } => Some(why.as_str()),
                _ => None,
            })
    }

    /// The attempt that bound it.
    pub(super) fn binding(&self) -> Option<Attempt<'_, 'w>> {
        let is_bound = |line: &Line<'_>| matches!(line.said, Said::Bound { .. });
        let end = self.trusted().iter().rposition(is_bound)?;
        self.up_to(end)
    }

    /// The last attempt that is told of.
    pub(super) fn last(&self) -> Option<Attempt<'_, 'w>> {
        // What is written into the field is told after the outcome.
        let is_part =
            |line: &Line<'_>| !matches!(line.said, Said::Update | Said::Nominating { .. });
        let end = self.trusted().iter().rposition(is_part)?;
        self.up_to(end)
    }

    /// The attempt that a line is part of: from where it began, or else from the end of the one before.
    fn up_to(&self, end: usize) -> Option<Attempt<'_, 'w>> {
        let before = self.trusted().get(..end)?;
        let start = before
            .iter()
            .rposition(|line| line.said.is_first() || line.said.is_last())
            .map_or(0, |at| {
                let is_first = before.get(at).is_some_and(|line| line.said.is_first());
                if is_first { at } else { at + 1 }
            });
        let lines = self.trusted().get(start..=end)?;
        Some(Attempt { all: self, lines })
    }

    /// What the scheduler last wrote into the field before it bound the Pod.
    fn nominating(&self) -> Option<(&'w str, &Line<'w>)> {
        let lines = self.trusted();
        let is_bound = |line: &Line<'_>| matches!(line.said, Said::Bound { .. });
        let end = lines.iter().rposition(is_bound)?;
        let before = lines.get(..end)?.iter().rev();
        before.into_iter().find_map(|line| match line.said {
            Said::Nominating { node } => Some((node.as_str(), line)),
            _ => None,
        })
    }

    /// The node that the scheduler last wrote into the field before it bound the Pod.
    pub(super) fn nominated_before_binding(&self) -> Option<&'w str> {
        self.nominating().map(|(node, _)| node)
    }

    /// What shows that the scheduler nominated it to this node before it bound it.
    pub(super) fn nominating_evidence(&self, node: &str) -> Option<Evidence> {
        let (_, line) = self.nominating().filter(|(said, _)| *said == node)?;
        Some(Evidence {
            source: line.source.to_owned(),
            at: Some(line.at),
            text: format!("{ACTOR}: it writes {node} into status.nominatedNodeName"),
        })
    }

    /// The story in moments: one for each line, and one for those that say the same again.
    pub(super) fn moments(&self) -> Vec<Moment> {
        let mut moments: Vec<(Moment, u32)> = Vec::new();
        let mut open = false;
        for (at, line) in self.lines.iter().enumerate() {
            // An attempt's outcome tells of it.
            if line.said.is_first() {
                open = self.lines.get(at + 1..).is_some_and(|rest| {
                    !rest
                        .iter()
                        .any(|line| !line.said.is_first() && !matches!(line.said, Said::Update))
                });
            }
            let (what, detail) = match line.said {
                Said::Update => continue,
                Said::Attempt if !open => continue,
                Said::Attempt => ("Attempted", String::new()),
                Said::NominatedNodeFailed { node, why } => {
                    ("NominatedNodeFailed", format!("{node}: {why}"))
                }
                Said::NoFit { why } => ("NoNodeFits", why.clone()),
                Said::Error { why } => ("AttemptFailed", why.clone()),
                Said::Nominating { node } => ("Nominating", format!("to {node}")),
                Said::Bound { node, evaluated } => {
                    ("Bound", format!("to {node}, evaluatedNodes={evaluated}"))
                }
            };
            if let Some((last, count)) = moments.last_mut()
                && last.what == what
                && last.detail == detail
            {
                last.at = Some(line.at);
                *count += 1;
                continue;
            }
            let moment = Moment {
                at: Some(line.at),
                source: line.source.to_owned(),
                actor: ACTOR.to_owned(),
                what: what.to_owned(),
                detail,
            };
            moments.push((moment, 1));
        }
        let counted = |(mut moment, count): (Moment, u32)| {
            if count > 1 {
                let gap = if moment.detail.is_empty() { "" } else { " " };
                moment.detail = format!("{}{gap}(x{count})", moment.detail);
            }
            moment
        };
        moments.into_iter().map(counted).collect()
    }
}

impl<'w> Attempt<'_, 'w> {
    /// When it began, where the log's verbosity tells.
    pub(super) fn began(&self) -> Option<Timestamp> {
        let first = self.lines.first()?;
        first.said.is_first().then_some(first.at)
    }

    /// The nominated node that could not be evaluated.
    pub(super) fn failed_node(&self) -> Option<&'w str> {
        self.lines.iter().find_map(|line| match line.said {
            Said::NominatedNodeFailed { node, .. } => Some(node.as_str()),
            _ => None,
        })
    }

    /// The node that it was bound to, and how many nodes were evaluated for that.
    pub(super) fn bound(&self) -> Option<(&'w str, u32)> {
        self.lines.iter().find_map(|line| match line.said {
            Said::Bound { node, evaluated } => Some((node.as_str(), *evaluated)),
            _ => None,
        })
    }

    /// When a hint was written, seen from this attempt. Times of objects are a second fine.
    pub(super) fn hint(&self, written: Option<Timestamp>) -> Hint {
        let (Some(written), Some(began)) = (written, self.began()) else {
            return Hint::Unknown;
        };
        if written > began {
            return Hint::Late;
        }
        let is_whole = written.subsec_nanosecond() == 0;
        let latest = if is_whole {
            written.saturating_add(SLACK).unwrap_or(written)
        } else {
            written
        };
        let has_learned =
            self.all.trusted().iter().any(|line| {
                matches!(line.said, Said::Update) && (latest..=began).contains(&line.at)
            });
        let margin = began.duration_since(latest);
        if has_learned || margin >= SLACK {
            Hint::InTime
        } else {
            Hint::Unknown
        }
    }

    /// What it states, line by line.
    pub(super) fn evidence(&self) -> impl Iterator<Item = Evidence> {
        self.lines.iter().filter_map(|line| {
            let text = match line.said {
                Said::Update | Said::Nominating { .. } => return None,
                Said::Attempt => "an attempt to schedule it began".to_owned(),
                Said::NominatedNodeFailed { node, why } => {
                    format!("evaluation failed on the nominated node {node}: {why}")
                }
                Said::NoFit { why } => format!("no node fits: {why}"),
                Said::Error { why } => format!("the attempt failed: {why}"),
                Said::Bound { node, evaluated: 1 } => format!(
                    "bound to {node}, evaluatedNodes=1: where the nominated node fits, no other is looked at"
                ),
                Said::Bound { node, evaluated } => {
                    format!("bound to {node}, evaluatedNodes={evaluated}")
                }
            };
            Some(Evidence {
                source: line.source.to_owned(),
                at: Some(line.at),
                text: format!("{ACTOR}: {text}"),
            })
        })
    }
}

impl Said {
    /// Whether it begins an attempt.
    fn is_first(&self) -> bool {
        matches!(self, Self::Attempt)
    }

    /// Whether an attempt ends with it; what follows may be said a moment later.
    fn is_last(&self) -> bool {
        matches!(
            self,
            Self::NoFit { .. } | Self::Error { .. } | Self::Bound { .. }
        )
    }
}
