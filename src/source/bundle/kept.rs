//! What a bundle may hold of an object: the one list of it.
//!
//! Everything else stays out: what is not named here is passed over while it is read and never becomes a value. The list
//! is what the decoders read; a test compares them. It must not judge.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::redact::Redactor;
use crate::model::component::ComponentKind;
use crate::source::component::{self, flags::GateWords};
use crate::source::decode::Decoder;

/// What is kept of a value.
#[derive(Debug)]
enum Keep {
    /// A number, a time or a word of the API.
    Word,
    /// The same of what people and programs choose: a redaction may replace it.
    Text,
    /// That it is there, and nothing of it.
    There,
    /// Of a command the component that it starts, and the flags of its gates.
    Gates,
    /// Of an image the tag, where that is a version of Kubernetes.
    Tag,
    /// A word that names a component of the cluster; no other.
    Component,
    Fields(&'static [(&'static str, Self)]),
    Each(&'static Self),
    /// Whatever its keys are; a redaction may replace them.
    Map(&'static Self),
}

use Keep::{Component, Each, Fields, Gates, Map as Keys, Tag, Text, There, Word};

const OWNERS: Keep = Each(&Fields(&[
    ("kind", Word),
    ("name", Text),
    ("uid", Word),
    ("controller", Word),
]));

/// The fields of a placement's story, by their presence.
const OWNED: Keep = Fields(&[
    (
        "f:metadata",
        Fields(&[(
            "f:annotations",
            Fields(&[("f:nominate.kube-placement.dev/decision", There)]),
        )]),
    ),
    ("f:spec", Fields(&[("f:nodeName", There)])),
    (
        "f:status",
        Fields(&[
            ("f:nominatedNodeName", There),
            (
                "f:conditions",
                Fields(&[(
                    r#"k:{"type":"PodScheduled"}"#,
                    Fields(&[("f:message", There)]),
                )]),
            ),
        ]),
    ),
]);

const RESOURCES: Keep = Fields(&[
    ("limits", Keys(&Word)),
    ("requests", Keys(&Word)),
    (
        "claims",
        Each(&Fields(&[("name", Text), ("request", Text)])),
    ),
]);

const MOUNTS: Keep = Each(&Fields(&[("bindMountOptions", Each(&Word))]));

const CONTAINERS: Keep = Each(&Fields(&[
    ("name", Component),
    ("image", Tag),
    ("command", Gates),
    ("args", Gates),
    ("resources", RESOURCES),
    ("restartPolicy", Word),
    ("restartPolicyRules", Each(&Fields(&[("action", Word)]))),
    ("volumeMounts", MOUNTS),
]));

const POD: Keep = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Text),
            ("namespace", Text),
            ("uid", Word),
            ("resourceVersion", Word),
            ("creationTimestamp", Word),
            ("deletionTimestamp", Word),
            ("deletionGracePeriodSeconds", Word),
            ("finalizers", Each(&Text)),
            ("ownerReferences", OWNERS),
            (
                "annotations",
                Fields(&[
                    ("nominate.kube-placement.dev/decision", Text),
                    ("kubernetes.io/config.mirror", Word),
                    ("kubernetes.io/config.source", Word),
                ]),
            ),
            ("labels", Keys(&Text)),
            (
                "managedFields",
                Each(&Fields(&[
                    ("manager", Text),
                    ("subresource", Word),
                    ("time", Word),
                    ("fieldsV1", OWNED),
                ])),
            ),
        ]),
    ),
    (
        "spec",
        Fields(&[
            ("schedulerName", Text),
            ("priority", Word),
            ("preemptionPolicy", Word),
            ("nodeName", Text),
            ("schedulingGates", Each(&Fields(&[("name", Text)]))),
            ("schedulingGroup", Fields(&[("podGroupName", Text)])),
            ("containers", CONTAINERS),
            ("initContainers", CONTAINERS),
            (
                "ephemeralContainers",
                Each(&Fields(&[("volumeMounts", MOUNTS)])),
            ),
            ("hostNetwork", Word),
            ("hostUsers", Word),
            ("overhead", Keys(&Word)),
            ("resources", RESOURCES),
            ("nodeSelector", Keys(&Text)),
            ("affinity", AFFINITY),
            (
                "tolerations",
                Each(&Fields(&[
                    ("key", Text),
                    ("operator", Word),
                    ("value", Text),
                    ("effect", Word),
                ])),
            ),
            (
                "volumes",
                Each(&Fields(&[
                    ("name", Text),
                    ("persistentVolumeClaim", Fields(&[("claimName", Text)])),
                    ("emptyDir", Fields(&[("medium", Word), ("sizeLimit", Word)])),
                ])),
            ),
        ]),
    ),
    (
        "status",
        Fields(&[
            ("phase", Word),
            ("reason", Text),
            ("message", Text),
            ("qosClass", Word),
            ("startTime", Word),
            ("nominatedNodeName", Text),
            (
                "conditions",
                Each(&Fields(&[
                    ("type", Word),
                    ("status", Word),
                    ("reason", Text),
                    ("message", Text),
                    ("lastTransitionTime", Word),
                ])),
            ),
        ]),
    ),
]);

