//! Pods of the playground's own: states that have to stand for longer, or together with others, than a scenario's.
//!
//! It waits by watching. The amounts are parts of the nodes' CPU, as in the scenarios.

use serde_json::{Value, json};
use testkit::{Client, Cluster};

use crate::{Result, Try};

const NAMESPACE: &str = "playground";
const PODS: &str = "/api/v1/namespaces/playground/pods";
/// How long the victim takes to end.
const GRACE_SECONDS: u32 = 24 * 3_600;
/// The annotation that a decision stands in.
const DECISION: &str = "nominate.kube-placement.dev/decision";

pub(crate) struct Scene {
    author: Client,
    recommender: Client,
    /// Three quarters of a node.
    most: String,
}

impl Scene {
    /// Closes a node and makes what the Pods need.
    pub(crate) async fn set(cluster: &Cluster, closed: &str) -> Result<Self> {
        let author = cluster.client("admin").await?;
        let change = json!({"spec": {"unschedulable": true}});
        let node = format!("/api/v1/nodes/{closed}");
        let node = author.merge_patch(&node, &change).await?;
        let name = json!({"metadata": {"name": NAMESPACE}});
        author.create("/api/v1/namespaces", &name).await?;
        for (name, value) in [("playground-low", 100), ("playground-high", 1_000)] {
            let class = json!({"metadata": {"name": name}, "value": value});
            let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
            author.create(classes, &class).await?;
        }
        let cpus: u32 = text(&node, "/status/allocatable/cpu").parse()?;
        Ok(Self {
            author,
            recommender: cluster.client("recommender").await?,
            most: format!("{}m", cpus * 750),
        })
    }

    pub(crate) async fn play(&self) -> Result<Vec<Try>> {
        self.moved().await?;
        self.preempts().await?;
        let most = wanting(&self.most);
        // From here on nothing of that size fits anywhere.
        self.unschedulable("too-large", &most).await?;
        self.cleared(&most).await?;
        self.refused(&most).await?;
        // These last: what the others do would make the scheduler try them again, and clear their hints.
        let hinted = self.unschedulable("hinted", &most).await?;
        let closed = self.unschedulable("hinted-to-a-closed-node", &most).await?;
        self.nominate(&hinted, "n2").await?;
        self.nominate(&closed, "n3").await?;
        let rows = [
            ("moved", "Moved", Some("outside-hint-ignored")),
            ("preemptor", "WaitingForVictims", Some("victim-terminating")),
            ("too-large", "NotNominated", Some("unschedulable")),
            (
                "hinted",
                "WaitingForScheduler",
                Some("outside-hint-no-wake"),
            ),
            (
                "hinted-to-a-closed-node",
                "Stale",
                Some("node-unschedulable"),
            ),
            ("cleared", "Cleared", Some("outside-hint-overwritten")),
            ("refused", "RefusedByKubelet", Some("node-resources")),
        ];
        let tries = rows.map(|(pod, verdict, cause)| Try {
            namespace: NAMESPACE.to_owned(),
            pod: pod.to_owned(),
            verdict,
            cause,
        });
        Ok(tries.into())
    }

    /// A recommender names a node that the Pod may not go to.
    async fn moved(&self) -> Result<()> {
        let mut spec = wanting("50m");
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": "n1"});
        spec["schedulingGates"] = json!([{"name": "example.com/hold"}]);
        let pod = self.create("moved", &spec).await?;
        self.nominate(&pod, "n2").await?;
        let open = json!({"spec": {"schedulingGates": null}});
        self.author
            .merge_patch(&format!("{PODS}/moved"), &open)
            .await?;
        self.wait("moved", is_running).await?;
        Ok(())
    }

