//! What a watch keeps from round to round, and its rounds of reads.
//!
//! A Pod is told of by the incarnation that was found first: one that is made anew under its name is another one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::page::Answer;
use crate::analysis::explain;
use crate::analysis::select::{self, Missing, Reason, Request, Target, Whereabouts};
use crate::cli::runtime::Runtime;
use crate::cli::say;
use crate::cli::selection::not_there;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::model::coverage::{Coverage, State};
use crate::model::fact::{Content, Fact};
use crate::model::pod::{Pod, PodName, Uid};
use crate::model::want::Want;
use crate::model::world::{Sourced, World};
use crate::source::Origin;
use crate::source::gather::gather;
use crate::source::watch::{Deadline, Pause, Watcher};

/// Rounds in a row, some seconds together, in which something is refused or not answered that was given before.
///
/// An API server that has just started refuses everything until it has read the roles (observed on 1.37.2).
const PATIENCE: u32 = 7;

/// What is to be kept from round to round; it does not grow with time.
pub(super) struct Memory<'a> {
    request: &'a Request,
    /// The Pods that are told of, by the incarnation that was found.
    pub(super) found: BTreeMap<Uid, PodName>,
    /// Their last states.
    last: BTreeMap<Uid, Fact>,
    gone: BTreeSet<Uid>,
    /// What the server did not give in the last round that was judged.
    withheld: BTreeSet<Want>,
    /// Rounds in a row in which an answering server gave less than that.
    rounds_without: u32,
}

/// What a round of reads gave.
enum Look {
    Seen(Box<World>),
    /// Some Pods have gone that were not known to have. The next look need not look for them.
    Lost,
    /// The server is away, in its own or kubectl's words.
    Away(String),
}

