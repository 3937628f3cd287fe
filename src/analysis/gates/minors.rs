//! The minors that the processes of a kind behave as, for questions that a version bounds.
//!
//! It must not guess: a kind of which no process told its version has none.

use std::collections::BTreeSet;

use super::process;
use crate::model::component::ComponentKind;
use crate::model::version::Minor;
use crate::model::world::World;

pub(crate) fn of(world: &World, kind: ComponentKind) -> BTreeSet<Minor> {
    process::all(world, None)
        .iter()
        .filter(|process| process.name.kind == kind)
        .filter_map(process::Process::behaves_as)
        .collect()
}
