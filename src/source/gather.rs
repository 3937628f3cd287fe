//! The gathering loop: asks for what is newly wanted until nothing new is wanted.
//!
//! What is wanted is decided by a pure function of the World; this loop only obeys. A want that fails
//! becomes coverage, never an error.

use std::collections::{BTreeMap, BTreeSet};

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

/// Reads into `world` until `wants` asks for nothing that was not asked before.
pub(crate) async fn gather(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
) {
    for origin in origins {
        world.add_source(origin.source());
    }
    for _ in 0..ROUNDS {
        let new = unanswered(world, &wants);
        if new.is_empty() {
            return;
        }
        let mut replies: BTreeMap<Want, Vec<(String, Reply)>> = BTreeMap::new();
        for origin in origins {
            let name = origin.source().name;
            for reply in origin.ask(&new).await {
                replies
                    .entry(reply.want.clone())
                    .or_default()
                    .push((name.clone(), reply));
            }
        }
        for (want, replies) in replies {
            take(world, &want, replies);
        }
    }
    // A bound was hit: what is still wanted was not read, and must not look as if it had been.
    for want in unanswered(world, &wants) {
        let source = origins
            .first()
            .map(|origin| origin.source().name)
            .unwrap_or_default();
        let detail = Some(format!(
            "not read: {ROUNDS} rounds of reads were not enough"
        ));
        world.add_coverage(Coverage {
            source,
            subject: want.subject(),
            state: State::Partial,
            detail,
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
