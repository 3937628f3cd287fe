//! Declared features (KEP-5328): what each is declared by, and what a Pod or its update requires; a feature a file.
//!
//! The same as upstream's library decides, minor by minor (component-helpers `nodedeclaredfeatures`, 0.35.4, 0.36.3, 0.37.2); a
//! test compares the two over thousands of Pods. Nothing here looks at a cluster: which nodes declare what is the caller's.
//! Adding one is a file and its line here.

mod declaration;
mod dra_node_allocatable_resources;
mod dra_optional_node_operations;
mod extend_web_sockets_to_kubelet;
mod guaranteed_qos_pod_cpu_resize;
mod in_place_pod_level_resources_vertical_scaling;
mod in_place_pod_vertical_scaling_init_containers;
mod in_place_pod_vertical_scaling_memory_backed_volumes;
mod restart_all_containers_on_container_exits;
mod user_namespaces_host_network_support;
mod volume_bind_mount_options;

pub(crate) use declaration::{Declaration, KubeletSettings, Runtime};

use crate::model::needs::PodNeeds;
use crate::model::version::{Minor, Release};

/// The gate of the whole mechanism: alpha and off in 1.35, beta and on in 1.36, locked on from 1.37.
pub(crate) const MECHANISM: &str = "NodeDeclaredFeatures";

/// The minors whose library is known.
pub(crate) const OLDEST: Minor = Minor(35);
pub(crate) const NEWEST: Minor = Minor(37);

/// A feature as upstream registers it.
#[derive(Debug)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// The first minor whose library registers it.
    pub(crate) since: Minor,
    /// The last one; null where the newest known still does.
    pub(crate) until: Option<Minor>,
    /// The last release that declares and requires it; null in all that are known.
    pub(crate) max_version: Option<Release>,
    /// Gates that its declaration depends on.
    pub(crate) gates: &'static [&'static str],
    declared: fn(&KubeletSettings<'_>) -> Declaration,
    scheduling: fn(&PodNeeds) -> Vec<Because>,
    update: fn(&Update<'_>) -> Vec<Because>,
}

/// The field that makes a Pod require a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Because {
    /// A path in the Pod: `spec.containers[0].restartPolicyRules[1].action`.
    pub(crate) field: String,
    /// What is there.
    pub(crate) value: String,
}

impl Because {
    fn new(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: value.into(),
        }
    }
}

/// A change from one Pod to another, as the library of a minor compares them.
pub(crate) struct Update<'a> {
    pub(crate) old: &'a PodNeeds,
    pub(crate) new: &'a PodNeeds,
    pub(crate) minor: Minor,
}

/// A feature that is required, and why.
#[derive(Debug, Clone)]
pub(crate) struct Required {
    pub(crate) feature: &'static Feature,
    /// Never empty.
    pub(crate) because: Vec<Because>,
}

/// All features that some known minor registers, sorted by name.
pub(crate) const FEATURES: &[&Feature] = &[
    &dra_node_allocatable_resources::FEATURE,
    &dra_optional_node_operations::FEATURE,
    &extend_web_sockets_to_kubelet::FEATURE,
    &guaranteed_qos_pod_cpu_resize::FEATURE,
    &in_place_pod_level_resources_vertical_scaling::FEATURE,
    &in_place_pod_vertical_scaling_init_containers::FEATURE,
    &in_place_pod_vertical_scaling_memory_backed_volumes::FEATURE,
    &restart_all_containers_on_container_exits::FEATURE,
    &user_namespaces_host_network_support::FEATURE,
    &volume_bind_mount_options::FEATURE,
];

/// A feature by its name; null for one that no known minor registers.
pub(crate) fn find(name: &str) -> Option<&'static Feature> {
    FEATURES.iter().copied().find(|known| known.name == name)
}

/// What a minor's library registers. A minor that is newer than the newest known is taken for it; the caller says so.
pub(crate) fn registered(minor: Minor) -> impl Iterator<Item = &'static Feature> {
    FEATURES
        .iter()
        .copied()
        .filter(move |feature| feature.is_registered(minor))
}

/// What a Pod requires of its node in the eyes of a scheduler, or of a kubelet that admits it, of a release.
pub(crate) fn for_scheduling(pod: &PodNeeds, release: Release) -> Vec<Required> {
    required(release, |feature| (feature.scheduling)(pod))
}

/// What an update requires of the Pod's node in the eyes of an API server of a release.
pub(crate) fn for_update(old: &PodNeeds, new: &PodNeeds, release: Release) -> Vec<Required> {
    let update = Update {
        old,
        new,
        minor: release.minor,
    };
    required(release, |feature| (feature.update)(&update))
}