const NODE: Keep = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Text),
            ("uid", Word),
            ("resourceVersion", Word),
            ("creationTimestamp", Word),
            ("labels", Keys(&Text)),
            (
                "managedFields",
                Each(&Fields(&[
                    ("manager", Text),
                    ("subresource", Word),
                    ("time", Word),
                    (
                        "fieldsV1",
                        Fields(&[(
                            "f:status",
                            Fields(&[
                                ("f:declaredFeatures", There),
                                (
                                    "f:conditions",
                                    Fields(&[(
                                        r#"k:{"type":"Ready"}"#,
                                        Fields(&[("f:lastHeartbeatTime", There)]),
                                    )]),
                                ),
                            ]),
                        )]),
                    ),
                ])),
            ),
        ]),
    ),
    (
        "spec",
        Fields(&[
            ("unschedulable", Word),
            (
                "taints",
                Each(&Fields(&[("key", Text), ("value", Text), ("effect", Word)])),
            ),
        ]),
    ),
    (
        "status",
        Fields(&[
            (
                "conditions",
                Each(&Fields(&[
                    ("type", Word),
                    ("status", Word),
                    ("lastTransitionTime", Word),
                    ("lastHeartbeatTime", Word),
                ])),
            ),
            ("allocatable", Keys(&Word)),
            (
                "nodeInfo",
                Fields(&[("kubeletVersion", Word), ("containerRuntimeVersion", Word)]),
            ),
            ("declaredFeatures", Each(&Text)),
        ]),
    ),
]);

const REFERENCE: Keep = Fields(&[
    ("kind", Word),
    ("namespace", Text),
    ("name", Text),
    ("uid", Word),
    ("resourceVersion", Word),
]);

const EVENT: Keep = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Text),
            ("namespace", Text),
            ("uid", Word),
            ("creationTimestamp", Word),
            ("managedFields", Each(&Fields(&[("manager", Text)]))),
        ]),
    ),
    ("involvedObject", REFERENCE),
    ("regarding", REFERENCE),
    ("related", REFERENCE),
    ("reason", Text),
    ("message", Text),
    ("note", Text),
    ("type", Word),
    ("reportingComponent", Text),
    ("reportingController", Text),
    ("source", Fields(&[("component", Text)])),
    ("deprecatedSource", Fields(&[("component", Text)])),
    ("eventTime", Word),
    ("firstTimestamp", Word),
    ("deprecatedFirstTimestamp", Word),
    ("lastTimestamp", Word),
    ("deprecatedLastTimestamp", Word),
    ("count", Word),
    ("deprecatedCount", Word),
    (
        "series",
        Fields(&[("count", Word), ("lastObservedTime", Word)]),
    ),
]);

const CLAIM: Keep = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Text),
            ("namespace", Text),
            (
                "annotations",
                Fields(&[("volume.kubernetes.io/selected-node", Text)]),
            ),
        ]),
    ),
    ("status", Fields(&[("phase", Word)])),
]);

