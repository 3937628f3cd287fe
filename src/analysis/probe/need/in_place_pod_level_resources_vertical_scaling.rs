//! Need: an update of the resources of a Pod as a whole (KEP-5419).

use serde_json::json;

use super::Need;

pub(super) const NEED: Need = Need {
    feature: "InPlacePodLevelResourcesVerticalScaling",
    pointer: "/spec/resources/requests",
    add: |spec| spec["resources"] = json!({"requests": {"cpu": "1m"}}),
    update: Some(|_| json!({"spec": {"resources": {"requests": {"cpu": "2m"}}}})),
    ..Need::NONE
};