impl<'a> Memory<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        Self {
            request,
            found: BTreeMap::new(),
            last: BTreeMap::new(),
            gone: BTreeSet::new(),
            withheld: BTreeSet::new(),
            rounds_without: 0,
        }
    }

    fn found(&self) -> Request {
        self.request.of_found(self.found.clone())
    }

    /// The Pods that are told of: those that were found, and those that match now.
    fn pods<'w>(&self, world: &'w World) -> Vec<&'w Sourced<Box<Pod>>> {
        let mut pods = select::choose(world, &self.found()).pods;
        if self.request.is_open() || self.found.is_empty() {
            let known: BTreeSet<&Uid> = pods.iter().map(|pod| &pod.value.uid).collect();
            let new: Vec<_> = select::choose(world, self.request)
                .pods
                .into_iter()
                .filter(|pod| !known.contains(&pod.value.uid))
                .collect();
            pods.extend(new);
        }
        pods
    }

    /// Keeps what a World shows of the Pods.
    pub(super) fn learn(&mut self, world: &World) {
        for pod in self.pods(world) {
            let (uid, name) = (pod.value.uid.clone(), pod.value.name.clone());
            let fact = Fact {
                source: pod.source.clone(),
                content: Content::Pod(pod.value.clone()),
            };
            self.found.insert(uid.clone(), name);
            self.keep(uid, fact);
        }
        self.withheld = withheld(world).collect();
        self.rounds_without = 0;
    }

    /// Keeps the state of a Pod, unless a later one is known.
    fn keep(&mut self, uid: Uid, fact: Fact) {
        let version = |fact: &Fact| match &fact.content {
            Content::Pod(pod) => pod.resource_version,
            _ => None,
        };
        let known = self.last.get(&uid);
        if known.is_none_or(|known| version(known) <= version(&fact)) {
            self.last.insert(uid, fact);
        }
    }

    /// Drops the Pods of an open selection that have gone and were told of as such.
    pub(super) fn forget(&mut self, all_count: bool) {
        if !self.request.is_open() || all_count {
            return;
        }
        for uid in std::mem::take(&mut self.gone) {
            self.found.remove(&uid);
            self.last.remove(&uid);
        }
    }

    pub(super) fn answer(&self, world: &World, generated_at: Timestamp) -> Answer {
        let now = world.now().unwrap_or(generated_at);
        let pods = self.pods(world);
        match pods.as_slice() {
            [pod] if self.request.is_single() => Answer::One(Box::new(explain::explain(
                world,
                self.request,
                pod,
                now,
                generated_at,
            ))),
            pods => Answer::Many(explain::explain_all(
                world,
                self.request,
                pods,
                now,
                generated_at,
            )),
        }
    }

    /// Looks until there is something to judge; none where the time is over before.
    pub(super) fn next(
        &mut self,
        origin: &Origin,
        watcher: &mut Watcher<'_>,
        deadline: Deadline,
        runtime: &Runtime,
        env: &mut Env,
    ) -> Result<Option<World>, Error> {
        let mut pause = Pause::default();
        let mut told = false;
        loop {
            if deadline.is_over() {
                return Ok(None);
            }
            for (uid, fact) in watcher.take_states() {
                self.keep(uid, fact);
            }
            let unwatched: Vec<Coverage> = watcher.coverage().collect();
            let look = self.look(origin, unwatched);
            let look = deadline.keep(watcher.meanwhile(look));
            match runtime.block_on(look)?.transpose()? {
                None => return Ok(None),
                Some(Look::Lost) => {}
                Some(Look::Seen(world)) => {
                    self.learn(&world);
                    return Ok(Some(*world));
                }
                Some(Look::Away(why)) => {
                    if !told {
                        say(&format!("warning: {why}; trying again"), env);
                        told = true;
                    }
                    runtime.block_on(deadline.keep(pause.wait()))?;
                }
            }
        }
    }

    fn is_out_of_patience(&mut self) -> bool {
        self.rounds_without += 1;
        self.rounds_without >= PATIENCE
    }

    /// One round of reads: the Pods as they are now, and the last state of those that have gone.
    async fn look(&mut self, origin: &Origin, unwatched: Vec<Coverage>) -> Result<Look, Error> {
        let origins = std::slice::from_ref(origin);
        let found = self.found();
        let mut world = World::default();
        for uid in &self.gone {
            if let Some(state) = self.last.get(uid) {
                world.fold(state.clone());
            }
            world.mark_gone(uid.clone());
        }
        let asked = if self.request.is_open() {
            self.request
        } else {
            &found
        };
        gather(&mut world, origins, |world| explain::wants(world, asked)).await;
        gather(&mut world, origins, |world| explain::wants(world, &found)).await;

        let mut missing = select::choose(&world, asked).missing;
        let known = self.gone.len();
        for (uid, whereabouts) in select::vanished(&world, &self.found) {
            match whereabouts {
                Whereabouts::Gone => {
                    self.gone.insert(uid);
                }
                Whereabouts::Unread(want) => missing.push(Missing {
                    target: self.found.get(&uid).map(|name| Target {
                        workload: None,
                        name: name.name.clone(),
                    }),
                    reason: Reason::NotFound(Some(want)),
                }),
            }
        }
        if let Some(missing) = missing.first() {
            let error = not_there(missing, &world, self.request);
            if error.kind == Kind::Unreachable {
                self.rounds_without = 0;
            } else if self.is_out_of_patience() {
                return Err(error);
            }
            let why = error.lines().join("; ");
            return Ok(Look::Away(why.trim_start_matches("error: ").to_owned()));
        }
        if self.gone.len() > known {
            return Ok(Look::Lost);
        }
        let new = withheld(&world).find(|want| !self.withheld.contains(want));
        if let Some(want) = new
            && !self.is_out_of_patience()
        {
            let subject = want.subject();
            let line = world.coverage().find(|line| line.subject == subject);
            let why = line.and_then(|line| line.detail.clone());
            return Ok(Look::Away(why.unwrap_or(subject)));
        }
        for line in unwatched {
            world.add_coverage(line);
        }
        Ok(Look::Seen(Box::new(world)))
    }
}

/// What the server was asked for and did not give.
fn withheld(world: &World) -> impl Iterator<Item = Want> {
    let states = [Some(State::Unreachable), Some(State::Denied)];
    world
        .answered()
        .filter(move |want| states.contains(&world.state_of(want)))
        .cloned()
}
