//! Policies of admission for declared features, as objects to be applied: nothing here applies them.
//!
//! One keeps each list to its kubelet: the API server itself looks only at its form, and `NodeRestriction` at whose Node it is. The other
//! stops new Pods that need a feature, the first step before its gate is turned off. Both are `ValidatingAdmissionPolicy` (KEP-3488,
//! admissionregistration.k8s.io/v1 since 1.30), tried on real API servers of 1.35.4, 1.36.3 and 1.37.2 (tests/live/rbac.rs).

use serde_json::{Value, json};

/// The group and version of policies.
const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// A list as CEL reads it, also where there is no object, status or list.
const LISTED: &str = ".?status.?declaredFeatures.orValue([])";

/// What makes a Pod need a feature, in CEL over a `spec`: the same as its rule in `requirement` says of scheduling. Features that are not
/// here are needed by no Pod that is to be scheduled.
const NEEDED: [(&str, &str); 3] = [
    (
        "RestartAllContainersOnContainerExits",
        "(SPEC.containers + SPEC.?initContainers.orValue([])).exists(container, container.?restartPolicyRules.orValue([]).exists(rule, rule.action == 'RestartAllContainers'))",
    ),
    (
        "UserNamespacesHostNetworkSupport",
        "SPEC.?hostNetwork.orValue(false) && !SPEC.?hostUsers.orValue(true)",
    ),
    (
        "VolumeBindMountOptions",
        "(SPEC.containers + SPEC.?initContainers.orValue([])).exists(container, container.?volumeMounts.orValue([]).exists(mount, mount.?bindMountOptions.orValue([]).size() > 0)) || SPEC.?ephemeralContainers.orValue([]).exists(container, container.?volumeMounts.orValue([]).exists(mount, mount.?bindMountOptions.orValue([]).size() > 0))",
    ),
];

/// Features that a policy can stop Pods by.
pub(crate) fn blockable() -> impl Iterator<Item = &'static str> {
    NEEDED.iter().map(|(name, _)| *name)
}

/// Only the kubelet of a Node changes what the Node declares.
pub(crate) fn protection() -> Vec<Value> {
    let name = "declared-features-are-the-kubelets-own";
    let resources = json!([
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["nodes", "nodes/status"]},
    ]);
    let variables = json!([
        {"name": "before", "expression": format!("oldObject == null ? [] : oldObject{LISTED}")},
        {"name": "after", "expression": format!("object{LISTED}")},
    ]);
    let validation = json!({
        "expression": "variables.after == variables.before || request.userInfo.username == 'system:node:' + object.metadata.name",
        "messageExpression": "'status.declaredFeatures of Node ' + object.metadata.name + ' is written by its kubelet alone, as user system:node:' + object.metadata.name",
        "reason": "Forbidden",
    });
    let description = "Only the kubelet of a Node changes what the Node declares (KEP-5328).";
    policy(name, description, &resources, &variables, &validation)
}

/// No new Pod needs a feature; null for one that no Pod needs to be scheduled.
pub(crate) fn block(feature: &str) -> Option<Vec<Value>> {
    let (feature, needed) = NEEDED.iter().find(|(name, _)| *name == feature)?;
    let of = |object: &str| needed.replace("SPEC", &format!("{object}.spec"));
    let name = format!("no-new-pods-need-{}", feature.to_ascii_lowercase());
    let resources = json!([
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods/ephemeralcontainers"]},
    ]);
    let variables = json!([
        {"name": "needs", "expression": of("object")},
        {"name": "needed", "expression": format!("oldObject != null && ({})", of("oldObject"))},
    ]);
    let validation = json!({
        "expression": "!variables.needs || variables.needed",
        "message": format!("new Pods must not need the node feature {feature}: it is about to be turned off"),
        "reason": "Forbidden",
    });
    let description = format!(
        "Stops new Pods that need the declared feature {feature}; Pods that are there stay."
    );
    Some(policy(
        &name,
        &description,
        &resources,
        &variables,
        &validation,
    ))
}

fn policy(
    name: &str,
    description: &str,
    resources: &Value,
    variables: &Value,
    validation: &Value,
) -> Vec<Value> {
    let metadata = json!({"name": name, "annotations": {"kubernetes.io/description": description}});
    vec![
        json!({
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": resources},
                "variables": variables,
                "validations": [validation],
            },
        }),
        json!({
            "apiVersion": API_VERSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::requirement;

    #[test]
    fn each_is_a_feature_and_no_other_is_blocked() {
        for name in blockable() {
            assert!(requirement::find(name).is_some(), "{name}");
            assert!(block(name).is_some(), "{name}");
        }
        assert!(block("ExtendWebSocketsToKubelet").is_none());
    }
}
