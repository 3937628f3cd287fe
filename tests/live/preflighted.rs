//! What `features preflight` says of Pods before kubelets start with other gates, and what then becomes of them.
//!
//! Everything is predicted before it is done. It must not take a prediction for the outcome: that is read from the server alone.

use std::error::Error;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Client, Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::declared::{beats, features};
use crate::explained::restarting;
use crate::machinery::block_on;
use crate::plugin::kubectl;
use crate::skew::{due, list, reach, word};

pub(crate) const NAME: &str = "preflight_lists_pods_that_then_die";

const PODS: &str = "/api/v1/namespaces/default/pods";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const RESTART: &str = "RestartAllContainersOnContainerExits";

/// What turns the mechanism off in 1.36: four gates that are on by default need it.
const MECHANISM_OFF: &str = "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,InPlacePodLevelResourcesVerticalScaling=false,InPlacePodVerticalScalingInitContainers=false,RestartAllContainersOnContainerExits=false";

/// Of the newest minor, twice, and of the one before.
const OFF: &str = "n1";
const KEPT: &str = "n2";
const BEFORE: &str = "n3";

/// A message, and the Pods that it names.
type Said = (String, Vec<String>);

/// The trial.
pub(crate) fn works(clusters: &Clusters, minors: &[String]) -> Result<(), Failed> {
    let [.., before, newest] = minors else {
        return Err("two minors are needed".into());
    };
    let options = ClusterOptions::new(newest)
        .nodes(&[OFF, KEPT, BEFORE])
        .of_minor("kubelet-n3", before);
    clusters.apart(&options, |cluster| {
        let stage = Stage { cluster };
        stage.pods_run()?;
        stage.a_pod_dies(newest)?;
        stage.a_pod_runs_without(before)
    })
}

struct Stage<'c> {
    cluster: &'c Cluster,
}

