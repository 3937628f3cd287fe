//! Need: an update of the size of a volume in memory (KEP-6030).

use serde_json::json;

use super::Need;

pub(super) const NEED: Need = Need {
    feature: "InPlacePodVerticalScalingMemoryBackedVolumes",
    pointer: "/spec/volumes/0/emptyDir/sizeLimit",
    add: |spec| {
        let memory = json!({"medium": "Memory", "sizeLimit": "1Mi"});
        spec["volumes"] = json!([{"name": "scratch", "emptyDir": memory}]);
    },
    update: Some(|pod| {
        // A merge patch replaces the whole list.
        let mut volumes = pod["spec"]["volumes"].clone();
        if let Some(limit) = volumes.pointer_mut("/0/emptyDir/sizeLimit") {
            *limit = json!("2Mi");
        }
        json!({"spec": {"volumes": volumes}})
    }),
    ..Need::NONE
};
