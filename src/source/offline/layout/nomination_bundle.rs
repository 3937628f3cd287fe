//! The project's own bundle: `manifest.json` of the kind `NominationBundle`, with objects beside it.
//!
//! As it was written `offline::bundle` reads it, with what each read answered. This is one that somebody packed anew, with other files or
//! by another tool: its objects are used, and its lists are the whole of nothing.

use serde::Deserialize;

use super::{Extent, Layout, Proof, Role, folders_of};
use crate::source::bundle::{KINDS, MANIFEST};

pub(super) const LAYOUT: Layout = Layout {
    name: "nomination_bundle",
    words: "a bundle of kubectl nominate",
    roots: |names| {
        let found = names.iter().flat_map(|name| folders_of(name, 1));
        found
            .filter(|(_, file)| *file == MANIFEST)
            .map(|(root, _)| root.to_owned())
            .collect()
    },
    proof: Some(Proof {
        file: MANIFEST,
        holds: |content| {
            serde_json::from_slice::<Manifest>(content)
                .is_ok_and(|manifest| KINDS.contains(&manifest.kind.as_str()))
        },
    }),
    role: |name| (name != MANIFEST).then_some(Role::Objects(Extent::Unsaid)),
    held_by: |_| None,
    lacks: &[],
    managed_fields: "the bundle keeps what the server answered",
};

#[derive(Deserialize)]
struct Manifest {
    kind: String,
}