fn required(release: Release, rule: impl Fn(&'static Feature) -> Vec<Because>) -> Vec<Required> {
    registered(release.minor)
        .filter(|feature| !feature.is_past(release))
        .map(|feature| Required {
            feature,
            because: rule(feature),
        })
        .filter(|required| !required.because.is_empty())
        .collect()
}

impl Feature {
    /// Whether a Pod needs it of its node, in the eyes of a release that knows it.
    pub(crate) fn is_required_by(&self, pod: &PodNeeds) -> bool {
        !(self.scheduling)(pod).is_empty()
    }

    pub(crate) fn is_registered(&self, minor: Minor) -> bool {
        self.since <= minor && self.until.is_none_or(|until| minor <= until)
    }

    /// Whether the release is past the last one that declares and requires it, which itself still does (framework.go,
    /// `GreaterThan`: patches count). A pre-release of a later release is past it, too.
    pub(crate) fn is_past(&self, release: Release) -> bool {
        self.max_version.is_some_and(|max| release > max)
    }

    /// Whether a kubelet with these settings declares it.
    pub(crate) fn declared_by(&self, kubelet: &KubeletSettings<'_>) -> Declaration {
        let minor = kubelet.release.minor;
        if !self.is_registered(minor) {
            return Declaration::No(format!("{minor} does not know it"));
        }
        if self.is_past(kubelet.release) {
            return Declaration::No("every kubelet of that version has it".to_owned());
        }
        kubelet.gate(MECHANISM).and(|| (self.declared)(kubelet))
    }
}

/// No Pod needs it.
fn never(_: &PodNeeds) -> Vec<Because> {
    Vec::new()
}

/// No update needs it.
fn never_updated(_: &Update<'_>) -> Vec<Because> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::registry;

    #[test]
    fn every_file_has_its_line() {
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        let files = registry::files("analysis/requirement", &["mod", "declaration"]);
        let files: Vec<String> = files.iter().map(|file| plain(file)).collect();
        let lines: Vec<String> = FEATURES.iter().map(|it| plain(it.name)).collect();
        assert_eq!(files, lines, "sorted, one a file");
    }

    #[test]
    fn the_documentation_names_every_feature() {
        let text = include_str!("../../../docs/declared-features.md");
        for feature in FEATURES {
            assert!(text.contains(feature.name), "{}", feature.name);
        }
    }

    #[test]
    fn its_gates_are_gates_of_its_minors() {
        for feature in FEATURES {
            for minor in (OLDEST.0..=NEWEST.0).map(Minor) {
                for gate in feature
                    .gates
                    .iter()
                    .filter(|_| feature.is_registered(minor))
                {
                    let known = Catalogue::known().gate(gate, minor);
                    assert!(known.is_some(), "{gate} in {minor}");
                }
            }
        }
    }

    #[test]
    fn the_last_release_still_requires_it() {
        let release = |text| Release::parse(text).expect("a release");
        let feature = Feature {
            max_version: Some(release("v1.40.0")),
            ..restart_all_containers_on_container_exits::FEATURE
        };
        for (text, past) in [
            ("v1.39.7", false),
            ("v1.40.0", false),
            ("v1.40.0-rc.1", false),
            ("v1.40.1", true),
            ("v1.41.0-alpha.0", true),
        ] {
            assert_eq!(feature.is_past(release(text)), past, "{text}");
        }
    }

    /// What decoders do not keep of a template needs nothing by the rules of any minor.
    #[test]
    fn plain_templates_need_nothing() {
        use crate::model::needs::{ContainerNeeds, PodNeeds, Requirements, SizedVolume};
        use crate::model::written::Written;
        let amounts = |name: &str| Some([(name.to_owned(), Written("1".to_owned()))].into());
        let resources = Requirements {
            limits: amounts("memory"),
            requests: amounts("cpu"),
            claims: None,
        };
        let container = |is_sidecar| ContainerNeeds {
            is_sidecar,
            resources: resources.clone(),
            ..ContainerNeeds::default()
        };
        let plain = PodNeeds {
            host_network: true,
            host_users: Some(true),
            containers: vec![container(false)],
            init_containers: vec![container(true)],
            resources: Some(resources.clone()),
            volumes: 1,
            sized_volumes: vec![SizedVolume {
                at: 0,
                name: "v".to_owned(),
                in_memory: true,
                size: Written("1Gi".to_owned()),
            }],
            qos: Some("Guaranteed".to_owned()),
            ..PodNeeds::default()
        };
        let users = PodNeeds {
            host_network: false,
            host_users: Some(false),
            ..plain.clone()
        };
        for needs in [plain, users] {
            assert!(needs.is_plain());
            for minor in OLDEST.0..=NEWEST.0 {
                let release = Release {
                    minor: Minor(minor),
                    patch: 0,
                };
                let required = for_scheduling(&needs, release);
                assert!(required.is_empty(), "1.{minor}: {required:?}");
            }
        }
    }
}
