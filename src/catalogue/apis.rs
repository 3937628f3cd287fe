//! Groups and versions that the API server of each minor registers, and the gates that they belong to.
//!
//! Pure data with look-ups, as the rest of the catalogue. The data lies in `data/apis/` and is made by `make generate`
//! (data/apis/README.md); which gate an API belongs to is written down here, with where that stands. Nothing here guesses.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::version::Minor;

/// A file a minor, oldest first; a test compares with the folder.
const MINORS: &[(Minor, &str)] = &[
    (Minor(34), include_str!("../../data/apis/1.34.jsonl")),
    (Minor(35), include_str!("../../data/apis/1.35.jsonl")),
    (Minor(36), include_str!("../../data/apis/1.36.jsonl")),
    (Minor(37), include_str!("../../data/apis/1.37.jsonl")),
];

/// Versions by their names with the group, e.g. `apps/v1`.
pub(crate) type Versions = BTreeMap<&'static str, Version>;

/// A group and version as a binary registers it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Version {
    /// Unless somebody says otherwise.
    #[serde(default)]
    pub(crate) served: bool,
    pub(crate) resources: BTreeMap<&'static str, Life>,
    #[serde(rename = "version")]
    name: &'static str,
}

/// The minors that have a resource in a version (`APILifecycleIntroduced`, `APILifecycleRemoved`); null where nobody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Life {
    #[serde(default, deserialize_with = "minor")]
    pub(crate) introduced: Option<Minor>,
    #[serde(default, deserialize_with = "minor")]
    pub(crate) removed: Option<Minor>,
}

fn minor<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Minor>, D::Error> {
    let text: &str = Deserialize::deserialize(deserializer)?;
    Ok(Minor::parse(text))
}

/// What the API server of a minor registers; null if the minor is not known.
pub(crate) fn of(binary: Minor) -> Option<&'static Versions> {
    static KNOWN: LazyLock<BTreeMap<Minor, Versions>> = LazyLock::new(|| {
        let lines = |text: &'static str| {
            let lines = text.lines().map(|line| {
                let version: Version =
                    serde_json::from_str(line).expect("a test reads every line of the data");
                (version.name, version)
            });
            lines.collect()
        };
        let minors = MINORS.iter();
        minors.map(|(minor, text)| (*minor, lines(text))).collect()
    });
    KNOWN.get(&binary)
}

/// What a gate needs of an API server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) gate: &'static str,
    pub(crate) resources: &'static [&'static str],
    /// The gate decides whether they are there at all, beside `--runtime-config`.
    pub(crate) is_stored_by_gate: bool,
    /// Versions of which components of a binary read one, from a minor on; newest first. A minor before the first is not told of.
    versions: &'static [(Minor, &'static [&'static str])],
    /// What `/readyz` of an API server lacks for ever where its own part reads one and none is served, and the minors of it: asked of
    /// 1.35.4, 1.36.3 and 1.37.2.
    waits: Option<(&'static str, &'static [Minor])>,
}

/// Caches of objects that are not served.
const INFORMERS: &str = "informer-sync";

impl Need {
    /// Whether a resource in a version is one of it.
    pub(crate) fn is_of(&self, version: &str, resource: &str) -> bool {
        let group = |version: &str| version.rsplit_once('/').map(|(group, _)| group.to_owned());
        let own = self
            .versions
            .iter()
            .flat_map(|(_, versions)| *versions)
            .next();
        self.resources.contains(&resource) && own.is_some_and(|it| group(it) == group(version))
    }

    /// What an API server lacks to become ready where none is served; null where it becomes ready, or where nobody asked.
    pub(crate) fn waited_for(&self, binary: Minor) -> Option<&'static str> {
        let (lack, minors) = self.waits?;
        minors.contains(&binary).then_some(lack)
    }

    /// Of these one has to be served; null where nothing is known of the minor.
    pub(crate) fn versions(&self, binary: Minor) -> Option<&'static [&'static str]> {
        let mut from = self.versions.iter();
        from.find_map(|(since, versions)| (*since <= binary).then_some(*versions))
    }
}

