//! Need: an update of the resources of an init container that is no sidecar.
//!
//! The init container does not end, so that there is one to update: the Pod is taken up and never gets to its other container.

use serde_json::json;

use super::Need;
use crate::analysis::tiny_pod::container;

pub(super) const NEED: Need = Need {
    feature: "InPlacePodVerticalScalingInitContainers",
    pointer: "/spec/initContainers/0/resources/requests",
    add: |spec| {
        let image = spec["containers"][0]["image"].as_str().unwrap_or_default();
        let mut first = container("first", image);
        first["resources"] = json!({"requests": {"cpu": "1m"}});
        spec["initContainers"] = json!([first]);
    },
    update: Some(|pod| {
        // A merge patch replaces the whole list.
        let mut containers = pod["spec"]["initContainers"].clone();
        if let Some(cpu) = containers.pointer_mut("/0/resources/requests/cpu") {
            *cpu = json!("2m");
        }
        json!({"spec": {"initContainers": containers}})
    }),
    is_for_ever_starting: true,
    ..Need::NONE
};
