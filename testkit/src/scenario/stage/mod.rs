//! Where a scenario plays: a namespace, clients for those who act, and the waits that all scenarios share.
//!
//! It must not retry and must not sleep; amounts of CPU are computed from the nodes that are there.

mod nodes;
mod outsider;
mod room;
mod volumes;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Moment, Observer, ScenarioError};
use crate::client::{CEILING, Client, ClientError};
use crate::cluster::Cluster;

pub(super) use outsider::{decision, decision_for};

/// The field manager of the one who makes the Pods.
const AUTHOR: &str = "author";
/// The field manager of the outsider who nominates.
const OUTSIDER: &str = "observer";

const NODES: &str = "/api/v1/nodes";

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// The stage of one scenario.
pub struct Stage<'a> {
    cluster: &'a Cluster,
    observer: &'a mut dyn Observer,
    scenario: &'static str,
    /// The namespace that Pods are named in; one of `namespaces`.
    namespace: String,
    namespaces: Vec<String>,
    author: Client,
    outsider: Client,
    moments: Vec<&'static str>,
    /// Nodes that are closed and have to be opened again.
    cordoned: Vec<String>,
    /// Components that are dead and have to be started again.
    killed: Vec<String>,
    /// Components that stand still and have to go on.
    frozen: Vec<String>,
    /// Nodes with a taint of ours.
    tainted: Vec<String>,
    /// Manifests that kubelets run by themselves.
    manifests: Vec<PathBuf>,
    /// Schedulers that were started and have to end.
    schedulers: Vec<String>,
    /// Paths of objects that are in no namespace.
    made: Vec<String>,
}

impl<'a> Stage<'a> {
    /// Makes a namespace: the scenario's name, with a number if it has been played before.
    pub(super) async fn set(
        cluster: &'a Cluster,
        scenario: &'static str,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, ScenarioError> {
        let author = cluster.client("admin").await?.with_field_manager(AUTHOR);
        let outsider = cluster
            .client("recommender")
            .await?
            .with_field_manager(OUTSIDER);
        let mut namespace = scenario.to_owned();
        let mut played: u32 = 1;
        while !create_if_absent(
            &author,
            "/api/v1/namespaces",
            &json!({"metadata": {"name": namespace}}),
        )
        .await?
        {
            played = played.saturating_add(1);
            namespace = format!("{scenario}-{played}");
        }
        Ok(Self {
            cluster,
            observer,
            scenario,
            namespaces: vec![namespace.clone()],
            namespace,
            author,
            outsider,
            moments: Vec::new(),
            cordoned: Vec::new(),
            killed: Vec::new(),
            frozen: Vec::new(),
            tainted: Vec::new(),
            manifests: Vec::new(),
            schedulers: Vec::new(),
            made: Vec::new(),
        })
    }

    /// Starts what was killed, opens what was closed, deletes the Pods and waits until they have gone, since the next
    /// scenario needs their room.
    ///
    /// The kubelet itself has to end them: it counts a Pod that was deleted by force until it notices, and rejects the
    /// next one. The namespaces and what is made of volumes go by themselves.
    pub(super) async fn clear(mut self) -> Result<(), ScenarioError> {
        while let Some(component) = self.killed.pop() {
            self.cluster.start_again(&component)?;
        }
        while let Some(component) = self.frozen.pop() {
            self.cluster.thaw(&component)?;
        }
        while let Some(node) = self.cordoned.pop() {
            self.set_unschedulable(&node, false).await?;
        }
        while let Some(node) = self.tainted.pop() {
            self.set_taint(&node, false).await?;
        }
        while let Some(manifest) = self.manifests.pop() {
            std::fs::remove_file(manifest).map_err(|error| manifest_trouble(&error))?;
        }
        for namespace in self.namespaces.clone() {
            self.namespace = namespace;
            let pods = self.pods();
            self.author.delete(&pods, Some(1)).await?;
            for pod in self.author.list(&pods, &[]).await? {
                let name = text(&pod, "/metadata/name");
                if pod.pointer("/metadata/finalizers").is_some() {
                    self.set_finalizers(&name, &[]).await?;
                }
                self.author.watch_until_gone(&pods, &name).await?;
            }
            self.author
                .delete(&format!("/api/v1/namespaces/{}", self.namespace), None)
                .await?;
        }
        for path in &self.made {
            self.author.delete(path, None).await?;
        }
        for scheduler in &self.schedulers {
            self.cluster.stop(scheduler)?;
        }
        Ok(())
    }

