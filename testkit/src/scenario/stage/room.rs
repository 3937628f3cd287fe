//! The room that scenarios are about: who fills it, who preempts whom, and what holds a victim.

use serde_json::{Value, json};

use super::{Stage, condition, text, wanting, wanting_on};
use crate::hold::Hold;
use crate::scenario::ScenarioError;

impl Stage<'_> {
    /// Lets a Pod take room on n1 past the scheduler, with what happens when its container ends.
    pub(in crate::scenario) async fn take_room(
        &self,
        name: &str,
        priority: &str,
        cpu: u64,
        lifecycle: &Value,
    ) -> Result<(), ScenarioError> {
        let mut spec = wanting(cpu);
        spec["schedulerName"] = json!("nobody-serves-this");
        spec["priorityClassName"] = json!(priority);
        spec["containers"][0]["lifecycle"] = lifecycle.clone();
        let pod = self.create(name, &spec).await?;
        self.bind(&pod, "n1").await?;
        self.running_unreported_on(name, "n1").await?;
        Ok(())
    }

    /// Lets Pod `preemptor` preempt Pod `victim` on n1; returns when the victim holds and all has been reported.
    ///
    /// The victim's container has a `lifecycle` that makes it hold when it is told to end. So n1 is nominated, and the
    /// nomination stands while the victim holds.
    pub(in crate::scenario) async fn preempt(
        &self,
        lifecycle: &Value,
    ) -> Result<Value, ScenarioError> {
        self.occupy(lifecycle).await?;
        let nominated = self.claim_room(&json!({})).await?;
        self.leaving("victim").await?;
        Ok(nominated)
    }

    /// Fills n1 with Pod `victim` of low priority and n2 with Pod `blocker` that may not be preempted.
    pub(in crate::scenario) async fn occupy(&self, lifecycle: &Value) -> Result<(), ScenarioError> {
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
    pub(in crate::scenario) async fn claim_room(
        &self,
        more: &Value,
    ) -> Result<Value, ScenarioError> {
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
    pub(in crate::scenario) async fn leaving(&self, victim: &str) -> Result<(), ScenarioError> {
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
    pub(in crate::scenario) async fn hold(&self) -> Result<Hold, ScenarioError> {
        let hold = Hold::new(self.cluster.address()).await;
        hold.map_err(|error| {
            ScenarioError::Unexpected(format!("nothing to hold a container with: {error}"))
        })
    }

    /// Lets go of a Pod whose container is held, and waits until it has gone.
    pub(in crate::scenario) async fn release(
        &self,
        hold: Hold,
        pod: &str,
    ) -> Result<(), ScenarioError> {
        self.let_go(hold, pod).await?;
        Ok(self.author.watch_until_gone(&self.pods(), pod).await?)
    }

    /// Lets go of a Pod whose container is held.
    pub(in crate::scenario) async fn let_go(
        &self,
        hold: Hold,
        pod: &str,
    ) -> Result<(), ScenarioError> {
        hold.release()
            .await
            .map_err(|error| ScenarioError::Unexpected(format!("Pod {pod} was not held: {error}")))
    }
}