impl Stage<'_> {
    fn with<T>(
        &self,
        act: impl AsyncFnOnce(Client) -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        block_on(async { act(self.cluster.client("admin").await?).await })
    }

    fn when(
        &self,
        name: &str,
        what: &str,
        wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, Box<dyn Error>> {
        let selector = format!("metadata.name={name}");
        self.with(async |admin| Ok(admin.watch_until(what, PODS, &selector, wanted).await?))
    }

    /// One that needs the feature on each node, and one that needs nothing where it goes.
    fn pods_run(&self) -> Result<(), Box<dyn Error>> {
        for node in [OFF, KEPT, BEFORE] {
            let pod = restarting(&format!("of-{node}"), &of(node));
            self.with(async |admin| Ok(admin.create(PODS, &pod).await.map(drop)?))?;
        }
        let mut plain = restarting("plain", &of(OFF));
        plain["spec"]["containers"] = json!([{"name": "c", "image": "busybox"}]);
        self.with(async |admin| Ok(admin.create(PODS, &plain).await.map(drop)?))?;
        for name in ["of-n1", "of-n2", "of-n3", "plain"] {
            self.when(name, "running Pod", |pod| {
                pod["status"]["phase"] == "Running"
            })?;
        }
        Ok(())
    }

    /// What the check of workloads finds: each message with the Pods that it names.
    fn workloads(&self, arguments: &[&str]) -> Result<Vec<Said>, Box<dyn Error>> {
        let reach = reach(self.cluster);
        let reach: Vec<&str> = reach.iter().map(String::as_str).collect();
        let always = [
            "features",
            "preflight",
            "-o",
            "json",
            "--component",
            "kubelet",
        ];
        let run = kubectl(
            self.cluster,
            "admin",
            &[&always[..], arguments, &reach].concat(),
        )?;
        let answer: Value = serde_json::from_str(&run.stdout).map_err(|_| format!("{run:?}"))?;
        let failed = list(&answer["checks"]).iter();
        let failed: Vec<&Value> = failed.filter(|check| check["status"] != "Pass").collect();
        let ids: Vec<(&str, &str)> = failed
            .iter()
            .map(|check| (word(&check["id"]), word(&check["status"])))
            .collect();
        let is_due = [
            ("compatibility-version", "Skipped"),
            ("consistency", "Fail"),
            ("hazards", "Skipped"),
            ("kubeadm-gates", "Skipped"),
            ("nominations", "Skipped"),
            ("runtime-config", "Skipped"),
            ("served-api", "Skipped"),
            ("version-skew", "Skipped"),
            ("workloads", "Fail"),
        ];
        due(&format!("checks: {answer:#}"), &ids, &is_due.to_vec())?;
        due("exit code", &run.code, &Some(3))?;
        let failed = failed.iter().filter(|check| check["id"] == "workloads");
        let findings = failed.flat_map(|check| list(&check["findings"]));
        let names = |finding: &Value| -> Vec<String> {
            let evidence = list(&finding["evidence"])
                .iter()
                .map(|it| word(&it["text"]));
            let pods = evidence.filter_map(|text| text.strip_prefix("default/"));
            pods.filter_map(|text| Some(text.split_once(',')?.0.to_owned()))
                .collect()
        };
        Ok(findings
            .map(|finding| (word(&finding["message"]).to_owned(), names(finding)))
            .collect())
    }

    fn a_pod_dies(&self, newest: &str) -> Result<(), Box<dyn Error>> {
        let found = self.workloads(&["--disable", RESTART, "--node", OFF])?;
        let message = "1 Pod would be refused with PodFeatureUnsupported, and end, when its kubelet starts again";
        let is_due = vec![(message.to_owned(), vec!["of-n1".to_owned()])];
        due("what is said", &found, &is_due)?;
        self.cluster.stop("kubelet-n1")?;
        let off = format!("--feature-gates={RESTART}=false");
        self.cluster.start_as("kubelet-n1", newest, &[&off])?;
        // It ends as its containers ended; that it was refused is told by an event alone (1.37.2: Succeeded where the runtime ends
        // them with 0).
        self.when("of-n1", "Pod that has ended", |pod| {
            ["Failed", "Succeeded"].contains(&word(&pod["status"]["phase"]))
        })?;
        let of_pod = "involvedObject.name=of-n1,reason=PodFeatureUnsupported";
        let event = self.with(async |admin| {
            let told = |event: &Value| word(&event["message"]).contains(RESTART);
            Ok(admin.watch_until("refusal", EVENTS, of_pod, told).await?)
        })?;
        due(
            "who refused",
            &word(&event["source"]["component"]),
            &"kubelet",
        )?;
        beats(self.cluster, OFF)?;
        let lists = features(self.cluster, OFF)?;
        due("its list", &list(&lists).contains(&json!(RESTART)), &false)?;
        self.still_run(&["plain", "of-n2", "of-n3"])
    }

    /// With the mechanism off nobody looks: the Pod runs on, and the list outlives the gate.
    fn a_pod_runs_without(&self, before: &str) -> Result<(), Box<dyn Error>> {
        let found = self.workloads(&["--set", MECHANISM_OFF, "--node", BEFORE])?;
        let message = format!(
            "1 Pod would run without {RESTART}, and nothing would tell: the kubelet does not look"
        );
        due(
            "what is said",
            &found,
            &vec![(message, vec!["of-n3".to_owned()])],
        )?;
        self.cluster.stop("kubelet-n3")?;
        let off = format!("--feature-gates={MECHANISM_OFF}");
        self.cluster.start_as("kubelet-n3", before, &[&off])?;
        beats(self.cluster, BEFORE)?;
        self.still_run(&["plain", "of-n2", "of-n3"])
    }

    fn still_run(&self, names: &[&str]) -> Result<(), Box<dyn Error>> {
        for name in names {
            let pod = self.when(name, "Pod", |_| true)?;
            due(name, &word(&pod["status"]["phase"]), &"Running")?;
        }
        Ok(())
    }
}

/// On this node, by its scheduler.
fn of(node: &str) -> Value {
    json!({"nodeSelector": {"kubernetes.io/hostname": node}})
}