/// By gate; sorted. A test finds out resources without a stable version that nobody names.
///
/// What is stored: kubernetes 1.35.4, 1.36.3, 1.37.2, `pkg/registry/*/rest/storage_*.go`. What is read: informers and clients of the
/// components that the gate is about (`cmd/kube-controller-manager/app`, `pkg/controlplane`, `pkg/kubelet`, `pkg/scheduler`,
/// `plugin/pkg/admission`; apiserver `pkg/admission/plugin/policy/mutating`).
pub(crate) const NEEDS: &[Need] = &[
    Need {
        gate: "ClusterTrustBundle",
        resources: &["clustertrustbundles"],
        is_stored_by_gate: true,
        versions: &[
            (
                Minor(37),
                &[
                    "certificates.k8s.io/v1",
                    "certificates.k8s.io/v1beta1",
                    "certificates.k8s.io/v1alpha1",
                ],
            ),
            (
                Minor(35),
                &[
                    "certificates.k8s.io/v1beta1",
                    "certificates.k8s.io/v1alpha1",
                ],
            ),
        ],
        waits: None,
    },
    Need {
        gate: "CompositePodGroup",
        resources: &["compositepodgroups"],
        is_stored_by_gate: true,
        versions: &[(Minor(37), &["scheduling.k8s.io/v1alpha3"])],
        waits: None,
    },
    Need {
        gate: "CoordinatedLeaderElection",
        resources: &["leasecandidates"],
        is_stored_by_gate: false,
        versions: &[(Minor(35), &["coordination.k8s.io/v1beta1"])],
        waits: Some((INFORMERS, &[Minor(35), Minor(36), Minor(37)])),
    },
    Need {
        gate: "DRADeviceTaintRules",
        resources: &["devicetaintrules"],
        is_stored_by_gate: false,
        versions: &[
            (Minor(37), &["resource.k8s.io/v1"]),
            (Minor(36), &["resource.k8s.io/v1beta2"]),
            (Minor(35), &["resource.k8s.io/v1alpha3"]),
        ],
        waits: None,
    },
    Need {
        gate: "DRAResourcePoolStatus",
        resources: &["resourcepoolstatusrequests"],
        is_stored_by_gate: false,
        versions: &[(Minor(36), &["resource.k8s.io/v1alpha3"])],
        waits: None,
    },
    Need {
        gate: "EvictionRequestAPI",
        resources: &["evictionrequests", "evictions"],
        is_stored_by_gate: true,
        versions: &[(Minor(37), &["lifecycle.k8s.io/v1alpha1"])],
        waits: None,
    },
    Need {
        gate: "GenericWorkload",
        resources: &["podgroups", "workloads"],
        is_stored_by_gate: true,
        versions: &[
            (Minor(37), &["scheduling.k8s.io/v1beta1"]),
            (Minor(36), &["scheduling.k8s.io/v1alpha2"]),
            (Minor(35), &["scheduling.k8s.io/v1alpha1"]),
        ],
        waits: Some((INFORMERS, &[Minor(36)])),
    },
    Need {
        gate: "MutatingAdmissionPolicy",
        resources: &[
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ],
        is_stored_by_gate: false,
        versions: &[
            (Minor(36), &["admissionregistration.k8s.io/v1"]),
            (Minor(35), &["admissionregistration.k8s.io/v1beta1"]),
        ],
        waits: Some((INFORMERS, &[Minor(35), Minor(36), Minor(37)])),
    },
    Need {
        gate: "PodCertificateRequest",
        resources: &["podcertificaterequests"],
        is_stored_by_gate: true,
        versions: &[
            (Minor(37), &["certificates.k8s.io/v1"]),
            (Minor(35), &["certificates.k8s.io/v1beta1"]),
        ],
        waits: Some((INFORMERS, &[Minor(35), Minor(36), Minor(37)])),
    },
    Need {
        gate: "StorageVersionAPI",
        resources: &["storageversions"],
        is_stored_by_gate: false,
        versions: &[(Minor(35), &["internal.apiserver.k8s.io/v1alpha1"])],
        waits: Some((
            "poststarthook/built-in-resources-storage-version-updater",
            &[Minor(35), Minor(36), Minor(37)],
        )),
    },
    Need {
        gate: "StorageVersionMigrator",
        resources: &["storageversionmigrations"],
        is_stored_by_gate: true,
        versions: &[
            (Minor(37), &["storagemigration.k8s.io/v1"]),
            (Minor(35), &["storagemigration.k8s.io/v1beta1"]),
        ],
        waits: None,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn every_file_of_a_minor_is_embedded_and_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/apis");
        let files = folder.read_dir().expect("the folder is there");
        let files = files.map(|entry| entry.expect("it can be listed").file_name());
        let names = files.filter_map(|name| name.into_string().ok());
        let files: BTreeSet<Minor> = names
            .filter_map(|name| Minor::parse(name.strip_suffix(".jsonl")?))
            .collect();
        assert_eq!(files, MINORS.iter().map(|(minor, _)| *minor).collect());
        for (minor, text) in MINORS {
            let versions = of(*minor).expect("it is known");
            assert_eq!(versions.len(), text.lines().count(), "{minor}");
        }
    }

    /// What a gate needs is registered; the gate is one of the minor.
    #[test]
    fn needs_are_of_what_there_is() {
        assert!(NEEDS.is_sorted_by_key(|need| need.gate));
        for (minor, _) in MINORS {
            let known = of(*minor).expect("it is known");
            for need in NEEDS {
                let Some(versions) = need.versions(*minor) else {
                    continue;
                };
                let gate = Catalogue::known().gate(need.gate, *minor);
                assert!(gate.is_some(), "{} {minor}", need.gate);
                for version in versions {
                    let resources = &known[version].resources;
                    let has = |name: &&&str| resources.contains_key(**name);
                    assert!(need.resources.iter().any(|it| has(&it)), "{version}");
                }
            }
        }
    }

    /// Each resource that has no stable version belongs to a gate: who adds a minor is told which ones are new.
    #[test]
    fn resources_without_a_stable_version_are_named() {
        /// Reviews, which a webhook is asked for, and resources of which nobody serves a version any more.
        const OTHERS: [&str; 3] = ["imagereviews", "priorityclasses", "selfsubjectreviews"];
        for (minor, _) in MINORS.iter().filter(|(minor, _)| *minor >= Minor(35)) {
            let known = of(*minor).expect("it is known");
            let group = |name: &str| name.rsplit_once('/').map(|(group, _)| group.to_owned());
            for (name, version) in known {
                let lives = |life: &Life| life.removed.is_none_or(|removed| removed > *minor);
                let new = version.resources.iter().filter(|(_, life)| lives(life));
                for (resource, _) in new {
                    let is_stable = known.iter().any(|(other, it)| {
                        group(other) == group(name)
                            && it.served
                            && it.resources.contains_key(resource)
                    });
                    let is_named = NEEDS.iter().any(|it| it.is_of(name, resource));
                    assert!(
                        version.served || is_stable || is_named || OTHERS.contains(resource),
                        "{resource} in {name} {minor}"
                    );
                }
            }
        }
    }
}