const EXPRESSIONS: Keep = Each(&Fields(&[
    ("key", Text),
    ("operator", Word),
    ("values", Each(&Text)),
]));

const SELECTOR: Keep = Fields(&[
    ("matchLabels", Keys(&Text)),
    ("matchExpressions", EXPRESSIONS),
]);

/// What is required of nodes alone: of other Pods nothing is read.
const AFFINITY: Keep = Fields(&[(
    "nodeAffinity",
    Fields(&[(
        "requiredDuringSchedulingIgnoredDuringExecution",
        Fields(&[(
            "nodeSelectorTerms",
            Each(&Fields(&[
                ("matchExpressions", EXPRESSIONS),
                ("matchFields", EXPRESSIONS),
            ])),
        )]),
    )]),
)]);

const WORKLOAD: Keep = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Text),
            ("namespace", Text),
            ("uid", Word),
            ("ownerReferences", OWNERS),
        ]),
    ),
    ("spec", Fields(&[("selector", SELECTOR)])),
]);

const VERSION: Keep = Fields(&[
    ("major", Word),
    ("minor", Word),
    ("emulationMinor", Word),
    ("minCompatibilityMinor", Word),
    ("gitVersion", Word),
]);

const LEASE: Keep = Fields(&[
    (
        "metadata",
        Fields(&[
            ("name", Text),
            ("namespace", Word),
            (
                "labels",
                Fields(&[
                    ("apiserver.kubernetes.io/identity", Word),
                    ("kubernetes.io/hostname", Text),
                ]),
            ),
            (
                "annotations",
                Fields(&[("kubernetes.io/peer-advertise-address", Text)]),
            ),
        ]),
    ),
    (
        "spec",
        Fields(&[("leaseDurationSeconds", Word), ("renewTime", Word)]),
    ),
]);

const CLUSTER_ROLE: Keep = Fields(&[
    (
        "metadata",
        Fields(&[("name", Text), ("labels", Keys(&Text))]),
    ),
    (
        "rules",
        Each(&Fields(&[
            ("verbs", Each(&Word)),
            ("apiGroups", Each(&Word)),
            ("resources", Each(&Word)),
            ("resourceNames", Each(&Text)),
        ])),
    ),
    (
        "aggregationRule",
        Fields(&[("clusterRoleSelectors", Each(&SELECTOR))]),
    ),
]);

const CLUSTER_ROLE_BINDING: Keep = Fields(&[
    ("metadata", Fields(&[("name", Text)])),
    ("roleRef", Fields(&[("name", Text)])),
    (
        "subjects",
        Each(&Fields(&[
            ("kind", Word),
            ("namespace", Text),
            ("name", Text),
        ])),
    ),
]);

const ENDPOINT_SLICE: Keep = Fields(&[
    ("metadata", Fields(&[("name", Text), ("namespace", Text)])),
    ("endpoints", Each(&Fields(&[("addresses", Each(&Text))]))),
    ("ports", Each(&Fields(&[("port", Word)]))),
]);

/// Statements of our own form, which hold nothing else: a redaction may replace names.
const STATEMENTS: Keep = Fields(&[(
    "components",
    Each(&Fields(&[
        ("name", Text),
        ("pool", Text),
        (
            "statements",
            Each(&Fields(&[
                ("document", Word),
                ("runs", Keys(&Word)),
                ("set", Keys(&Word)),
                ("refused", Each(&Text)),
                ("cpuManagerPolicy", Word),
                ("version", Word),
                ("emulationVersion", Word),
                ("minCompatibilityVersion", Word),
                ("startedAt", Word),
            ])),
        ),
    ])),
)]);

