//! Files as somebody put them together: each is read, and none says of what it is the whole.

use std::collections::BTreeSet;

use super::{Extent, Layout, Role};

pub(super) const NAME: &str = "plain";

pub(super) const LAYOUT: Layout = Layout {
    name: NAME,
    words: "plain files",
    roots: |_| BTreeSet::from([String::new()]),
    proof: None,
    role: |_| Some(Role::Objects(Extent::Unsaid)),
    held_by: |_| None,
    lacks: &[],
    managed_fields: "",
};
