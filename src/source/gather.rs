//! The gathering loop: asks for what is newly wanted until nothing new is wanted.
//!
//! What is wanted is decided by a pure function of the World; this loop only obeys. A want that fails
//! becomes coverage, never an error.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::StreamExt;

use super::{Origin, Reply};
use crate::model::coverage::{Coverage, State};
use crate::model::want::Want;
use crate::model::world::World;

/// More rounds than any question needs; a bound against a `wants` that never settles.
const ROUNDS: usize = 6;

/// Moves what files hold into the World; they are asked afterwards only for how complete that is.
pub(crate) fn pour(world: &mut World, origins: &mut [Origin]) {
    for origin in origins {
        if let Origin::Offline(collected) = origin {
            collected.pour_into(world);
        }
    }
    world.settle();
}

/// How far a read has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) answered: usize,
    /// Of so many; more may be wanted after them.
    pub(crate) asked: usize,
}

/// Reads into `world` until `wants` asks for nothing that was not asked before.
pub(crate) async fn gather(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
) {
    gather_telling(world, origins, wants, |_| ()).await;
}

/// The same, and tells of each answer. What was answered stays in the World, also where the rest is given up.
pub(crate) async fn gather_telling(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
    mut tell: impl FnMut(Progress),
) {
    for origin in origins {
        world.add_source(origin.source());
    }
    let mut progress = Progress {
        answered: 0,
        asked: 0,
    };
    for _ in 0..ROUNDS {
        let new = unanswered(world, &wants);
        if new.is_empty() {
            return;
        }
        let of = |origin: &Origin| -> Vec<Want> {
            let own = new.iter().filter(|want| origin.is_for(want));
            own.cloned().collect()
        };
        let asked: Vec<(&Origin, Vec<Want>)> =
            origins.iter().map(|origin| (origin, of(origin))).collect();
        progress.asked += asked.iter().map(|(_, wants)| wants.len()).sum::<usize>();
        let mut round = Round {
            world,
            replies: BTreeMap::new(),
        };
        for (origin, wants) in &asked {
            let name = origin.source().name;
            let mut answers = Box::pin(origin.ask(wants));
            while let Some(reply) = answers.next().await {
                let replies = round.replies.entry(reply.want.clone()).or_default();
                replies.push((name.clone(), reply));
                progress.answered += 1;
                tell(progress);
            }
        }
    }
    // A bound was hit.
    let why = format!("not read: {ROUNDS} rounds of reads were not enough");
    leave(world, origins, wants, &why);
}

/// The answers of a round. However it ends, they go into the World, in the order of what was asked.
struct Round<'w> {
    world: &'w mut World,
    replies: BTreeMap<Want, Vec<(String, Reply)>>,
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        for (want, replies) in std::mem::take(&mut self.replies) {
            take(self.world, &want, replies);
        }
    }
}

/// Notes what is still wanted and will not be read: it must not look as if it had been.
pub(crate) fn leave(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
    why: &str,
) {
    for want in unanswered(world, &wants) {
        let source = origins
            .first()
            .map(|origin| origin.source().name)
            .unwrap_or_default();
        world.add_coverage(Coverage {
            source,
            subject: want.subject(),
            state: State::Partial,
            detail: Some(why.to_owned()),
            location: None,
        });
        world.answer(want, State::Partial);
    }
}

fn unanswered(world: &World, wants: impl Fn(&World) -> BTreeSet<Want>) -> Vec<Want> {
    wants(world)
        .into_iter()
        .filter(|want| !world.is_answered(want))
        .collect()
}

/// Takes in what all origins answered to one want. That one of several files lacks it is no loss if another has it.
fn take(world: &mut World, want: &Want, replies: Vec<(String, Reply)>) {
    let answered = replies
        .iter()
        .any(|(_, reply)| matches!(reply.state, State::Complete | State::Partial));
    for (name, reply) in replies {
        if !(answered && reply.state == State::Absent) {
            world.add_coverage(reply.coverage(&name));
        }
        if let Some(clock) = reply.clock {
            world.set_clock(clock);
        }
        world.answer(want.clone(), reply.state);
        for fact in reply.facts {
            world.fold(fact);
        }
    }
}