    /// A Pod of high priority waits for one of low priority that takes a day to end.
    async fn preempts(&self) -> Result<()> {
        let mut victim = wanting(&self.most);
        victim["nodeSelector"] = json!({"kubernetes.io/hostname": "n1"});
        victim["priorityClassName"] = json!("playground-low");
        victim["terminationGracePeriodSeconds"] = json!(GRACE_SECONDS);
        victim["containers"][0]["lifecycle"] =
            json!({"preStop": {"sleep": {"seconds": GRACE_SECONDS}}});
        let mut preemptor = wanting(&self.most);
        preemptor["priorityClassName"] = json!("playground-high");
        let mut blocker = preemptor.clone();
        blocker["nodeSelector"] = json!({"kubernetes.io/hostname": "n2"});
        self.create("blocker", &blocker).await?;
        self.create("victim", &victim).await?;
        self.wait("blocker", is_running).await?;
        self.wait("victim", is_running).await?;
        self.create("preemptor", &preemptor).await?;
        self.wait("preemptor", |pod| {
            text(pod, "/status/nominatedNodeName") == "n1"
        })
        .await?;
        self.wait("victim", |pod| {
            pod.pointer("/metadata/deletionTimestamp").is_some()
        })
        .await?;
        Ok(())
    }

    /// A recommender changes its mind, which wakes the scheduler, and that clears the field.
    async fn cleared(&self, spec: &Value) -> Result<()> {
        let pod = self.unschedulable("cleared", spec).await?;
        let pod = self.nominate(&pod, "n2").await?;
        self.nominate(&pod, "n1").await?;
        self.wait("cleared", |pod| {
            text(pod, "/status/nominatedNodeName").is_empty()
        })
        .await?;
        Ok(())
    }

    /// A Pod comes to a full node past the scheduler.
    async fn refused(&self, spec: &Value) -> Result<()> {
        let mut spec = spec.clone();
        spec["nodeName"] = json!("n2");
        self.create("refused", &spec).await?;
        self.wait("refused", |pod| text(pod, "/status/phase") == "Failed")
            .await?;
        Ok(())
    }

    async fn create(&self, name: &str, spec: &Value) -> Result<Value> {
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        Ok(self.author.create(PODS, &pod).await?)
    }

    /// Waits until the Pod is as wanted.
    async fn wait(&self, name: &str, wanted: impl FnMut(&Value) -> bool) -> Result<Value> {
        let field = format!("metadata.name={name}");
        let found = self.author.watch_until(name, PODS, &field, wanted).await?;
        Ok(found)
    }

    /// Makes a Pod that fits nowhere and waits until the scheduler has said so.
    async fn unschedulable(&self, name: &str, spec: &Value) -> Result<Value> {
        self.create(name, spec).await?;
        let pod = self
            .wait(name, |pod| {
                text(pod, "/status/conditions/0/reason") == "Unschedulable"
            })
            .await?;
        let events = format!("/api/v1/namespaces/{NAMESPACE}/events");
        let uid = text(&pod, "/metadata/uid");
        let field = format!("involvedObject.uid={uid},reason=FailedScheduling");
        self.author
            .watch_until(name, &events, &field, |_| true)
            .await?;
        Ok(pod)
    }

    /// Writes field and decision in one request, as a recommender does; returns the Pod as it is then.
    async fn nominate(&self, pod: &Value, node: &str) -> Result<Value> {
        let written = text(pod, "/metadata/creationTimestamp");
        let decision = json!({
            "id": "6f1c1d2e-0000-4000-8000-000000000002",
            "node": node,
            "recommender": "playground",
            "algorithm": "by-hand",
            "algorithmVersion": "1",
            "reason": "to be looked at",
            "writtenAt": written,
        });
        let change = json!({
            "metadata": {
                "uid": pod.pointer("/metadata/uid"),
                "resourceVersion": pod.pointer("/metadata/resourceVersion"),
                "annotations": {DECISION: decision.to_string()},
            },
            "status": {"nominatedNodeName": node},
        });
        let path = format!("{PODS}/{}/status", text(pod, "/metadata/name"));
        Ok(self.recommender.merge_patch(&path, &change).await?)
    }
}

fn wanting(cpu: &str) -> Value {
    json!({"containers": [{
        "name": "c",
        // A name without a tag: the fake runtime has no ids for others.
        "image": "busybox",
        "resources": {"requests": {"cpu": cpu}},
    }]})
}

fn is_running(pod: &Value) -> bool {
    text(pod, "/status/phase") == "Running"
}

fn text(object: &Value, pointer: &str) -> String {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
