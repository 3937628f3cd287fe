//! Claims and volumes of scenarios. Nothing mounts them.

use serde_json::{Value, json};

use super::{Stage, text};
use crate::scenario::ScenarioError;

impl Stage<'_> {
    /// Makes a storage class whose volumes nobody provides and wait for their Pod's node; returns its name.
    pub(in crate::scenario) async fn storage_class(&mut self) -> Result<String, ScenarioError> {
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
    pub(in crate::scenario) async fn create_claim(
        &self,
        name: &str,
        class: &str,
    ) -> Result<(), ScenarioError> {
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
    pub(in crate::scenario) async fn create_claiming(
        &self,
        name: &str,
        spec: &Value,
    ) -> Result<Value, ScenarioError> {
        let mut spec = spec.clone();
        spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": name}}]);
        self.create(name, &spec).await
    }

    /// Waits until a scheduler has nominated a Pod with a claim and prepares the volume; returns the Pod.
    pub(in crate::scenario) async fn preparing(
        &self,
        name: &str,
        node: &str,
    ) -> Result<Value, ScenarioError> {
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
    pub(in crate::scenario) async fn provide(
        &mut self,
        name: &str,
        class: &str,
    ) -> Result<(), ScenarioError> {
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

    /// Makes a claim with a volume that is reached from one node only, and waits until the controller manager has bound it.
    pub(in crate::scenario) async fn pinned_claim(
        &mut self,
        name: &str,
        node: &str,
    ) -> Result<(), ScenarioError> {
        let (claim, volume) = (
            json!({"namespace": self.namespace, "name": name}),
            format!("{}-{name}", self.namespace),
        );
        let terms = json!([{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
        ]}]);
        let object = json!({
            "metadata": {"name": volume},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "claimRef": claim,
                "local": {"path": "/tmp"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
            },
        });
        self.make("/api/v1/persistentvolumes", &object).await?;
        let object = json!({
            "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "",
                "volumeName": volume,
            },
        });
        self.author.create(&self.claims(), &object).await?;
        self.author
            .watch_until(
                &format!("claim {name} bound"),
                &self.claims(),
                &format!("metadata.name={name}"),
                |claim| text(claim, "/status/phase") == "Bound",
            )
            .await?;
        Ok(())
    }

    pub(super) fn claims(&self) -> String {
        let namespace = &self.namespace;
        format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
    }
}
