//! `kubectl nominate explain --watch` and `--for`: the explanation again and again, until it is as wanted or final.
//!
//! Each round reads, judges and shows as one explanation does; here is only when the next round comes, and which is the
//! last. Of a cluster here, of an audit log that grows in `growing`. Why it ends as it does: docs/decisions/0006.

pub(super) mod growing;
mod memory;
mod page;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use self::memory::Memory;
use self::page::Page;
use super::explain::{FailOn, exit_code};
use crate::analysis::explain;
use crate::analysis::select::{self, Request};
use crate::answer::nomination_explanation::{NominationExplanation, VerdictKind};
use crate::cli::arguments::OutputArgs;
use crate::cli::runtime::Runtime;
use crate::cli::selection::{not_there, nothing};
use crate::cli::{say, tell};
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::pod::Uid;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::gather::gather;
use crate::source::offline::Place;
use crate::source::watch::{Deadline, Watcher};

/// As `kubectl wait` has it.
const TIMEOUT_OF_FOR: Duration = Duration::from_secs(30);
/// What a negative time means to `kubectl wait`.
const WEEK: Duration = Duration::from_hours(7 * 24);

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Watch options")]
pub(super) struct WatchArgs {
    /// Go on, and tell of each change, until nothing more can become of the Pods; with --from, of an audit log that grows
    #[arg(short, long)]
    watch: bool,
    /// Wait for one of these verdicts, verdict=KIND[,KIND...]; ends with 3 if another one is final
    #[arg(long = "for", value_name = "verdict=KIND", value_parser = awaited)]
    awaited: Option<Awaited>,
    /// Time to wait, with a unit (10s, 5m), then end with 7; 0 looks once, less than 0 waits a week; 30s for --for, else none
    #[arg(long, value_name = "DURATION", value_parser = time_to_wait, allow_hyphen_values = true)]
    timeout: Option<TimeToWait>,
}

/// The verdicts that end the wait.
#[derive(Debug, Clone)]
struct Awaited(Vec<VerdictKind>);

#[derive(Debug, Clone, Copy)]
struct TimeToWait(Duration);

fn awaited(text: &str) -> Result<Awaited, String> {
    let kinds = text
        .strip_prefix("verdict=")
        .ok_or("give verdict=KIND, or several: verdict=KIND,KIND")?;
    let known = |word: &str| {
        let named = |kind: &VerdictKind| format!("{kind:?}").eq_ignore_ascii_case(word);
        VerdictKind::ALL.into_iter().find(named).ok_or_else(|| {
            let all = VerdictKind::ALL.map(|kind| format!("{kind:?}")).join(", ");
            format!("there is no verdict {word:?}; the verdicts are {all}")
        })
    };
    kinds
        .split(',')
        .map(|word| known(word.trim()))
        .collect::<Result<_, _>>()
        .map(Awaited)
}

fn time_to_wait(text: &str) -> Result<TimeToWait, String> {
    if text == "0" {
        return Ok(TimeToWait(Duration::ZERO));
    }
    let time: SignedDuration = text
        .parse()
        .map_err(|_| "give a time with a unit, e.g. 10s, 5m, 1h".to_owned())?;
    Ok(TimeToWait(Duration::try_from(time).unwrap_or(WEEK)))
}

impl Awaited {
    /// A bound Pod's verdict counts when it is final: its kubelet may still refuse it.
    fn has(&self, item: &NominationExplanation) -> bool {
        self.0.contains(&item.verdict.kind) && (item.binding.is_none() || item.settled)
    }

    fn words(&self) -> String {
        let kinds: Vec<String> = self.0.iter().map(|kind| format!("{kind:?}")).collect();
        format!("the verdict {}", kinds.join(" or "))
    }
}

impl WatchArgs {
    /// Whether one explanation is not enough.
    pub(super) fn follows(&self) -> bool {
        self.watch || self.awaited.is_some()
    }

