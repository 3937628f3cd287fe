//! Where a scenario plays: a namespace, clients for those who act, and the waits that all scenarios share.
//!
//! It must not retry and must not sleep; amounts of CPU are computed from the nodes that are there.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Moment, Observer, ScenarioError};
use crate::client::{Client, ClientError};
use crate::cluster::Cluster;
use crate::hold::Hold;

/// The field manager of the one who makes the Pods.
const AUTHOR: &str = "author";
/// The field manager of the outsider who nominates.
const OUTSIDER: &str = "observer";

const NODES: &str = "/api/v1/nodes";

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
        while let Some(node) = self.cordoned.pop() {
            self.set_unschedulable(&node, false).await?;
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
        create_if_absent(
            &self.author,
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            &class,
        )
        .await?;
        Ok(())
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

    /// Makes a storage class whose volumes nobody provides and wait for their Pod's node; returns its name.
    pub(super) async fn storage_class(&mut self) -> Result<String, ScenarioError> {
        // Not in a namespace, and named after one that is used once.
        let name = self.namespace.clone();
        let class = json!({
            "metadata": {"name": name},
            "provisioner": "example.com/nobody-provides-this",
            "volumeBindingMode": "WaitForFirstConsumer",
        });
        self.make("/apis/storage.k8s.io/v1/storageclasses", &class)
            .await?;
        Ok(name)
    }

    /// Makes a claim of a storage class, and waits until the controller manager has reported on it.
    ///
    /// A scheduler hears of it at the same time; one that knows only the Pod fails at once.
    pub(super) async fn create_claim(&self, name: &str, class: &str) -> Result<(), ScenarioError> {
        let claim = json!({
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": class,
            },
        });
        let claim = self.author.create(&self.claims(), &claim).await?;
        let path = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            self.namespace
        );
        let selector = format!("regarding.uid={}", text(&claim, "/metadata/uid"));
        self.author
            .watch_until(&format!("event of claim {name}"), &path, &selector, |_| {
                true
            })
            .await?;
        Ok(())
    }

    /// Makes a Pod of a specification with a claim of its own name, which may be there or not.
    pub(super) async fn create_claiming(
        &self,
        name: &str,
        spec: &Value,
    ) -> Result<Value, ScenarioError> {
        let mut spec = spec.clone();
        spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": name}}]);
        self.create(name, &spec).await
    }

    /// Waits until a scheduler has nominated a Pod with a claim and prepares the volume; returns the Pod.
    pub(super) async fn preparing(&self, name: &str, node: &str) -> Result<Value, ScenarioError> {
        let annotation = "/metadata/annotations/volume.kubernetes.io~1selected-node";
        let what = format!("claim {name} prepared for {node}");
        self.author
            .watch_until(
                &what,
                &self.claims(),
                &format!("metadata.name={name}"),
                |claim| text(claim, annotation) == node,
            )
            .await?;
        self.pod(name, &format!("nominated to {node}"), |pod| {
            text(pod, "/status/nominatedNodeName") == node
        })
        .await
    }

    /// Provides the volume of a Pod's claim.
    pub(super) async fn provide(&mut self, name: &str, class: &str) -> Result<(), ScenarioError> {
        let claim = self
            .author
            .get(&format!("{}/{name}", self.claims()))
            .await?;
        // Without the UID the controller manager looks at the claim only with its next round, every 15 seconds.
        let claim = json!({
            "namespace": self.namespace,
            "name": name,
            "uid": claim.pointer("/metadata/uid"),
        });
        let volume = json!({
            "metadata": {"name": format!("{}-{name}", self.namespace)},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "claimRef": claim,
                "hostPath": {"path": "/tmp"},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": class,
            },
        });
        self.make("/api/v1/persistentvolumes", &volume).await
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

    /// Has the outsider nominate a Pod to a node, with annotations in the same request; returns the Pod as it is then.
    pub(super) async fn nominate(
        &self,
        pod: &Value,
        node: &str,
        annotations: &Value,
    ) -> Result<Value, ScenarioError> {
        let mut metadata = json!({
            "uid": pod.pointer("/metadata/uid"),
            "resourceVersion": pod.pointer("/metadata/resourceVersion"),
        });
        if !annotations.is_null() {
            metadata["annotations"] = annotations.clone();
        }
        let change = json!({"metadata": metadata, "status": {"nominatedNodeName": node}});
        let path = format!("{}/{}/status", self.pods(), text(pod, "/metadata/name"));
        let answer = self.outsider.merge_patch(&path, &change).await?;
        // The server ignores fields that may not be set, and says nothing.
        if text(&answer, "/status/nominatedNodeName") == node {
            return Ok(answer);
        }
        Err(ScenarioError::Unexpected(format!(
            "the nomination to {node} was not taken up: {answer}"
        )))
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

    /// Lets Pod `preemptor` preempt Pod `victim` on n1; returns when the victim holds and all has been reported.
    ///
    /// The victim's container has a `lifecycle` that makes it hold when it is told to end. So n1 is nominated, and the
    /// nomination stands while the victim holds.
    pub(super) async fn preempt(&self, lifecycle: &Value) -> Result<Value, ScenarioError> {
        self.occupy(lifecycle).await?;
        let nominated = self.claim_room(&json!({})).await?;
        self.leaving("victim").await?;
        Ok(nominated)
    }

    /// Fills n1 with Pod `victim` of low priority and n2 with Pod `blocker` that may not be preempted.
    pub(super) async fn occupy(&self, lifecycle: &Value) -> Result<(), ScenarioError> {
        self.priority_class("low", 100).await?;
        self.priority_class("high", 1000).await?;
        let mut victim = wanting_on("n1", self.cpu_of("n1").await? * 3 / 4);
        victim["priorityClassName"] = json!("low");
        victim["containers"][0]["lifecycle"] = lifecycle.clone();
        let mut blocker = wanting_on("n2", self.cpu_of("n2").await? * 3 / 4);
        blocker["priorityClassName"] = json!("high");
        self.create("blocker", &blocker).await?;
        self.create("victim", &victim).await?;
        self.running_on("blocker", "n2").await?;
        self.running_on("victim", "n1").await?;
        Ok(())
    }

    /// Makes Pod `preemptor` of high priority, which fits in the victim's place; returns it when a scheduler has
    /// nominated it to n1 and has reported that.
    pub(super) async fn claim_room(&self, more: &Value) -> Result<Value, ScenarioError> {
        let mut spec = wanting(self.cpu_of("n1").await? * 3 / 4);
        spec["priorityClassName"] = json!("high");
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        self.create("preemptor", &spec).await?;
        let nominated = self
            .pod("preemptor", "nominated", |pod| {
                text(pod, "/status/nominatedNodeName") == "n1"
            })
            .await?;
        self.event(&nominated, "FailedScheduling").await?;
        Ok(nominated)
    }

    /// Waits until a preempted Pod has been told to end, and that has been reported.
    pub(super) async fn leaving(&self, victim: &str) -> Result<(), ScenarioError> {
        let leaving = self
            .pod(victim, "leaving", |pod| {
                condition(pod, "DisruptionTarget").is_some()
                    && pod.pointer("/metadata/deletionTimestamp").is_some()
            })
            .await?;
        self.event(&leaving, "Preempted").await?;
        self.event(&leaving, "Killing").await?;
        Ok(())
    }

    /// Makes what holds the end of a container.
    pub(super) async fn hold(&self) -> Result<Hold, ScenarioError> {
        let hold = Hold::new(self.cluster.address()).await;
        hold.map_err(|error| {
            ScenarioError::Unexpected(format!("nothing to hold a container with: {error}"))
        })
    }

    /// Lets go of a Pod whose container is held, and waits until it has gone.
    pub(super) async fn release(&self, hold: Hold, pod: &str) -> Result<(), ScenarioError> {
        self.let_go(hold, pod).await?;
        Ok(self.author.watch_until_gone(&self.pods(), pod).await?)
    }

    /// Lets go of a Pod whose container is held.
    pub(super) async fn let_go(&self, hold: Hold, pod: &str) -> Result<(), ScenarioError> {
        hold.release()
            .await
            .map_err(|error| ScenarioError::Unexpected(format!("Pod {pod} was not held: {error}")))
    }

    /// Deletes a Pod with its own grace period and waits until its kubelet has begun to end it.
    pub(super) async fn begin_to_end(&self, pod: &str) -> Result<(), ScenarioError> {
        let path = format!("{}/{pod}", self.pods());
        let deleted = self.author.delete(&path, None).await?;
        self.event(&deleted, "Killing").await?;
        Ok(())
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

    /// Closes a node for new Pods. It is opened again at the latest when the scenario ends.
    pub(super) async fn cordon(&mut self, node: &str) -> Result<(), ScenarioError> {
        self.cordoned.push(node.to_owned());
        self.set_unschedulable(node, true).await
    }

    /// Opens a node that was closed.
    pub(super) async fn uncordon(&mut self, node: &str) -> Result<(), ScenarioError> {
        self.set_unschedulable(node, false).await?;
        self.cordoned.retain(|cordoned| cordoned != node);
        Ok(())
    }

    /// Closes or opens a node, and waits until its taint says so too.
    async fn set_unschedulable(&self, node: &str, closed: bool) -> Result<(), ScenarioError> {
        let change = json!({"spec": {"unschedulable": closed}});
        self.author
            .merge_patch(&format!("{NODES}/{node}"), &change)
            .await?;
        let is_taint = |taint: &Value| taint["key"] == "node.kubernetes.io/unschedulable";
        let tainted = |node: &Value| {
            let taints = node.pointer("/spec/taints").and_then(Value::as_array);
            taints.is_some_and(|all| all.iter().any(is_taint))
        };
        self.author
            .watch_until(
                &format!("node {node} closed: {closed}"),
                NODES,
                &format!("metadata.name={node}"),
                |node| tainted(node) == closed,
            )
            .await?;
        Ok(())
    }

    /// Kills a component; it is started again at the latest when the scenario ends.
    pub(super) fn kill(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.cluster.kill(component)?;
        self.killed.push(component.to_owned());
        Ok(())
    }

    /// Starts a component that was killed.
    pub(super) fn start_again(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.cluster.start_again(component)?;
        self.killed.retain(|killed| killed != component);
        Ok(())
    }

    /// Kills a component and starts it again.
    pub(super) fn restart(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.kill(component)?;
        self.start_again(component)
    }

    /// Starts one more scheduler that serves a scheduler name; it ends with the scenario.
    pub(super) async fn start_scheduler(&mut self, profile: &str) -> Result<(), ScenarioError> {
        let component = self.cluster.start_scheduler_inside(profile).await?;
        self.schedulers.push(component);
        Ok(())
    }

    /// Waits until a node takes Pods, or takes none because nobody hears of its kubelet.
    pub(super) async fn node_reachable(
        &self,
        node: &str,
        reachable: bool,
    ) -> Result<(), ScenarioError> {
        let is_unreachable = |taint: &Value| taint["key"] == "node.kubernetes.io/unreachable";
        let as_wanted = |node: &Value| {
            let ready = condition(node, "Ready").is_some_and(|ready| ready["status"] == "True");
            let taints = node.pointer("/spec/taints").and_then(Value::as_array);
            ready == reachable
                && match taints {
                    Some(taints) if reachable => taints.is_empty(),
                    // Both effects: the later one is what makes the kubelet's Pods go.
                    Some(taints) => {
                        taints.iter().filter(|taint| is_unreachable(taint)).count() == 2
                    }
                    None => reachable,
                }
        };
        self.author
            .watch_until(
                &format!("node {node} reachable: {reachable}"),
                NODES,
                &format!("metadata.name={node}"),
                as_wanted,
            )
            .await?;
        Ok(())
    }

    /// Deletes a node's object.
    pub(super) async fn delete_node(&self, node: &str) -> Result<(), ScenarioError> {
        self.author.delete(&format!("{NODES}/{node}"), None).await?;
        Ok(self.author.watch_until_gone(NODES, node).await?)
    }

    fn claims(&self) -> String {
        let namespace = &self.namespace;
        format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
    }

    fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }
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

/// The annotation that a decision stands in.
const DECISION: &str = "nominate.kube-placement.dev/decision";

/// Returns annotations with a decision that holds for ten minutes from the Pod's creation, by the server's clock.
pub(super) fn decision(pod: &Value, node: &str) -> Result<Value, ScenarioError> {
    let created = text(pod, "/metadata/creationTimestamp");
    let unexpected = |error: jiff::Error| {
        ScenarioError::Unexpected(format!("a Pod created at {created:?}: {error}"))
    };
    let written: Timestamp = created.parse().map_err(unexpected)?;
    let expires = written
        .checked_add(SignedDuration::from_mins(10))
        .map_err(unexpected)?;
    let decision = json!({
        "id": "6f1c1d2e-0000-4000-8000-000000000001",
        "node": node,
        "recommender": "observer",
        "algorithm": "most-room",
        "algorithmVersion": "1.0.0",
        "reason": "it has the most room",
        "writtenAt": written.to_string(),
        "expiresAt": expires.to_string(),
    });
    Ok(json!({DECISION: decision.to_string()}))
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
