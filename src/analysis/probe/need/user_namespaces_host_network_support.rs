//! Need: users of its own in the node's network, which only a privileged namespace allows.

use serde_json::json;

use super::Need;

pub(super) const NEED: Need = Need {
    feature: "UserNamespacesHostNetworkSupport",
    pointer: "/spec/hostNetwork",
    add: |spec| {
        spec["hostNetwork"] = json!(true);
        spec["hostUsers"] = json!(false);
    },
    is_privileged: true,
    ..Need::NONE
};