    /// What does not go together, in a sentence that says why.
    pub(super) fn check(&self, from: &[Place], now: bool) -> Result<(), Error> {
        let usage = |sentence: &str, hint: &str| Err(Error::new(Kind::Usage, sentence).hint(hint));
        let flag = if self.watch { "--watch" } else { "--for" };
        match (self.follows(), self.timeout) {
            (false, Some(_)) => usage(
                "--timeout is the time to wait, and nothing is waited for",
                "give --watch or --for as well; the limit of one request is --request-timeout",
            ),
            (true, _) if from.len() > 1 => usage(
                &format!("{flag} follows one audit log, and --from names several inputs"),
                "the other inputs do not change; explain them without it",
            ),
            (true, _) if from.iter().any(Place::is_stdin) => usage(
                &format!("{flag} follows a file: standard input has no name that is rotated"),
                "name the audit log's file",
            ),
            (true, _) if from.iter().any(|place| place.document.is_some()) => usage(
                &format!(
                    "{flag} follows an audit log: metrics do not change once they are written down"
                ),
                "name the audit log's file",
            ),
            (true, _) if now && !from.is_empty() => usage(
                &format!("{flag} goes by the times of the log, which --now replaces"),
                &format!("leave out {flag} or --now"),
            ),
            (true, _) if now => usage(
                &format!("{flag} goes by the server's clock, which --now replaces"),
                &format!("leave out {flag} or --now"),
            ),
            _ => Ok(()),
        }
    }

    fn deadline(&self) -> Deadline {
        let default = self.awaited.is_some().then_some(TIMEOUT_OF_FOR);
        Deadline::after(self.timeout.map(|time| time.0).or(default))
    }
}

/// What a watch is to do.
pub(super) struct Task<'a> {
    pub(super) args: &'a WatchArgs,
    pub(super) output: &'a OutputArgs,
    pub(super) fail_on: FailOn,
    pub(super) request: &'a Request,
}