    /// The namespace that Pods are named in.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Names Pods in another namespace from now on, which is made if it is new.
    pub(super) async fn enter(&mut self, namespace: &str) -> Result<(), ScenarioError> {
        if self.namespaces.iter().all(|known| known != namespace) {
            let object = json!({"metadata": {"name": namespace}});
            self.author.create("/api/v1/namespaces", &object).await?;
            self.namespaces.push(namespace.to_owned());
        }
        namespace.clone_into(&mut self.namespace);
        Ok(())
    }

    /// The moments that were reached.
    pub(super) fn moments(&self) -> &[&'static str] {
        &self.moments
    }

    /// Stops at a moment.
    pub(super) async fn at(&mut self, name: &'static str, pod: &str) -> Result<(), ScenarioError> {
        self.moments.push(name);
        let moment = Moment {
            scenario: self.scenario,
            name,
            namespace: &self.namespace,
            pod,
        };
        let observed = self.observer.at(self.cluster, moment).await;
        observed.map_err(|source| ScenarioError::Observer {
            moment: name.to_owned(),
            pod: pod.to_owned(),
            source,
        })
    }

    /// Returns a node's whole CPU in thousandths, as Pods may request it.
    pub(super) async fn cpu_of(&self, node: &str) -> Result<u64, ScenarioError> {
        let node = self.author.get(&format!("{NODES}/{node}")).await?;
        let amount = text(&node, "/status/allocatable/cpu");
        thousandths(&amount)
            .ok_or_else(|| ScenarioError::Unexpected(format!("the node has {amount:?} CPUs")))
    }

    /// Makes a priority class, unless an earlier scenario has.
    pub(super) async fn priority_class(&self, name: &str, value: i32) -> Result<(), ScenarioError> {
        let class = json!({"metadata": {"name": name}, "value": value});
        let is_new = create_if_absent(
            &self.author,
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            &class,
        )
        .await?;
        if !is_new {
            return Ok(());
        }
        // Admission learns of it a moment later.
        let mut spec = wanting(1);
        spec["priorityClassName"] = json!(name);
        let probe = json!({"metadata": {"name": "probe"}, "spec": spec});
        let path = format!("{}?dryRun=All", self.pods());
        let why = format!("no Pod may have the class {name}");
        self.until(&why, async || {
            self.author.create(&path, &probe).await.is_ok()
        })
        .await
    }

    /// Asks until the answer is yes, where nothing that can be watched says when.
    async fn until(&self, why_not: &str, ask: impl AsyncFn() -> bool) -> Result<(), ScenarioError> {
        let asking = async {
            while !ask().await {
                tokio::task::yield_now().await;
            }
        };
        let answered = tokio::time::timeout(CEILING, asking).await;
        answered.map_err(|_| ScenarioError::Unexpected(why_not.to_owned()))
    }

