//! One Pod's story: all that the World knows of its placement, gathered once for the verdict rules.
//!
//! It states what happened; what that means is for the rules in `verdict/` to say.

use jiff::{SignedDuration, Timestamp};

use super::account::{self, Account};
use super::attempts::Attempts;
use super::index::{Index, Preemption};
use super::preempted_note::{self, Preemptor};
use super::{message, nominations, timeline, victims};
use crate::answer::nomination_explanation::{
    Binding, Certainty, Ended, Evidence, Moment, Nomination, NominationKind, PreemptedBy,
    SchedulerReport, Victim,
};
use crate::model::claim::Claim;
use crate::model::component::ComponentKind;
use crate::model::event::Event;
use crate::model::pod::{FieldOwner, OwnedField, Pod, PodName};
use crate::model::version::Minor;
use crate::model::want::Want;
use crate::model::world::{Sourced, World};
use crate::model::write::{Action, Write};

/// Time without a preemption that parts two of them.
const LOOP_GAP: SignedDuration = SignedDuration::from_secs(5);

/// Preemptions at different times, after which a Pod that is still pending is said to loop.
pub(super) const LOOP_ROUNDS: u8 = 3;

/// Reporters whose `Nominated` and `FailedScheduling` events are not a scheduler's.
const AUTOSCALERS: &[&str] = &["karpenter", "cluster-autoscaler"];

/// The first minor whose API server empties the field with the binding, so that the owner's entry stays behind.
const LEAVES_A_TRACE: Minor = Minor(35);

/// The gate by which the binding itself empties the field, so that its owner's entry stays (KEP-5278).
const CLEARS_WITH_THE_BINDING: &str = "ClearingNominatedNodeNameAfterBinding";

pub(super) struct Story<'w> {
    pub(super) world: &'w World,
    pub(super) index: &'w Index<'w>,
    pub(super) pod: &'w Pod,
    pub(super) source: &'w str,
    pub(super) now: Timestamp,
    /// What schedulers' logs tell, if some were read.
    pub(super) attempts: Attempts<'w>,
    /// What an audit log witnessed, if one was read.
    pub(super) account: Option<Account>,
    /// Oldest first.
    pub(super) nominations: Vec<Nomination>,
    pub(super) binding: Option<Binding>,
    pub(super) victims: Vec<Victim>,
    pub(super) preempted_by: Option<PreemptedBy>,
    pub(super) report: SchedulerReport,
    pub(super) timeline: Vec<Moment>,
}

impl<'w> Story<'w> {
    pub(super) fn of(index: &'w Index<'w>, pod: &'w Sourced<Box<Pod>>, now: Timestamp) -> Self {
        let mut story = Self {
            world: index.world,
            index,
            pod: &pod.value,
            source: &pod.source,
            now,
            attempts: Attempts::default(),
            account: None,
            nominations: Vec::new(),
            binding: None,
            victims: Vec::new(),
            preempted_by: None,
            report: SchedulerReport::default(),
            timeline: Vec::new(),
        };
        story.binding = story.find_binding();
        story.attempts = Attempts::of(index, story.pod, story.binding.as_ref(), now);
        story.report = story.find_report();
        story.account = account::of(&story);
        story.nominations = nominations::find(&story);
        story.victims = victims::find(&story);
        story.preempted_by = story.find_preemptor();
        story.timeline = timeline::of(&story);
        story
    }

    pub(super) fn last_nomination(&self) -> Option<&Nomination> {
        self.nominations.last()
    }

    /// The nomination that stands: the field is set and the Pod is not bound.
    pub(super) fn standing(&self) -> Option<&Nomination> {
        self.last_nomination()
            .filter(|nomination| nomination.ended.is_none() && self.binding.is_none())
    }

    /// Whether the Pod is no more: what is told of it is its last state.
    pub(super) fn is_gone(&self) -> bool {
        self.world.is_gone(&self.pod.uid)
    }

    /// Whether it is known by what was asked for alone.
    pub(super) fn is_draft(&self) -> bool {
        self.world.is_draft(&self.pod.uid)
    }