/// By the kinds of the decoders, sorted.
const KEPT: &[(&str, Keep)] = &[
    ("Cluster", STATEMENTS),
    ("ClusterConfiguration", STATEMENTS),
    ("ClusterRole", CLUSTER_ROLE),
    ("ClusterRoleBinding", CLUSTER_ROLE_BINDING),
    ("ComponentStatements", STATEMENTS),
    ("ConfigMap", STATEMENTS),
    ("CronJob", WORKLOAD),
    ("DaemonSet", WORKLOAD),
    ("Deployment", WORKLOAD),
    ("EndpointSlice", ENDPOINT_SLICE),
    ("Event", EVENT),
    ("GateSnapshot", STATEMENTS),
    ("InitConfiguration", STATEMENTS),
    ("Job", WORKLOAD),
    ("JoinConfiguration", STATEMENTS),
    ("K3sConfig", STATEMENTS),
    ("KubeProxyConfiguration", STATEMENTS),
    ("KubeadmConfig", STATEMENTS),
    ("KubeadmConfigTemplate", STATEMENTS),
    ("KubeadmControlPlane", STATEMENTS),
    ("KubeletConfiguration", STATEMENTS),
    ("Lease", LEASE),
    ("MachineDeployment", STATEMENTS),
    ("Node", NODE),
    ("PersistentVolumeClaim", CLAIM),
    ("Pod", POD),
    ("ReplicaSet", WORKLOAD),
    ("Simple", STATEMENTS),
    ("StatefulSet", WORKLOAD),
    ("TalosConfig", STATEMENTS),
    ("Version", VERSION),
];

fn of(kind: &str) -> Option<&'static Keep> {
    KEPT.iter()
        .find(|(known, _)| *known == kind)
        .map(|(_, keep)| keep)
}

/// What is kept of an object that its decoder understands; null of one that is no JSON.
pub(in crate::source) fn reduce(decoder: &Decoder, api_version: &str, json: &str) -> Value {
    let Some(keep) = of(decoder.kind) else {
        return Value::Null;
    };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let mut object = keep.deserialize(&mut deserializer).unwrap_or_default();
    // `/version` answers an object without either.
    if let (Value::Object(fields), true) = (&mut object, decoder.kind != "Version") {
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), decoder.kind.into());
    }
    object
}

/// Redacts a reduced object, in the texts that people and programs choose.
pub(super) fn redact(object: &mut Value, redactor: &mut Redactor) {
    let kind = object.get("kind").and_then(Value::as_str);
    if let Some(keep) = of(kind.unwrap_or("Version")) {
        keep.redact(object, redactor);
    }
}

impl Keep {
    fn redact(&self, value: &mut Value, redactor: &mut Redactor) {
        match (self, value) {
            (Text, Value::String(text)) => redactor.redact(text),
            (Fields(fields), Value::Object(object)) => {
                for (name, keep) in *fields {
                    if let Some(value) = object.get_mut(*name) {
                        keep.redact(value, redactor);
                    }
                }
            }
            (Each(keep), Value::Array(values)) => {
                for value in values {
                    keep.redact(value, redactor);
                }
            }
            (Keys(keep), Value::Object(object)) => {
                for (mut key, mut value) in std::mem::take(object) {
                    redactor.redact(&mut key);
                    keep.redact(&mut value, redactor);
                    object.insert(key, value);
                }
            }
            _ => {}
        }
    }

    /// What is kept of a scalar.
    fn scalar(&self, value: Value) -> Value {
        match self {
            Word | Text => value,
            There => Value::Object(Map::new()),
            Fields(_) | Each(_) | Keys(_) | Gates | Tag | Component => Value::Null,
        }
    }

    /// What is left of a list or an object where none is expected.
    fn other(&self) -> Value {
        self.scalar(Value::Null)
    }
}

impl<'de> DeserializeSeed<'de> for &Keep {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if let There = self {
            // Nothing of it is looked at, however deep it is.
            let there = Option::<IgnoredAny>::deserialize(deserializer)?;
            return Ok(there.map_or(Value::Null, |_| self.other()));
        }
        if let Gates = self {
            let words = GateWords::deserialize(deserializer)?;
            return Ok(if words.0.is_empty() {
                Value::Null
            } else {
                words.0.into()
            });
        }
        deserializer.deserialize_any(self)
    }
}

use serde::Deserialize as _;