    /// Makes a Pod of a specification.
    pub(super) async fn create(&self, name: &str, spec: &Value) -> Result<Value, ScenarioError> {
        let pod =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec});
        Ok(self.author.create(&self.pods(), &pod).await?)
    }

    /// Makes a group of Pods that are placed together, at least so many of them, or not at all.
    ///
    /// The scheduler fails on members whose priority is not the group's.
    pub(super) async fn pod_group(
        &self,
        name: &str,
        members: u32,
        priority_class: Option<&str>,
    ) -> Result<(), ScenarioError> {
        let group = json!({
            "metadata": {"name": name},
            "spec": {
                "priorityClassName": priority_class,
                "schedulingPolicy": {"gang": {"minCount": members}},
            },
        });
        let path = format!(
            "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups",
            self.namespace
        );
        self.author.create(&path, &group).await?;
        Ok(())
    }

    /// Makes an object that is in no namespace; it goes when the scenario ends.
    pub(super) async fn make(
        &mut self,
        collection: &str,
        object: &Value,
    ) -> Result<(), ScenarioError> {
        self.author.create(collection, object).await?;
        let name = text(object, "/metadata/name");
        self.made.push(format!("{collection}/{name}"));
        Ok(())
    }

    /// Has the server refuse every binding in this namespace with some words, and waits until it does.
    pub(super) async fn refuse_bindings(&mut self, words: &str) -> Result<(), ScenarioError> {
        let name = format!("{}-refuses", self.namespace);
        let policy = json!({
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"],
                    "operations": ["CREATE"], "resources": ["pods/binding"],
                }]},
                "validations": [{"expression": "false", "message": words}],
            },
        });
        let here = json!({"matchLabels": {"kubernetes.io/metadata.name": self.namespace}});
        let binding = json!({
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": here},
            },
        });
        self.make(&format!("{ADMISSION}/validatingadmissionpolicies"), &policy)
            .await?;
        self.make(
            &format!("{ADMISSION}/validatingadmissionpolicybindings"),
            &binding,
        )
        .await?;
        self.refuses_bindings().await
    }

    /// Waits until the server heeds a new policy.
    async fn refuses_bindings(&self) -> Result<(), ScenarioError> {
        let mut spec = wanting(100);
        spec["schedulerName"] = json!("nobody-serves-this");
        let pod = self.create("probe", &spec).await?;
        let binding = json!({
            "metadata": {"name": "probe", "uid": pod.pointer("/metadata/uid")},
            "target": {"kind": "Node", "name": "n1"},
        });
        let path = format!("{}/probe/binding?dryRun=All", self.pods());
        self.until("the policy is not heeded", async || {
            self.author.create(&path, &binding).await.is_err()
        })
        .await
    }

    /// Binds a Pod to a node as a scheduler would, by somebody who is none.
    pub(super) async fn bind(&self, pod: &Value, node: &str) -> Result<(), ScenarioError> {
        let name = text(pod, "/metadata/name");
        let binding = json!({
            "metadata": {"name": name, "uid": pod.pointer("/metadata/uid")},
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("{}/{name}/binding", self.pods());
        self.author.create(&path, &binding).await?;
        Ok(())
    }

    /// Sets the finalizers of a Pod.
    pub(super) async fn set_finalizers(
        &self,
        pod: &str,
        finalizers: &[&str],
    ) -> Result<(), ScenarioError> {
        let change = json!({"metadata": {"finalizers": finalizers}});
        self.author
            .merge_patch(&format!("{}/{pod}", self.pods()), &change)
            .await?;
        Ok(())
    }

    /// Lets the scheduler at a gated Pod.
    pub(super) async fn remove_gates(&self, pod: &str) -> Result<(), ScenarioError> {
        let path = format!("{}/{pod}", self.pods());
        self.author
            .merge_patch(&path, &json!({"spec": {"schedulingGates": null}}))
            .await?;
        Ok(())
    }

    /// Sets a label of a Pod; returns the Pod as it is then.
    pub(super) async fn label(
        &self,
        pod: &str,
        key: &str,
        value: &str,
    ) -> Result<Value, ScenarioError> {
        let path = format!("{}/{pod}", self.pods());
        let change = json!({"metadata": {"labels": {key: value}}});
        Ok(self.author.merge_patch(&path, &change).await?)
    }

    /// Waits until a Pod is as wanted.
    pub(super) async fn pod(
        &self,
        name: &str,
        what: &str,
        wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, ScenarioError> {
        let what = format!("Pod {name} {what}");
        Ok(self
            .author
            .watch_until(
                &what,
                &self.pods(),
                &format!("metadata.name={name}"),
                wanted,
            )
            .await?)
    }

    /// Waits until a scheduler has nominated a Pod that fits nowhere, and has reported that; returns the Pod.
    pub(super) async fn nominated(&self, name: &str) -> Result<Value, ScenarioError> {
        let nominated = self
            .pod(name, "nominated", |pod| {
                !text(pod, "/status/nominatedNodeName").is_empty()
            })
            .await?;
        self.event(&nominated, "FailedScheduling").await?;
        Ok(nominated)
    }

    /// Waits until a scheduler has bound a Pod, and has reported that.
    pub(super) async fn scheduled(&self, name: &str) -> Result<(), ScenarioError> {
        let bound = self
            .pod(name, "bound", |pod| !text(pod, "/spec/nodeName").is_empty())
            .await?;
        self.event(&bound, "Scheduled").await?;
        Ok(())
    }

    /// Waits until the scheduler's events tell of so many failed attempts.
    pub(super) async fn attempts(&self, pod: &Value, wanted: u64) -> Result<(), ScenarioError> {
        let mut counts = BTreeMap::new();
        self.event_where(pod, "FailedScheduling", |event| {
            let count = event["series"]["count"].as_u64().unwrap_or(1);
            counts.insert(text(event, "/metadata/uid"), count);
            counts.values().sum::<u64>() >= wanted
        })
        .await?;
        Ok(())
    }

    /// Waits until a Pod runs and its binding has been reported; it has to be on the node.
    pub(super) async fn running_on(&self, name: &str, node: &str) -> Result<Value, ScenarioError> {
        let running = self.running_unreported_on(name, node).await?;
        self.event(&running, "Scheduled").await?;
        Ok(running)
    }

    /// Waits until a Pod runs that no scheduler has bound; it has to be on the node.
    pub(super) async fn running_unreported_on(
        &self,
        name: &str,
        node: &str,
    ) -> Result<Value, ScenarioError> {
        let running = self
            .pod(name, "running", |pod| {
                let containers = pod
                    .pointer("/status/containerStatuses")
                    .and_then(Value::as_array);
                text(pod, "/status/phase") == "Running"
                    && containers.is_some_and(|all| all.iter().all(|one| one["started"] == true))
            })
            .await?;
        let found = text(&running, "/spec/nodeName");
        if found != node {
            return Err(ScenarioError::Unexpected(format!(
                "Pod {name} runs on {found}, not on {node}"
            )));
        }
        Ok(running)
    }

    /// Waits until a scheduler's last word on a Pod holds some words, in its condition and in an event.
    pub(super) async fn unschedulable(
        &self,
        name: &str,
        words: &str,
    ) -> Result<Value, ScenarioError> {
        let says = |text: &Value| text.as_str().is_some_and(|text| text.contains(words));
        let pod = self
            .pod(name, &format!("unschedulable: {words}"), |pod| {
                condition(pod, "PodScheduled").is_some_and(|condition| {
                    condition["status"] == "False" && says(&condition["message"])
                })
            })
            .await?;
        self.event_where(&pod, "FailedScheduling", |event| says(&event["note"]))
            .await?;
        Ok(pod)
    }

    /// Waits until there is an event with a reason about a Pod.
    pub(super) async fn event(&self, pod: &Value, reason: &str) -> Result<Value, ScenarioError> {
        self.event_where(pod, reason, |_| true).await
    }

    /// Waits until there is an event with a reason about a Pod that is as wanted.
    pub(super) async fn event_where(
        &self,
        pod: &Value,
        reason: &str,
        wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, ScenarioError> {
        let (name, uid) = (text(pod, "/metadata/name"), text(pod, "/metadata/uid"));
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.namespace
        );
        let selector = format!("regarding.uid={uid},reason={reason}");
        Ok(self
            .author
            .watch_until(
                &format!("event {reason} of Pod {name}"),
                &path,
                &selector,
                wanted,
            )
            .await?)
    }

    /// Waits until a kubelet has refused a Pod, and has said so.
    pub(super) async fn refused(&self, name: &str, reason: &str) -> Result<(), ScenarioError> {
        let pod = self
            .pod(name, &format!("refused: {reason}"), |pod| {
                text(pod, "/status/phase") == "Failed" && text(pod, "/status/reason") == reason
            })
            .await?;
        self.event(&pod, reason).await?;
        Ok(())
    }

    /// Deletes a Pod with its own grace period and waits until its kubelet has begun to end it.
    pub(super) async fn begin_to_end(&self, pod: &str) -> Result<(), ScenarioError> {
        let path = format!("{}/{pod}", self.pods());
        let deleted = self.author.delete(&path, None).await?;
        self.event(&deleted, "Killing").await?;
        Ok(())
    }

    /// Deletes a Pod, and waits for nothing.
    pub(super) async fn delete(&self, pod: &str) -> Result<(), ScenarioError> {
        let path = format!("{}/{pod}", self.pods());
        self.author.delete(&path, None).await?;
        Ok(())
    }

    /// Waits until a Pod has gone.
    pub(super) async fn gone(&self, pod: &str) -> Result<(), ScenarioError> {
        Ok(self.author.watch_until_gone(&self.pods(), pod).await?)
    }

    /// Deletes a Pod whose kubelet cannot end it.
    pub(super) async fn delete_by_force(&self, pod: &str) -> Result<(), ScenarioError> {
        let pods = self.pods();
        self.author
            .delete(&format!("{pods}/{pod}"), Some(0))
            .await?;
        Ok(self.author.watch_until_gone(&pods, pod).await?)
    }

    /// Deletes a Pod and waits until its kubelet has ended it.
    pub(super) async fn end(&self, pod: &str) -> Result<(), ScenarioError> {
        let pods = self.pods();
        self.author
            .delete(&format!("{pods}/{pod}"), Some(1))
            .await?;
        Ok(self.author.watch_until_gone(&pods, pod).await?)
    }

    fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }
}

fn manifest_trouble(error: &io::Error) -> ScenarioError {
    ScenarioError::Unexpected(format!("a manifest: {error}"))
}

/// Returns a string of an object, or the empty one.
pub(super) fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns a condition of an object.
fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|one| one["type"] == kind)
}

