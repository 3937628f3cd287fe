//! What scenarios do to nodes and components; all of it is undone at the latest when the scenario ends.

use serde_json::{Value, json};

use super::{NODES, Stage, condition};
use crate::Configured;
use crate::scenario::ScenarioError;

/// The key of a taint that no Pod here tolerates.
const TAINT: &str = "example.com/closed";

impl Stage<'_> {
    /// Closes a node for new Pods. It is opened again at the latest when the scenario ends.
    pub(in crate::scenario) async fn cordon(&mut self, node: &str) -> Result<(), ScenarioError> {
        self.cordoned.push(node.to_owned());
        self.set_unschedulable(node, true).await
    }

    /// Opens a node that was closed.
    pub(in crate::scenario) async fn uncordon(&mut self, node: &str) -> Result<(), ScenarioError> {
        self.set_unschedulable(node, false).await?;
        self.cordoned.retain(|cordoned| cordoned != node);
        Ok(())
    }

    /// Closes or opens a node, and waits until its taint says so too.
    pub(super) async fn set_unschedulable(
        &self,
        node: &str,
        closed: bool,
    ) -> Result<(), ScenarioError> {
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

    /// Puts a taint on a node that no Pod here tolerates. It is taken off at the latest when the scenario ends.
    pub(in crate::scenario) async fn taint(&mut self, node: &str) -> Result<(), ScenarioError> {
        self.tainted.push(node.to_owned());
        self.set_taint(node, true).await
    }

    /// Takes the taint off a node.
    pub(in crate::scenario) async fn untaint(&mut self, node: &str) -> Result<(), ScenarioError> {
        self.set_taint(node, false).await?;
        self.tainted.retain(|tainted| tainted != node);
        Ok(())
    }

    pub(super) async fn set_taint(&self, node: &str, tainted: bool) -> Result<(), ScenarioError> {
        // The nodes here have no other taints while they are well.
        let taints = if tainted {
            json!([{"key": TAINT, "value": "yes", "effect": "NoSchedule"}])
        } else {
            Value::Null
        };
        self.author
            .merge_patch(
                &format!("{NODES}/{node}"),
                &json!({"spec": {"taints": taints}}),
            )
            .await?;
        Ok(())
    }

    /// Waits until a node takes Pods, or takes none because nobody hears of its kubelet.
    pub(in crate::scenario) async fn node_reachable(
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
    pub(in crate::scenario) async fn delete_node(&self, node: &str) -> Result<(), ScenarioError> {
        self.author.delete(&format!("{NODES}/{node}"), None).await?;
        Ok(self.author.watch_until_gone(NODES, node).await?)
    }

    /// Lets a node's kubelet run a Pod of a manifest by itself, and returns the mirror of it that it shows to the server.
    pub(in crate::scenario) async fn static_pod(
        &mut self,
        node: &str,
        name: &str,
        spec: &Value,
    ) -> Result<Value, ScenarioError> {
        let metadata = json!({"name": name, "namespace": self.namespace});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        let manifest = self.cluster.run_static_pod(node, &pod)?;
        self.manifests.push(manifest);
        self.running_unreported_on(&format!("{name}-{node}"), node)
            .await
    }

    /// Lets a component stand still. It goes on at the latest when the scenario ends.
    pub(in crate::scenario) fn freeze(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.frozen.push(component.to_owned());
        Ok(self.cluster.freeze(component)?)
    }

    /// Lets a component that stands still go on.
    pub(in crate::scenario) fn thaw(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.cluster.thaw(component)?;
        self.frozen.retain(|frozen| frozen != component);
        Ok(())
    }

    /// Kills a component; it is started again at the latest when the scenario ends.
    pub(in crate::scenario) fn kill(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.cluster.kill(component)?;
        self.killed.push(component.to_owned());
        Ok(())
    }

    /// Starts a component that was killed.
    pub(in crate::scenario) fn start_again(
        &mut self,
        component: &str,
    ) -> Result<(), ScenarioError> {
        self.cluster.start_again(component)?;
        self.killed.retain(|killed| killed != component);
        Ok(())
    }

    /// Kills a component and starts it again.
    pub(in crate::scenario) fn restart(&mut self, component: &str) -> Result<(), ScenarioError> {
        self.kill(component)?;
        self.start_again(component)
    }

    /// Starts one more scheduler that serves a scheduler name; it ends with the scenario.
    pub(in crate::scenario) async fn start_scheduler(
        &mut self,
        profile: &str,
    ) -> Result<(), ScenarioError> {
        let more = Configured::default();
        let component = self.cluster.start_scheduler_inside(profile, &more).await?;
        self.schedulers.push(component);
        Ok(())
    }
}
