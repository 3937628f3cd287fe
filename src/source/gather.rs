//! The gathering loop: asks for what is newly wanted until nothing new is wanted.
//!
//! What is wanted is decided by a pure function of the World; this loop only obeys. A want that fails
//! becomes coverage, never an error.

use std::collections::BTreeSet;

use super::Origin;
use crate::model::want::Want;
use crate::model::world::World;

/// More rounds than any question needs; a bound against a `wants` that never settles.
const ROUNDS: usize = 4;

/// Reads into `world` until `wants` asks for nothing that was not asked before.
pub(crate) async fn gather(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
) {
    for origin in origins {
        world.add_source(origin.source());
        if let Origin::Offline(collected) = origin {
            collected.clone().pour_into(world);
        }
    }
    for _ in 0..ROUNDS {
        let new: Vec<Want> = wants(world)
            .into_iter()
            .filter(|want| !world.is_answered(want))
            .collect();
        if new.is_empty() {
            return;
        }
        for origin in origins {
            let name = origin.source().name;
            for reply in origin.ask(&new).await {
                world.add_coverage(reply.coverage(&name));
                if let Some(clock) = reply.clock {
                    world.set_clock(clock);
                }
                world.answer(reply.want, reply.state);
                for fact in reply.facts {
                    world.fold(fact);
                }
            }
        }
    }
}