/// Returns the specification of a Pod that wants some thousandths of a CPU of one node.
pub(super) fn wanting_on(node: &str, cpu: u64) -> Value {
    let mut spec = wanting(cpu);
    spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
    spec
}

/// Returns the specification of a Pod that wants some thousandths of a CPU.
pub(super) fn wanting(cpu: u64) -> Value {
    json!({
        "containers": [{
            "name": "c",
            // A name without a tag: the fake runtime has no ids for others.
            "image": "busybox",
            "resources": {"requests": {"cpu": format!("{cpu}m")}},
        }],
        "terminationGracePeriodSeconds": 30,
    })
}

/// Returns the specification of a Pod that is a member of a group.
pub(super) fn member_of(group: &str, mut spec: Value) -> Value {
    spec["schedulingGroup"] = json!({"podGroupName": group});
    spec
}

/// Creates an object; returns false if there is one already.
async fn create_if_absent(
    client: &Client,
    path: &str,
    object: &Value,
) -> Result<bool, ClientError> {
    match client.create(path, object).await {
        Ok(_) => Ok(true),
        Err(error) if error.code() == Some(409) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads an amount of CPU in thousandths.
fn thousandths(amount: &str) -> Option<u64> {
    match amount.strip_suffix('m') {
        Some(thousandths) => thousandths.parse().ok(),
        None => amount.parse::<u64>().ok()?.checked_mul(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_whole_or_in_thousandths() {
        assert_eq!(thousandths("2"), Some(2000));
        assert_eq!(thousandths("1930m"), Some(1930));
        assert_eq!(thousandths("two"), None);
    }
}
