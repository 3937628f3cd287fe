//! Need: a volume that is mounted with options (KEP-5855).

use serde_json::json;

use super::Need;

pub(super) const NEED: Need = Need {
    feature: "VolumeBindMountOptions",
    pointer: "/spec/containers/0/volumeMounts/0/bindMountOptions/0",
    add: |spec| {
        spec["volumes"] = json!([{"name": "scratch", "emptyDir": {}}]);
        spec["containers"][0]["volumeMounts"] = json!([{
            "name": "scratch",
            "mountPath": "/scratch",
            "bindMountOptions": ["noexec"],
        }]);
    },
    ..Need::NONE
};