    /// The accepted request of an audit log that deleted it before anybody bound it.
    pub(super) fn unbound_deletion(&self) -> Option<&'w Sourced<Write>> {
        let mut accepted = self.index.writes(self.pod).into_iter();
        let mut accepted = accepted.by_ref().filter(|write| write.value.is_accepted());
        accepted
            .find(|write| matches!(write.value.action, Action::Bind { .. } | Action::Delete))
            .filter(|write| write.value.action == Action::Delete && self.pod.node.is_none())
    }

    pub(super) fn evidence(&self, at: Option<Timestamp>, text: impl Into<String>) -> Evidence {
        Evidence {
            source: self.source.to_owned(),
            at,
            text: text.into(),
        }
    }

    /// What an audit log states of the last nomination.
    pub(super) fn witnessed(&self) -> &[Evidence] {
        self.account
            .as_ref()
            .map_or(&[], |account| &account.evidence)
    }

    /// Whether an audit log tells of every write since the Pod's creation, so that no trace need be looked for.
    pub(super) fn is_accounted_for(&self) -> bool {
        self.account
            .as_ref()
            .is_some_and(|account| account.is_whole)
    }

    /// Proven where an audit log states it, else Inferred.
    pub(super) fn certainty(&self) -> Certainty {
        match &self.account {
            Some(account) if account.is_sure && !account.evidence.is_empty() => Certainty::Proven,
            _ => Certainty::Inferred,
        }
    }

    /// `-n NAMESPACE` and name for a command, quoted for a shell.
    pub(super) fn pod_argument(&self) -> String {
        format!(
            "{} -n {}",
            shell(&self.pod.name.name),
            shell(&self.pod.name.namespace)
        )
    }

    pub(super) fn age(&self, since: Option<Timestamp>) -> Option<SignedDuration> {
        since.map(|since| self.now.duration_since(since))
    }

    /// Events about this incarnation, in order of their last occurrence.
    pub(super) fn events(&self) -> Vec<&'w Sourced<Event>> {
        let mut events: Vec<_> = self.world.events_about(&self.pod.uid).collect();
        events.sort_by(|a, b| (a.value.last, &a.value.name).cmp(&(b.value.last, &b.value.name)));
        events
    }

    /// Events about this incarnation that a scheduler wrote.
    pub(super) fn scheduler_events(&self) -> impl Iterator<Item = &'w Event> {
        self.events()
            .into_iter()
            .map(|event| &event.value)
            .filter(|event| is_by_scheduler(event, self.pod))
    }

    /// `Preempted` events whose note says that this Pod took the room, oldest first.
    pub(super) fn preemptions(&self) -> Vec<&'w Preemption<'w>> {
        self.index.preemptions(self.pod)
    }

    /// Why the server leaves no trace of a nomination on a bound Pod, if it does not.
    pub(super) fn traceless(&self) -> Option<String> {
        traceless(self.world)
    }

    /// Whether it preempted again and again and is still pending.
    ///
    /// One preemption writes an event for each victim within moments; a gap begins another.
    pub(super) fn preempts_in_a_loop(&self) -> bool {
        let times: Vec<Timestamp> = self
            .preemptions()
            .iter()
            .filter_map(|(event, _)| event.value.first)
            .collect();
        let gaps = times
            .iter()
            .zip(times.iter().skip(1))
            .filter(|(one, next)| next.duration_since(**one) >= LOOP_GAP)
            .count();
        !times.is_empty() && gaps + 1 >= usize::from(LOOP_ROUNDS)
    }

    /// The managedFields entry that owns `status.nominatedNodeName`: who wrote it last.
    pub(super) fn nominator(&self) -> Option<&'w FieldOwner> {
        self.pod
            .managed_fields
            .iter()
            .flatten()
            .find(|owner| owner.owns(OwnedField::NominatedNode))
    }

    /// Whether the manager that wrote the field is a scheduler, by what else it wrote.
    ///
    /// A manager's name is the base name of the writer's binary, independent of the profile (observed, 1.37.2).
    pub(super) fn is_scheduler(&self, owner: &FieldOwner) -> bool {
        owner.owns(OwnedField::ScheduledMessage)
            || owner.manager == "kube-scheduler"
            || self
                .index
                .reports_as(&self.pod.scheduler_name, &owner.manager)
    }

    /// Autoscalers' forecasts, which they call "Nominated"; in order of time.
    pub(super) fn predictions(&self) -> impl Iterator<Item = &'w Event> {
        let by_autoscaler = |event: &&'w Event| {
            event.reason == "Nominated" && event.reporter != self.pod.scheduler_name
        };
        let events: Vec<&'w Event> = self
            .events()
            .into_iter()
            .map(|event| &event.value)
            .collect();
        events
            .into_iter()
            .filter(by_autoscaler)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The node for which a scheduler prepares a volume: selected-node of a claim that is not bound yet.
    pub(super) fn prepared_node(&self) -> Option<&'w str> {
        self.claims()
            .find(|claim| claim.phase.as_deref() != Some("Bound"))
            .and_then(|claim| claim.selected_node.as_deref())
    }

    /// Whether all of the Pod's claims were read, so that [`Self::prepared_node`] means something.
    pub(super) fn claims_are_read(&self) -> bool {
        self.pod.claims.iter().all(|claim| {
            self.world.is_complete(&Want::Claim(PodName {
                namespace: self.pod.name.namespace.clone(),
                name: claim.clone(),
            }))
        })
    }

    /// Whether the scheduler's last word is that what had to be ready before a binding was not.
    pub(super) fn prebind_failed(&self) -> bool {
        let raw = self.report.raw.as_deref().unwrap_or_default();
        raw.contains("running PreBind plugin") || raw.contains("prebind plugin")
    }

    /// The node that a scheduler was preparing when an outsider wrote another one; it does not turn back (observed).
    pub(super) fn overwritten_expectation(&self) -> Option<&str> {
        match self.account.as_ref()?.nominations.as_slice() {
            [.., earlier, last]
                if earlier.kind == NominationKind::Expectation
                    && earlier.ended == Some(Ended::Replaced)
                    && last.kind == NominationKind::External =>
            {
                earlier.node.as_deref()
            }
            _ => None,
        }
    }

    /// Claims of this Pod that were seen.
    pub(super) fn claims(&self) -> impl Iterator<Item = &'w Claim> {
        let namespace = &self.pod.name.namespace;
        let name = move |claim: &String| PodName {
            namespace: namespace.clone(),
            name: claim.clone(),
        };
        let world = self.world;
        self.pod
            .claims
            .iter()
            .filter_map(move |claim| world.claim(&name(claim)))
    }

    fn find_binding(&self) -> Option<Binding> {
        let bound = self
            .index
            .writes(self.pod)
            .into_iter()
            .map(|write| &write.value)
            .rfind(|write| write.is_accepted() && matches!(write.action, Action::Bind { .. }));
        let target = bound.and_then(|write| match &write.action {
            Action::Bind { node } => node.clone(),
            _ => None,
        });
        // The answer to a binding is no Pod: the last one that a log holds may be older.
        let node = self.pod.node.clone().or(target)?;
        let scheduled = self
            .scheduler_events()
            .filter(|event| event.reason == "Scheduled")
            .last();
        let creator = self
            .pod
            .managed_fields
            .iter()
            .flatten()
            .find(|owner| owner.owns(OwnedField::NodeName));
        let condition = self
            .pod
            .scheduled()
            .filter(|condition| condition.status == "True");
        Some(Binding {
            node,
            at: bound
                .and_then(|write| write.at)
                .or(scheduled.and_then(|event| event.last))
                .or(condition.and_then(|condition| condition.last_transition)),
            by: scheduled
                .map(|event| event.reporter.clone())
                .or(bound.map(|write| write.user.clone()))
                .or(creator.map(|owner| owner.manager.clone())),
        })
    }

    fn find_report(&self) -> SchedulerReport {
        let failures: Vec<&Event> = self
            .scheduler_events()
            .filter(|event| event.reason == "FailedScheduling")
            .collect();
        // The condition is whole and lasts; the event's note is cut at 1024 bytes and expires.
        let condition = self
            .pod
            .scheduled()
            .filter(|condition| condition.reason.as_deref() != Some("SchedulingGated"))
            .and_then(|condition| condition.message.clone());
        let raw = condition
            .or_else(|| failures.last().map(|event| event.note.clone()))
            .or_else(|| self.attempts.last_failure().map(str::to_owned));
        let parsed = raw.as_deref().map(message::parse).unwrap_or_default();
        SchedulerReport {
            attempts: failures.iter().map(|event| event.count).sum(),
            nodes_total: parsed.nodes_total,
            reasons: parsed.reasons,
            preemption: parsed.preemption,
            raw,
        }
    }

    /// Whether this Pod is itself a victim, and of whom.
    fn find_preemptor(&self) -> Option<PreemptedBy> {
        let event = self
            .events()
            .into_iter()
            .rfind(|event| event.value.reason == "Preempted")?;
        let note = preempted_note::parse(&event.value.note)?;
        let uid = match note.preemptor {
            Preemptor::Pod(uid) | Preemptor::PodGroup(uid) => uid,
            Preemptor::Named(_) | Preemptor::Unnamed => return None,
        };
        let preemptor = self.world.pod(&uid).map(|pod| &pod.value);
        let outcome = preemptor.map(|pod| match (&pod.node, &note.node) {
            (Some(bound), Some(nominated)) if bound == nominated => "BoundHere".to_owned(),
            (Some(_), _) => "BoundElsewhere".to_owned(),
            (None, _) => "Pending".to_owned(),
        });
        let preemptor = preemptor.map(|pod| &pod.name).or(event
            .value
            .related
            .as_ref()
            .map(|related| &related.name));
        Some(PreemptedBy {
            namespace: preemptor.map(|name| name.namespace.clone()),
            name: preemptor.map(|name| name.name.clone()),
            node: note.node,
            outcome,
            uid: uid.0.to_string(),
        })
    }
}