impl<'de> Visitor<'de> for &Keep {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(self.scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(self.scalar(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        if let Tag = self {
            let version = component::version_of_image(value);
            return Ok(version.map_or(Value::Null, |version| format!(":{version}").into()));
        }
        if let Component = self {
            let known = ComponentKind::of_word(value);
            return Ok(known.map_or(Value::Null, |kind| kind.word().into()));
        }
        Ok(self.scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        if let Each(keep) = self {
            let mut kept = Vec::new();
            while let Some(value) = items.next_element_seed(*keep)? {
                kept.push(value);
            }
            return Ok(Value::Array(kept));
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.other())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let keep = match self {
                Fields(fields) => fields.iter().find(|(name, _)| *name == key),
                Keys(keep) => {
                    let value = map.next_value_seed(*keep)?;
                    kept.insert(key, value);
                    continue;
                }
                _ => None,
            };
            match keep {
                Some((_, keep)) => {
                    let value = map.next_value_seed(keep)?;
                    if !(value.is_null() && matches!(keep, Component | Gates | Tag)) {
                        kept.insert(key, value);
                    }
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(match self {
            Fields(_) | Keys(_) => Value::Object(kept),
            _ => self.other(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::Content;
    use crate::model::node::Node;
    use crate::source::decode::DECODERS;
    use std::path::{Path, PathBuf};

    #[test]
    fn every_kind_that_is_read_has_its_line() {
        let mut kinds: Vec<&str> = DECODERS.iter().map(|decoder| decoder.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let lines: Vec<&str> = KEPT.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(lines, kinds);
    }

    fn recorded(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                recorded(&path, found);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.push(path);
            }
        }
    }

    fn without_endpoint(content: Content) -> Content {
        match content {
            Content::Node(node) => Content::Node(Box::new(Node {
                kubelet_endpoint: None,
                ..*node
            })),
            other => other,
        }
    }

    /// Answers of real servers: what is kept is decoded to the same facts as the whole, and is much less.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads files")]
    fn what_is_kept_tells_the_same_as_the_whole() {
        let mut files = Vec::new();
        recorded(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded"),
            &mut files,
        );
        let mut compared = 0;
        for file in files {
            let bytes = std::fs::read(&file).expect("it can be read");
            let whole = crate::source::document::read_to_keep(&bytes);
            let kept = Value::Array(whole.kept.expect("it was asked for")).to_string();
            let again = crate::source::document::read(kept.as_bytes());
            // Where a kubelet listens is for a client, and no bundle has a client.
            let due: Vec<Content> = whole.contents.into_iter().map(without_endpoint).collect();
            assert_eq!(again.contents, due, "{}", file.display());
            compared += again.contents.len();
        }
        assert!(compared > 1000, "only {compared} objects were compared");
    }

    #[test]
    fn what_is_not_named_is_not_kept() {
        let pod = r#"{"metadata": {"name": "web", "annotations": {"a": "CANARY"}, "managedFields": [{"manager": "m",
            "fieldsV1": {"f:status": {"f:nominatedNodeName": "CANARY", "f:x": {}}, "f:spec": "CANARY"}}]},
            "spec": {"containers": [{"name": "c", "command": ["/bin/kube-scheduler", "--token=CANARY", "--feature-gates=A=true", "CANARY"], "args": ["CANARY"], "image": "CANARY/a:v1.37.2@sha256:CANARY", "env": [{"name": "A", "value": "CANARY"}], "resources": "CANARY"}],
            "nodeName": {"x": ["CANARY"]}, "nodeSelector": {"a": "b"}, "affinity": {"podAffinity": "CANARY", "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"], "x": "CANARY"}]}]}, "preferredDuringSchedulingIgnoredDuringExecution": ["CANARY"]}}, "volumes": [{"secret": {"secretName": "CANARY"}}]}, "status": ["CANARY"]}"#;
        let decoder = crate::source::decode::find("v1", "Pod").expect("Pods are read");
        let kept = reduce(decoder, "v1", pod);
        let due = serde_json::json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "annotations": {}, "managedFields": [{"manager": "m",
                "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}, "f:spec": null}}]},
            "spec": {"containers": [{"command": ["/bin/kube-scheduler", "--feature-gates=A=true"], "image": ":v1.37.2", "resources": null}], "nodeName": null, "nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}}, "volumes": [{}]}, "status": null});
        assert_eq!(kept, due);
    }
}
