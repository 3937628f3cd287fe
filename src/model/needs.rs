//! What of a Pod's specification may need a feature that a Node declares (KEP-5328).
//!
//! Only what upstream's library reads of a Pod (component-helpers `nodedeclaredfeatures`, 0.35.4 to 0.37.2), and nothing of what
//! containers run. Containers are known by their place: a name is text of the user's, and no rule asks for it.

use std::collections::BTreeMap;

use super::written::Written;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PodNeeds {
    pub(crate) host_network: bool,
    /// Null where it is not set, which is as true.
    pub(crate) host_users: Option<bool>,
    pub(crate) containers: Vec<ContainerNeeds>,
    pub(crate) init_containers: Vec<ContainerNeeds>,
    pub(crate) ephemeral_containers: Vec<ContainerNeeds>,
    /// Of the Pod as a whole (KEP-2837). An empty object is not null.
    pub(crate) resources: Option<Requirements>,
    pub(crate) volumes: usize,
    /// The emptyDirs that have a limit.
    pub(crate) sized_volumes: Vec<SizedVolume>,
    /// `status.qosClass`; the API server writes it when it creates the Pod.
    pub(crate) qos: Option<String>,
}

impl PodNeeds {
    /// Nothing in it is what a Pod needs a declared feature for when it is placed: requests and limits alone are not.
    pub(crate) fn is_plain(&self) -> bool {
        let lists = [
            &self.containers,
            &self.init_containers,
            &self.ephemeral_containers,
        ];
        let mut containers = lists.into_iter().flatten();
        containers.all(ContainerNeeds::is_plain)
            && !(self.host_network && self.host_users == Some(false))
            && self.resources.as_ref().is_none_or(|it| it.claims.is_none())
    }
}

impl ContainerNeeds {
    fn is_plain(&self) -> bool {
        self.exit_actions.is_empty()
            && self.optioned_mounts.is_empty()
            && self.resources.claims.is_none()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ContainerNeeds {
    /// The action of each of its `restartPolicyRules`.
    pub(crate) exit_actions: Vec<String>,
    /// Places of its `volumeMounts` that have `bindMountOptions`.
    pub(crate) optioned_mounts: Vec<usize>,
    /// An init container that keeps running: `restartPolicy: Always`.
    pub(crate) is_sidecar: bool,
    pub(crate) resources: Requirements,
}

/// Requests, limits and claims as they are written. Null and an empty map differ where Go compares them by reflection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Requirements {
    pub(crate) limits: Option<BTreeMap<String, Written>>,
    pub(crate) requests: Option<BTreeMap<String, Written>>,
    /// Name of the Pod's claim, and of the request in it.
    pub(crate) claims: Option<Vec<(String, String)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SizedVolume {
    /// Its place among the Pod's volumes.
    pub(crate) at: usize,
    pub(crate) name: String,
    /// `medium: Memory`.
    pub(crate) in_memory: bool,
    pub(crate) size: Written,
}

impl Requirements {
    /// By `reflect.DeepEqual`.
    pub(crate) fn is_held_like(&self, other: &Self) -> bool {
        self.claims == other.claims
            && [
                (&self.limits, &other.limits),
                (&self.requests, &other.requests),
            ]
            .into_iter()
            .all(|(one, two)| match (one, two) {
                (Some(one), Some(two)) => alike(one, two, Written::is_held_like),
                (None, None) => true,
                _ => false,
            })
    }

    /// By `equality.Semantic.DeepEqual`: by worth, and nothing is as good as null.
    pub(crate) fn is_worth(&self, other: &Self) -> bool {
        let nothing = BTreeMap::new();
        let claims = |it: &'_ Self| it.claims.iter().flatten().cloned().collect::<Vec<_>>();
        claims(self) == claims(other)
            && [
                (&self.limits, &other.limits),
                (&self.requests, &other.requests),
            ]
            .into_iter()
            .all(|(one, two)| {
                let (one, two) = (one.as_ref(), two.as_ref());
                let (one, two) = (one.unwrap_or(&nothing), two.unwrap_or(&nothing));
                alike(one, two, Written::is_worth)
            })
    }
}

fn alike(
    one: &BTreeMap<String, Written>,
    two: &BTreeMap<String, Written>,
    is_alike: fn(&Written, &Written) -> bool,
) -> bool {
    one.len() == two.len()
        && one
            .iter()
            .zip(two)
            .all(|((name, amount), (other, its))| name == other && is_alike(amount, its))
}