/// What a line of an audit log states, with its own source and time.
pub(super) fn write_evidence(write: &Sourced<Write>, what: &str) -> Evidence {
    Evidence {
        source: write.source.to_string(),
        at: write.value.at,
        text: format!("audit log: user {} {what}", write.value.actor()),
    }
}

/// Why a server leaves no trace of a nomination on a bound Pod, if it does not.
///
/// The gate as it was observed wins over what the version has by default (on from 1.35).
pub(super) fn traceless(world: &World) -> Option<String> {
    match world.gate(ComponentKind::KubeApiserver, CLEARS_WITH_THE_BINDING) {
        Some(true) => None,
        Some(false) => Some(format!(
            "its gate {CLEARS_WITH_THE_BINDING} is off, as its metrics show"
        )),
        None => world
            .version()
            .filter(|version| *version < LEAVES_A_TRACE)
            .map(|version| format!("it is 1.{}", version.0)),
    }
}

/// What an event states, with its own source and time; `subject` says whose event it is.
pub(super) fn event_evidence(event: &Sourced<Event>, subject: &str) -> Evidence {
    Evidence {
        source: event.source.to_string(),
        at: event.value.last,
        text: format!("{subject}: {}", event.value.note),
    }
}

/// Whether a scheduler wrote the event: its reporter is the Pod's, or at least no autoscaler.
///
/// A scheduler may report under another name than `spec.schedulerName` (kubernetes/website#46196).
fn is_by_scheduler(event: &Event, pod: &Pod) -> bool {
    let reason = matches!(
        event.reason.as_str(),
        "Scheduled" | "FailedScheduling" | "BindingConditionsPending"
    );
    event.reporter == pod.scheduler_name
        || (reason && !AUTOSCALERS.contains(&event.reporter.as_str()))
}

/// A word for a shell: as it stands if it is harmless, else quoted.
pub(super) fn shell(word: &str) -> String {
    let harmless = !word.is_empty()
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    if harmless && !word.starts_with('-') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A length of time as kubectl prints ages: whole seconds, then minutes, hours, days.
pub(super) fn span(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
