//! Lays a moment's lists out as the tools do that people collect support data with.
//!
//! The objects are the server's own. What a moment's folder or a dump does not hold is left out here as well: nothing may be made up,
//! but the names of namespaces, which a list of all Pods gives.

#![expect(clippy::disallowed_methods, reason = "it reads and writes files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

/// Files by their names below the root.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A moment's lists.
#[derive(Debug, Clone)]
pub struct Lists {
    /// Namespace of the Pod that the moment is about; claims are of it alone.
    pub namespace: String,
    /// Its name.
    pub name: String,
    nodes: Vec<Value>,
    pods: Vec<Value>,
    /// By namespace, of those whose events were read.
    events: BTreeMap<String, Vec<Value>>,
    claims: Option<Vec<Value>>,
    version: Option<Value>,
}

impl Lists {
    /// Reads what [`crate::collect::collect`] wrote of a moment; events are of the Pod's namespace alone.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let file = |name: &str| json_file(&folder.join(name));
        let pod = file("pod.json")?;
        let mut pods = items(file("pods.json")?);
        // Read after the list, so that it is what the moment is about.
        pods.retain(|other| other["metadata"]["uid"] != pod["metadata"]["uid"]);
        let text = |key: &str| pod["metadata"][key].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        pods.push(pod);
        let events = file("events.json").map(items);
        Ok(Self {
            events: events
                .map(|events| (namespace.clone(), events))
                .into_iter()
                .collect(),
            namespace,
            name,
            nodes: items(file("nodes.json")?),
            pods,
            claims: file("claims.json").ok().map(items),
            version: file("version.json").ok(),
        })
    }

    /// Reads the same of a folder that `kubectl cluster-info dump` wrote at that moment, which has no claims and no version: those stay
    /// the moment's.
    pub fn read_dump(dump: &Path, folder: &Path) -> io::Result<Self> {
        let mut lists = Self {
            nodes: items(json_file(&dump.join("nodes.json"))?),
            pods: Vec::new(),
            events: BTreeMap::new(),
            ..Self::read(folder)?
        };
        for entry in fs::read_dir(dump)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let of = |name: &str| json_file(&entry.path().join(name)).map(items);
                lists.pods.extend(of("pods.json")?);
                let namespace = entry.file_name().to_string_lossy().into_owned();
                lists.events.insert(namespace, of("events.json")?);
            }
        }
        Ok(lists)
    }

    fn namespaces(&self) -> BTreeSet<&str> {
        self.pods
            .iter()
            .filter_map(|pod| pod["metadata"]["namespace"].as_str())
            .chain(self.events.keys().map(String::as_str))
            .chain([self.namespace.as_str()])
            .collect()
    }

    fn pods_of(&self, namespace: &str) -> Vec<Value> {
        let of_it = |pod: &&Value| pod["metadata"]["namespace"] == namespace;
        self.pods.iter().filter(of_it).cloned().collect()
    }

    /// `kubectl cluster-info dump --show-managed-fields --output-directory`: items carry no kind.
    pub fn cluster_info_dump(&self) -> Files {
        let mut files = Files::new();
        let mut write = |name: String, kind: &str, items: Vec<Value>| {
            files.insert(
                name,
                pretty(&list(kind, &items.iter().map(bare).collect::<Vec<_>>())),
            );
        };
        write("nodes.json".to_owned(), "Node", self.nodes.clone());
        for namespace in self.namespaces() {
            write(
                format!("{namespace}/pods.json"),
                "Pod",
                self.pods_of(namespace),
            );
            let controllers = format!("{namespace}/replication-controllers.json");
            write(controllers, "ReplicationController", Vec::new());
        }
        for (namespace, events) in &self.events {
            write(format!("{namespace}/events.json"), "Event", events.clone());
        }
        files
    }

    /// The same dump as it is printed, with a log behind each namespace.
    pub fn printed_dump(&self) -> String {
        let mut text = String::new();
        let files = self.cluster_info_dump();
        let files = files.iter().rev();
        for (name, content) in files {
            text.push_str(&String::from_utf8_lossy(content));
            text.push('\n');
            if let Some((namespace, "pods.json")) = name.split_once('/') {
                let container = format!("container c of pod {namespace}/p ====\n");
                text = format!(
                    "{text}==== START logs for {container}{{ no end of line==== END logs for {container}"
                );
            }
        }
        format!("{text}Cluster info dumped to standard output\n")
    }

    /// `oc adm must-gather`: YAML, the nodes and the moment's Pod as single objects, the rest as lists.
    pub fn must_gather(&self) -> Files {
        let root = "must-gather.local.42/quay-io-openshift-release";
        let mut files = Files::new();
        let mut write = |name: String, object: &Value| {
            files.insert(format!("{root}/{name}"), yaml(object));
        };
        for node in &self.nodes {
            let name = node["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("cluster-scoped-resources/core/nodes/{name}.yaml");
            write(path, &typed("Node", node));
        }
        for namespace in self.namespaces() {
            let mut of_list = |resource: &str, kind: &str, items: Vec<Value>| {
                let items: Vec<Value> = items.iter().map(|item| typed(kind, item)).collect();
                write(
                    format!("namespaces/{namespace}/core/{resource}.yaml"),
                    &list(kind, &items),
                );
            };
            of_list("pods", "Pod", self.pods_of(namespace));
            if let Some(events) = self.events.get(namespace) {
                of_list("events", "Event", events.clone());
            }
            if let Some(claims) = self.claims.as_ref().filter(|_| namespace == self.namespace) {
                of_list(
                    "persistentvolumeclaims",
                    "PersistentVolumeClaim",
                    claims.clone(),
                );
            }
        }
        for pod in self.pods_of(&self.namespace) {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("namespaces/{}/pods/{name}/{name}.yaml", self.namespace);
            write(path, &typed("Pod", &pod));
        }
        files.insert(
            format!("{root}/timestamp"),
            b"2026-11-30 08:00:00 +0000 UTC m=+0.1\n2026-11-30 08:03:00 +0000 UTC m=+180.1\n"
                .to_vec(),
        );
        files
    }

    /// A support bundle of troubleshoot.sh that was taken of all namespaces: lists and items carry their kind.
    pub fn replicated(&self) -> Files {
        let root = "support-bundle-2026-11-30T08_03_00";
        let mut files = Files::from([(
            format!("{root}/version.yaml"),
            b"apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\n".to_vec(),
        )]);
        let mut write = |name: String, kind: &str, items: Vec<Value>| {
            let items: Vec<Value> = items.iter().map(|item| typed(kind, item)).collect();
            let name = format!("{root}/cluster-resources/{name}.json");
            files.insert(name, pretty(&list(kind, &items)));
        };
        write("nodes".to_owned(), "Node", self.nodes.clone());
        let namespaces = self.namespaces();
        let named = |name: &&str| json!({"metadata": {"name": name}});
        let all = namespaces.iter().map(named).collect();
        write("namespaces".to_owned(), "Namespace", all);
        for namespace in &namespaces {
            write(format!("pods/{namespace}"), "Pod", self.pods_of(namespace));
        }
        for (namespace, events) in &self.events {
            write(format!("events/{namespace}"), "Event", events.clone());
        }
        if let Some(claims) = &self.claims {
            let name = format!("pvcs/{}", self.namespace);
            write(name, "PersistentVolumeClaim", claims.clone());
        }
        if let Some(version) = &self.version {
            let told = json!({"info": version, "string": version["gitVersion"]});
            let name = format!("{root}/cluster-info/cluster_version.json");
            files.insert(name, pretty(&told));
        }
        files
    }
}

fn json_file(path: &Path) -> io::Result<Value> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

fn items(list: Value) -> Vec<Value> {
    match list {
        Value::Object(mut fields) => match fields.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Writes files below a folder.
pub fn write(files: &Files, folder: &Path) -> io::Result<()> {
    for (name, content) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

/// A list as a server answers it.
fn list(kind: &str, items: &[Value]) -> Value {
    json!({
        "kind": format!("{kind}List"),
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1"},
        "items": items,
    })
}

fn typed(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    object["kind"] = kind.into();
    object["apiVersion"] = "v1".into();
    object
}

fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}

fn pretty(value: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(value).unwrap_or_default()
}

fn yaml(value: &Value) -> Vec<u8> {
    serde_saphyr::to_string(value)
        .unwrap_or_default()
        .into_bytes()
}
