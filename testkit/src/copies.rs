//! Many copies of what one moment of a scenario holds, as one List: a large cluster's answer without a large cluster.
//!
//! Each copy has UIDs and a namespace of its own; nodes are shared by a few copies, as Pods share them. Everything else
//! stays as the servers wrote it. It must not invent a field.

use std::io::{self, Write};

use serde_json::Value;

/// Copies that share nodes.
const COPIES_A_NODE: usize = 10;

/// The lists of one moment, as the server answered them.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    nodes: Vec<String>,
    /// Pods, and what a scheduler reported on them.
    objects: Vec<String>,
    pods: usize,
    namespace: String,
    node_names: Vec<String>,
    uids: Vec<String>,
}

impl Moment {
    /// Takes the lists of Pods, events and nodes apart.
    pub fn of(pods: &Value, events: &Value, nodes: &Value) -> Self {
        let mut moment = Self::default();
        for pod in items(pods) {
            moment.pods += 1;
            moment.namespace = text(pod, "/metadata/namespace");
            moment.objects.push(with_kind(pod, "Pod"));
        }
        for event in items(events) {
            if text(event, "/reportingComponent").ends_with("scheduler") {
                moment.objects.push(with_kind(event, "Event"));
            }
        }
        for node in items(nodes) {
            moment.node_names.push(text(node, "/metadata/name"));
            moment.nodes.push(with_kind(node, "Node"));
        }
        let uids = [pods, events, nodes]
            .into_iter()
            .flat_map(items)
            .map(|object| text(object, "/metadata/uid"));
        moment.uids = uids.collect();
        moment
    }

    /// Writes a List with at least so many Pods.
    pub fn write(&self, pods: usize, out: &mut dyn Write) -> io::Result<()> {
        write!(out, r#"{{"apiVersion":"v1","kind":"List","items":["#)?;
        let copies = pods.div_ceil(self.pods.max(1));
        for copy in 0..copies {
            let of_nodes = if copy % COPIES_A_NODE == 0 {
                self.nodes.as_slice()
            } else {
                &[]
            };
            for (n, object) in of_nodes.iter().chain(&self.objects).enumerate() {
                let separator = if copy + n == 0 { "" } else { "," };
                write!(out, "{separator}{}", self.copy(object, copy))?;
            }
        }
        writeln!(out, "]}}")
    }

    fn copy(&self, object: &str, copy: usize) -> String {
        let namespace = format!("{}-{copy}", self.namespace);
        let mut object = object.replace(&self.namespace, &namespace);
        for uid in &self.uids {
            // The last group of a UID has twelve digits.
            let kept = uid.rsplit_once('-').map_or("", |(kept, _)| kept);
            object = object.replace(uid, &format!("{kept}-{copy:012x}"));
        }
        for node in &self.node_names {
            let own = format!("{node}-{}", copy / COPIES_A_NODE);
            // A node's name stands alone, or at the end of a note.
            for before in ["\"", " ", "/"] {
                object = object.replace(&format!("{before}{node}\""), &format!("{before}{own}\""));
            }
        }
        object
    }
}

fn items(list: &Value) -> &[Value] {
    list.get("items")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// An item of a list does not say what it is.
fn with_kind(object: &Value, kind: &str) -> String {
    let mut object = object.clone();
    object["apiVersion"] = "v1".into();
    object["kind"] = kind.into();
    object.to_string()
}

fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn each_copy_has_its_own_names_and_uids() {
        let uid = |n: u32| format!("00000000-0000-4000-8000-00000000000{n}");
        let pods = json!({"items": [{
            "metadata": {"name": "web", "namespace": "shop", "uid": uid(1)},
            "spec": {"nodeName": "n1"},
        }]});
        let events = json!({"items": [
            {"metadata": {"uid": uid(2)}, "reportingComponent": "default-scheduler",
             "message": format!("Preempted by pod {} on node n1", uid(1))},
            {"metadata": {"uid": uid(3)}, "reportingComponent": "kubelet"},
        ]});
        let nodes = json!({"items": [{"metadata": {"name": "n1", "uid": uid(4)}}]});
        let mut list = Vec::new();
        Moment::of(&pods, &events, &nodes)
            .write(12, &mut list)
            .expect("a vector takes all");
        let list: Value = serde_json::from_slice(&list).expect("it is JSON");
        let of = |kind: &str, pointer: &str| -> Vec<String> {
            let all = items(&list).iter().filter(|item| item["kind"] == kind);
            all.map(|item| text(item, pointer)).collect()
        };
        assert_eq!(of("Node", "/metadata/name"), ["n1-0", "n1-1"]);
        assert_eq!(of("Pod", "/spec/nodeName")[9..], ["n1-0", "n1-1", "n1-1"]);
        let pods = of("Pod", "/metadata/uid");
        assert_eq!(pods.iter().collect::<BTreeSet<_>>().len(), 12);
        assert_eq!(of("Pod", "/metadata/namespace")[11], "shop-11");
        assert_eq!(
            of("Event", "/message")[11],
            format!("Preempted by pod {} on node n1-1", pods[11])
        );
    }
}
