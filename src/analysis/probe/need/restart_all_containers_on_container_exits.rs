//! Need: a rule that restarts all containers when one exits with a code (KEP-5532), which never comes here.

use serde_json::json;

use super::Need;

pub(crate) const NEED: Need = Need {
    feature: "RestartAllContainersOnContainerExits",
    pointer: "/spec/containers/0/restartPolicyRules/0",
    add: |spec| {
        let container = &mut spec["containers"][0];
        container["restartPolicy"] = json!("Never");
        container["restartPolicyRules"] = json!([{
            "action": "RestartAllContainers",
            "exitCodes": {"operator": "In", "values": [42]},
        }]);
    },
    ..Need::NONE
};