pub(super) fn run(
    task: &Task<'_>,
    origin: &Origin,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<u8, Error> {
    let deadline = task.args.deadline();
    let Some(mut watcher) = Watcher::of(origin) else {
        return Err(Error::new(Kind::Internal, "only a cluster can be watched"));
    };
    let mut memory = Memory::new(task.request);
    let mut page = Page::default();

    // The first look may fail as any explanation may.
    let mut world = World::default();
    runtime.block_on(gather(&mut world, std::slice::from_ref(origin), |world| {
        explain::wants(world, task.request)
    }))?;
    let chosen = select::choose(&world, task.request);
    if !chosen.missing.is_empty() {
        let errors: Vec<Error> = chosen
            .missing
            .iter()
            .map(|missing| not_there(missing, &world, task.request))
            .collect();
        return Ok(tell(&errors, env));
    }
    if chosen.pods.is_empty() {
        if task.args.awaited.is_some() {
            return Err(Error::new(Kind::BadData, "no matching resources found"));
        }
        if task.output.is_for_people() {
            say(&nothing(task.request), env);
        }
    }
    // A list that broke off: there may be others than those that are told of.
    let unsure = chosen.uncertain.then_some(exit::INCOMPLETE);
    memory.learn(&world);
    let counted: BTreeSet<Uid> = memory.found.keys().cloned().collect();

    loop {
        // Analyse.
        let now = (env.now)();
        let answer = memory.answer(&world, now);
        let items = answer.items();
        let end = task.end(items, &counted);

        // Show.
        let changed = page.changes(items);
        if task.args.watch {
            page.show(&answer, &changed, end.is_some(), task.output, env)?;
        }
        let fruitless = changed.is_empty();
        memory.forget(task.args.awaited.is_some());

        // Wait.
        if let Some(code) = end {
            page.show_whole(&answer, task.output, env)?;
            task.say_why(items, &counted, env);
            return Ok(exit::first(unsure.into_iter().chain([code])));
        }
        if !deadline.is_over() {
            watcher.follow(world.answered(), memory.found.keys());
            let limit = time_of_change(items, world.now().unwrap_or(now));
            let limit = limit.into_iter().chain(deadline.left()).min();
            runtime.block_on(watcher.changed(limit, fruitless))?;
        }

        // Gather.
        let Some(next) = memory.next(origin, &mut watcher, deadline, runtime, env)? else {
            page.show_whole(&answer, task.output, env)?;
            task.say_timed_out(items, &counted, env);
            return Ok(exit::TIMED_OUT);
        };
        world = next;
    }
}

/// How long until time alone may change an answer. The server's clock tells whole seconds, cut off.
fn time_of_change(items: &[NominationExplanation], now: Timestamp) -> Option<Duration> {
    let open = items.iter().filter(|item| !item.settled);
    let next = open.filter_map(|item| item.holds_until).min()?;
    let left = next.duration_since(now).as_nanos().max(1);
    let seconds = u64::try_from(left.unsigned_abs().div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
    Some(Duration::from_secs(seconds))
}

impl Task<'_> {
    /// The exit code, if these explanations are the last ones.
    fn end(&self, items: &[NominationExplanation], counted: &BTreeSet<Uid>) -> Option<u8> {
        let Some(awaited) = &self.args.awaited else {
            // As long as other Pods may come there is no last one.
            let over = !self.request.is_open() && items.iter().all(|item| item.settled);
            let codes = items
                .iter()
                .map(|item| exit_code(&item.verdict, self.fail_on));
            return over.then(|| exit::first(codes));
        };
        let counts =
            |item: &&NominationExplanation| counted.contains(&Uid(item.pod.uid.as_str().into()));
        let items = || items.iter().filter(counts);
        if items().all(|item| awaited.has(item)) {
            // Unknown was asked for where it is met.
            let codes = items()
                .map(|item| exit_code(&item.verdict, self.fail_on))
                .filter(|code| *code != exit::INCOMPLETE);
            return Some(exit::first(codes));
        }
        // What could not be observed may have been what was waited for.
        let other = items().filter(|item| item.settled && !awaited.has(item));
        let code = |item: &NominationExplanation| {
            if item.verdict.is_unanswered() {
                exit::INCOMPLETE
            } else {
                exit::FINDING
            }
        };
        let codes: Vec<u8> = other.map(code).collect();
        (!codes.is_empty()).then(|| exit::first(codes))
    }

    /// Says which verdicts are final instead of the one that was waited for.
    fn say_why(&self, items: &[NominationExplanation], counted: &BTreeSet<Uid>, env: &mut Env) {
        for (awaited, item) in self.unmet(items, counted).filter(|(_, item)| item.settled) {
            let line = format!(
                "error: waited for {} on {}, and {:?} is final",
                awaited.words(),
                self.name(item),
                item.verdict.kind
            );
            say(&line, env);
        }
    }

    fn say_timed_out(
        &self,
        items: &[NominationExplanation],
        counted: &BTreeSet<Uid>,
        env: &mut Env,
    ) {
        for (awaited, item) in self.unmet(items, counted) {
            let mut line = format!(
                "error: timed out waiting for {} on {}",
                awaited.words(),
                self.name(item)
            );
            if awaited.0.contains(&item.verdict.kind) {
                line.push_str(", which no kubelet has taken up yet");
            }
            say(&line, env);
        }
        if self.args.awaited.is_none() {
            let open = items.iter().filter(|item| !item.settled);
            let names: Vec<String> = open.map(|item| self.name(item)).collect();
            let line = format!("error: timed out watching {}", names.join(", "));
            say(line.trim_end(), env);
        }
    }

    /// The Pods that do not have what is waited for.
    fn unmet<'i>(
        &self,
        items: &'i [NominationExplanation],
        counted: &BTreeSet<Uid>,
    ) -> impl Iterator<Item = (&Awaited, &'i NominationExplanation)> {
        let counts =
            |item: &NominationExplanation| counted.contains(&Uid(item.pod.uid.as_str().into()));
        self.args.awaited.iter().flat_map(move |awaited| {
            items
                .iter()
                .filter(move |item| counts(item) && !awaited.has(item))
                .map(move |item| (awaited, item))
        })
    }

    /// A Pod in kubectl's words.
    fn name(&self, item: &NominationExplanation) -> String {
        let namespace = match self.request.namespace {
            Some(_) => String::new(),
            None => format!(" -n {}", item.pod.namespace),
        };
        format!("pods/{}{namespace}", item.pod.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_named_in_any_case_and_several_at_once() {
        let kinds = awaited("verdict=honoured, MOVED,WaitingForVictims").map(|awaited| awaited.0);
        let due = vec![
            VerdictKind::Honoured,
            VerdictKind::Moved,
            VerdictKind::WaitingForVictims,
        ];
        assert_eq!(kinds, Ok(due));
        for wrong in [
            "honoured",
            "verdict=",
            "verdict=Honoured,",
            "condition=Ready",
        ] {
            assert!(awaited(wrong).is_err(), "{wrong}");
        }
        let error = awaited("verdict=Bound").expect_err("there is none");
        assert!(error.contains("Honoured, Moved"), "{error}");
    }

    #[test]
    fn times_are_those_of_kubectl_wait() {
        let time = |text: &str| time_to_wait(text).map(|time| time.0);
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        assert_eq!(time("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("-1s"), Ok(WEEK));
        assert!(time("30").is_err());
    }
}
