//! `InPlacePodVerticalScalingMemoryBackedVolumes` (KEP-6030): a changed limit of an emptyDir in memory.
//!
//! Only a volume of the same name in the same place counts, and only where no volume came or went: anything else is refused by
//! validation before. Source: component-helpers `nodedeclaredfeatures/features/inplacepodresize/memory_backed_volumes_resize.go`
//! (0.37.2).

use super::{Because, Feature, Update, never};
use crate::model::version::Minor;

pub(super) const FEATURE: Feature = Feature {
    name: "InPlacePodVerticalScalingMemoryBackedVolumes",
    since: Minor(37),
    until: None,
    max_version: None,
    gates: &["InPlacePodVerticalScalingMemoryBackedVolumes"],
    declared: |kubelet| kubelet.gate("InPlacePodVerticalScalingMemoryBackedVolumes"),
    scheduling: never,
    update,
};

fn update(update: &Update<'_>) -> Vec<Because> {
    if update.old.volumes != update.new.volumes {
        return Vec::new();
    }
    let in_memory = update.new.sized_volumes.iter().filter(|new| new.in_memory);
    in_memory
        .filter_map(|new| {
            // The old one's medium is not asked for.
            let mut sized = update.old.sized_volumes.iter();
            let old = sized.find(|old| old.at == new.at && old.name == new.name)?;
            (!old.size.is_worth(&new.size)).then(|| {
                let field = format!("spec.volumes[{}].emptyDir.sizeLimit", new.at);
                Because::new(field, format!("{} becomes {}", old.size.0, new.size.0))
            })
        })
        .collect()
}
