//! What `features explain` says beforehand, and what scheduler, API server and kubelets then do: a control plane of the newest minor
//! with kubelets of three minors, one of which has a feature off.
//!
//! Everything is predicted before it is done, from a manifest or from the Pod as it stands. It must not take a prediction for
//! the outcome: that is read from the server alone.

use std::error::Error;
use std::fs;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::{Client, ClientError, Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::machinery::block_on;
use crate::plugin::{Run, kubectl};
use crate::skew::{due, list, reach, word};

pub(crate) const NAME: &str = "explain_tells_beforehand_what_then_happens";

const PODS: &str = "/api/v1/namespaces/default/pods";
const RESTART: &str = "RestartAllContainersOnContainerExits";
const MOUNTS: &str = "VolumeBindMountOptions";
const POD_LEVEL: &str = "InPlacePodLevelResourcesVerticalScaling";
const INIT: &str = "InPlacePodVerticalScalingInitContainers";

/// Of the newest minor; of the one before; of the oldest, whose kubelet declares nothing; and the newest with a feature off.
const NEWEST: &str = "n1";
const BEFORE: &str = "n2";
const OLDEST: &str = "n3";
const WITHOUT: &str = "n4";

/// The trial.
pub(crate) fn works(clusters: &Clusters, minors: &[String]) -> Result<(), Failed> {
    let [.., oldest, before, newest] = minors else {
        return Err("three minors are needed".into());
    };
    let off = format!("--feature-gates={RESTART}=false");
    let options = ClusterOptions::new(newest)
        .nodes(&[NEWEST, BEFORE, OLDEST, WITHOUT])
        .of_minor("kubelet-n2", before)
        .of_minor("kubelet-n3", oldest)
        .argument("kubelet-n4", &off);
    clusters.apart(&options, |cluster| {
        let stage = Stage::of(cluster)?;
        stage.nodes_are_what_they_are()?;
        stage.the_scheduler_refuses_then_accepts()?;
        stage.admission_refuses_an_update()?;
        stage.a_stale_list_lets_an_update_pass()?;
        stage.kubelets_refuse_or_ignore()?;
        stage.nobody_is_told_nothing()?;
        stage.a_bundle_tells_the_same()
    })
}

struct Stage<'c> {
    cluster: &'c Cluster,
    folder: tempfile::TempDir,
    reach: Vec<String>,
}

impl<'c> Stage<'c> {
    fn of(cluster: &'c Cluster) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            cluster,
            folder: tempfile::tempdir()?,
            reach: reach(cluster),
        })
    }

    fn with<T>(
        &self,
        act: impl AsyncFnOnce(Client) -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        block_on(async { act(self.cluster.client("admin").await?).await })
    }

    fn file(&self, name: &str, object: &Value) -> Result<String, Box<dyn Error>> {
        let path = self.folder.path().join(name);
        fs::write(&path, object.to_string())?;
        Ok(path.display().to_string())
    }

    fn run(&self, user: &str, arguments: &[&str]) -> Result<Run, Box<dyn Error>> {
        let reach: Vec<&str> = self.reach.iter().map(String::as_str).collect();
        let always = ["features", "explain", "-n", "default", "-o", "json"];
        kubectl(
            self.cluster,
            user,
            &[&always[..], arguments, &reach].concat(),
        )
    }

    fn explain(&self, arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
        let run = self.run("admin", arguments)?;
        serde_json::from_str(&run.stdout).map_err(|_| format!("{arguments:?}: {run:?}").into())
    }

    /// What is said of a Pod that is not created yet.
    fn of_manifest(&self, pod: &Value) -> Result<Value, Box<dyn Error>> {
        let file = self.file("pod.json", pod)?;
        self.explain(&["-f", &file])
    }

    fn create(&self, pod: &Value) -> Result<(), Box<dyn Error>> {
        self.with(async |admin| {
            admin.create(PODS, pod).await?;
            Ok(())
        })
    }

    /// The Pod as it is when something is true of it.
    fn when(
        &self,
        name: &str,
        what: &str,
        wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, Box<dyn Error>> {
        let selector = format!("metadata.name={name}");
        self.with(async |admin| Ok(admin.watch_until(what, PODS, &selector, wanted).await?))
    }

    fn delete(&self, names: &[&str]) -> Result<(), Box<dyn Error>> {
        self.with(async |admin| {
            for name in names {
                admin.delete(&format!("{PODS}/{name}"), Some(0)).await?;
                admin.watch_until_gone(PODS, name).await?;
            }
            Ok(())
        })
    }

    fn nodes_are_what_they_are(&self) -> Result<(), Box<dyn Error>> {
        // Kubelets write their lists with their first status.
        for (node, declares) in [
            (NEWEST, true),
            (BEFORE, true),
            (OLDEST, false),
            (WITHOUT, true),
        ] {
            let selector = format!("metadata.name={node}");
            let is_there = |node: &Value| node["status"]["declaredFeatures"].is_array() == declares;
            self.with(async |admin| {
                let what = format!("list of {node}");
                Ok(admin
                    .watch_until(&what, "/api/v1/nodes", &selector, is_there)
                    .await?)
            })?;
        }
        let told = self.of_manifest(&restarting("told", &json!({})))?;
        verdict("on some nodes", &told, "Satisfied", "declared")?;
        due(
            "enforced",
            &word(&told["requirements"][0]["enforced"]),
            &"Yes",
        )?;
        due("scheduler", &word(&told["scheduler"]["known"]), &"Observed")?;
        let nodes = list(&told["nodes"]).iter();
        let satisfying: Vec<&str> = nodes
            .filter(|node| node["satisfies"] == true)
            .map(|node| word(&node["name"]))
            .collect();
        due("who satisfies", &satisfying, &vec![NEWEST, BEFORE])?;
        let file = self.file("pod.json", &restarting("told", &json!({})))?;
        let tried = self.explain(&["-f", &file, "--server-dry-run"])?;
        let word_of_server = json!({"asked": "Create", "accepted": "Yes", "code": null, "message": null, "dropped": []});
        due("a dry run", &tried["server"], &word_of_server)?;
        // The gate of mount options is off in this API server, which drops them.
        let mut mounted = restarting(
            "mounted",
            &json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
        );
        mounted["spec"]["containers"][0]["volumeMounts"] =
            json!([{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]);
        let file = self.file("pod.json", &mounted)?;
        let tried = self.explain(&["-f", &file, "--server-dry-run"])?;
        verdict(
            "dropped fields",
            &tried,
            "SilentlyIgnored",
            "dropped-by-the-api-server",
        )?;
        due(
            "what is dropped",
            &tried["server"]["dropped"],
            &json!([MOUNTS]),
        )?;
        let stored = self.with(async |admin| Ok(admin.list(PODS, &[]).await?.len()))?;
        due("Pods that a dry run stored", &stored, &0)?;
        let shown = ["features", "explain", "-f", &file, "--show-access"];
        let shown = kubectl(self.cluster, "admin", &shown)?;
        due(&format!("exit code of {shown:?}"), &shown.code, &Some(0))?;
        let plain = json!({"metadata": {"name": "plain"}, "spec": {"containers": [container()]}});
        let plain = self.explain(&["-f", &self.file("plain.json", &whole(plain))?])?;
        verdict("a plain Pod", &plain, "NothingRequired", "nothing-required")
    }

    fn the_scheduler_refuses_then_accepts(&self) -> Result<(), Box<dyn Error>> {
        let on_oldest = json!({"nodeSelector": {"kubernetes.io/hostname": OLDEST}});
        let pod = restarting("waits", &on_oldest);
        self.create(&pod)?;
        let waits = self.when("waits", "Pod waits refused", |pod| {
            condition(pod, "PodScheduled")["reason"] == "Unschedulable"
        })?;
        let said = condition(&waits, "PodScheduled");
        let told = self.explain(&["waits"])?;
        let lacking = list(&told["scheduler"]["reasons"]).iter();
        let lacking: Vec<&Value> = lacking
            .filter(|reason| !list(&reason["features"]).is_empty())
            .map(|reason| &reason["features"])
            .collect();
        due(
            &format!("named, of {said}"),
            &lacking,
            &vec![&json!([RESTART])],
        )?;
        due("its message", &told["scheduler"]["raw"], &said["message"])?;
        self.two_bundles_tell_the_same("waits", &told)?;
        // Its kubelet has the mechanism off and leaves the list alone; the scheduler believes it.
        let list_of = |features: Value| json!({"status": {"declaredFeatures": features}});
        self.patch_node(OLDEST, &list_of(json!([RESTART])))?;
        let promised = self.of_manifest(&pod)?;
        let oldest = row(&promised, OLDEST)?;
        due("satisfies", &oldest["satisfies"], &json!(true))?;
        self.when("waits", "Pod waits bound", |pod| {
            pod["spec"]["nodeName"] == OLDEST
        })?;
        let bound = self.explain(&["waits"])?;
        verdict(
            "on a list by hand",
            &bound,
            "SilentlyIgnored",
            "kubelet-does-not-check",
        )?;
        due("bound by", &word(&bound["pod"]["boundBy"]), &"Binding")?;
        let taken_up = self.when("waits", "Pod waits taken up", |pod| {
            pod["status"]["startTime"].is_string()
        })?;
        due(
            "refused",
            &(taken_up["status"]["phase"] == "Failed"),
            &false,
        )?;
        self.patch_node(OLDEST, &list_of(Value::Null))?;
        self.delete(&["waits"])
    }

    fn admission_refuses_an_update(&self) -> Result<(), Box<dyn Error>> {
        for (node, name) in [(OLDEST, "grows-not"), (NEWEST, "grows")] {
            self.create(&sized(name, node))?;
            let old = self.when(name, "Pod bound", |pod| pod["spec"]["nodeName"] == node)?;
            let mut new = old.clone();
            new["spec"]["resources"]["limits"]["cpu"] = "200m".into();
            new["spec"]["initContainers"][0]["resources"]["limits"]["cpu"] = "150m".into();
            let file = self.file("new.json", &new)?;
            let told = self.explain(&[name, "--update", &file, "--server-dry-run"])?;
            let change = json!({"spec": {"resources": new["spec"]["resources"],
                "initContainers": new["spec"]["initContainers"]}});
            let outcome = self.resize(name, &change)?;
            let features: Vec<&str> = list(&told["requirements"])
                .iter()
                .map(|it| word(&it["feature"]))
                .collect();
            due("what is required", &features, &vec![POD_LEVEL, INIT])?;
            if node == NEWEST {
                verdict("an update on n1", &told, "Satisfied", "declared")?;
                due("what the server said", &outcome, &None)?;
                due("a dry run", &word(&told["server"]["accepted"]), &"Yes")?;
            } else {
                verdict(
                    "an update on n3",
                    &told,
                    "RefusedByAdmission",
                    "not-declared",
                )?;
                let message = told["update"]["message"].as_str().map(str::to_owned);
                due("what the server said", &outcome, &message)?;
                due("a dry run", &word(&told["server"]["accepted"]), &"No")?;
                due("code of a dry run", &told["server"]["code"], &json!(403))?;
                if !word(&told["server"]["message"]).contains(&message.unwrap_or_default()) {
                    return Err(format!("a dry run says {}", told["server"]).into());
                }
            }
        }
        self.delete(&["grows", "grows-not"])
    }

    fn a_stale_list_lets_an_update_pass(&self) -> Result<(), Box<dyn Error>> {
        let list_of = |features: Value| json!({"status": {"declaredFeatures": features}});
        self.patch_node(OLDEST, &list_of(json!([POD_LEVEL])))?;
        self.create(&sized("promised", OLDEST))?;
        let old = self.when("promised", "Pod bound", |pod| {
            pod["spec"]["nodeName"] == OLDEST
        })?;
        let mut new = old.clone();
        new["spec"]["resources"]["limits"]["cpu"] = "200m".into();
        let file = self.file("new.json", &new)?;
        let told = self.explain(&["promised", "--update", &file])?;
        let change = json!({"spec": {"resources": new["spec"]["resources"]}});
        due(
            "what the server said",
            &self.resize("promised", &change)?,
            &None,
        )?;
        verdict("a stale promise", &told, "SilentlyIgnored", "stale-promise")?;
        self.patch_node(OLDEST, &list_of(Value::Null))?;
        self.delete(&["promised"])
    }

    fn kubelets_refuse_or_ignore(&self) -> Result<(), Box<dyn Error>> {
        let refused = restarting("refused", &json!({"nodeName": WITHOUT}));
        let told = self.of_manifest(&refused)?;
        verdict(
            "bound by hand to n4",
            &told,
            "RefusedByKubelet",
            "refused-on-arrival",
        )?;
        self.create(&refused)?;
        let failed = self.when("refused", "Pod refused", |pod| {
            pod["status"]["phase"] == "Failed"
        })?;
        due(
            "reason",
            &word(&failed["status"]["reason"]),
            &"PodFeatureUnsupported",
        )?;
        let told = self.explain(&["refused"])?;
        verdict("refused", &told, "RefusedByKubelet", "refused")?;
        due("bound by", &word(&told["pod"]["boundBy"]), &"Hand")?;

        // Of 1.35 without the mechanism the manifest alone tells nothing; the kubelet's own gates do.
        let ignored = restarting("ignored", &json!({"nodeName": OLDEST}));
        let told = self.of_manifest(&ignored)?;
        verdict(
            "bound by hand to n3",
            &told,
            "SilentlyIgnored",
            "kubelet-does-not-check",
        )?;
        self.create(&ignored)?;
        let taken_up = self.when("ignored", "Pod taken up", |pod| {
            pod["status"]["startTime"].is_string()
        })?;
        due(
            "refused",
            &(taken_up["status"]["phase"] == "Failed"),
            &false,
        )?;
        self.delete(&["refused", "ignored"])
    }

    fn nobody_is_told_nothing(&self) -> Result<(), Box<dyn Error>> {
        let file = self.file("pod.json", &restarting("pod", &json!({})))?;
        let run = self.run("nobody", &["-f", &file])?;
        due("exit code of nobody", &run.code, &Some(5))?;
        let told: Value = serde_json::from_str(&run.stdout)?;
        verdict("nobody", &told, "Unknown", "nodes-not-observed")
    }

    fn a_bundle_tells_the_same(&self) -> Result<(), Box<dyn Error>> {
        let bundle = self
            .folder
            .path()
            .join("bundle.tar.zst")
            .display()
            .to_string();
        let reach: Vec<&str> = self.reach.iter().map(String::as_str).collect();
        let collect = ["features", "collect", "-o", &bundle];
        let run = kubectl(self.cluster, "admin", &[&collect[..], &reach].concat())?;
        due("exit code of collect", &run.code, &Some(0))?;
        let file = self.file("pod.json", &restarting("pod", &json!({})))?;
        let live = self.explain(&["-f", &file])?;
        let always = ["features", "explain", "-n", "default", "-o", "json"];
        let run = kubectl(
            self.cluster,
            "admin",
            &[&always[..], &["-f", &file, "--from", &bundle]].concat(),
        )?;
        let kept: Value = serde_json::from_str(&run.stdout).map_err(|_| format!("{run:?}"))?;
        let names = |answer: &Value| -> Vec<(String, Value)> {
            let nodes = list(&answer["nodes"]).iter();
            nodes
                .map(|node| (word(&node["name"]).to_owned(), node["missing"].clone()))
                .collect()
        };
        due("nodes", &names(&kept), &names(&live))?;
        for key in ["requirements", "pod", "scheduler", "apiServer"] {
            let without_context = |answer: &Value| {
                let mut value = answer[key].clone();
                if let Some(context) = value.get_mut("context") {
                    *context = Value::Null;
                }
                value
            };
            due(key, &without_context(&kept), &without_context(&live))?;
        }
        due(
            "verdict",
            &kept["verdict"]["kind"],
            &live["verdict"]["kind"],
        )
    }

    /// A bundle of the Pod and one of the nodes together.
    fn two_bundles_tell_the_same(&self, name: &str, live: &Value) -> Result<(), Box<dyn Error>> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let (of_pod, of_nodes) = (path("pod.tar.zst"), path("nodes.tar.zst"));
        let reach: Vec<&str> = self.reach.iter().map(String::as_str).collect();
        let of_features = ["features", "collect", "-o", &of_nodes];
        let of_nominate = ["nominate", "collect", name, "-n", "default", "-o", &of_pod];
        for collect in [&[&of_features[..], &reach].concat()[..], &of_nominate] {
            let run = kubectl(self.cluster, "admin", collect)?;
            due(&format!("{collect:?}: {run:?}"), &run.code, &Some(0))?;
        }
        let arguments = ["features", "explain", name, "-n", "default", "-o", "json"];
        let from = ["--from", &of_pod, "--from", &of_nodes];
        let run = kubectl(self.cluster, "admin", &[&arguments[..], &from].concat())?;
        let kept: Value = serde_json::from_str(&run.stdout).map_err(|_| format!("{run:?}"))?;
        for key in ["requirements", "scheduler", "apiServer"] {
            due(key, &kept[key], &live[key])?;
        }
        due(
            "verdict",
            &kept["verdict"]["kind"],
            &live["verdict"]["kind"],
        )?;
        due(
            "cause",
            &kept["verdict"]["cause"],
            &live["verdict"]["cause"],
        )
    }

    fn patch_node(&self, node: &str, change: &Value) -> Result<(), Box<dyn Error>> {
        self.with(async |admin| {
            let path = format!("/api/v1/nodes/{node}/status");
            admin.merge_patch(&path, change).await?;
            Ok(())
        })
    }

    /// What the server says to a resize; null where it accepts it.
    fn resize(&self, name: &str, change: &Value) -> Result<Option<String>, Box<dyn Error>> {
        self.with(async |admin| {
            match admin
                .merge_patch(&format!("{PODS}/{name}/resize"), change)
                .await
            {
                Ok(_) => Ok(None),
                Err(ClientError::Refused {
                    code: 403, message, ..
                }) => Ok(Some(message)),
                Err(error) => Err(error.into()),
            }
        })
    }
}

fn container() -> Value {
    json!({"name": "c", "image": "busybox"})
}

/// As a file has it.
fn whole(mut pod: Value) -> Value {
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod
}

/// A Pod whose container restarts all others.
pub(crate) fn restarting(name: &str, spec: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": name}, "spec": spec});
    let mut container = container();
    container["restartPolicy"] = "Never".into();
    container["restartPolicyRules"] = json!([{"action": "RestartAllContainers",
        "exitCodes": {"operator": "In", "values": [42]}}]);
    pod["spec"]["containers"] = json!([container]);
    pod["spec"]["terminationGracePeriodSeconds"] = 0.into();
    whole(pod)
}

/// A Pod with resources of its own, and an init container with some.
pub(crate) fn sized(name: &str, node: &str) -> Value {
    // Other limits than requests: its class must not change with them.
    let small = json!({"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}});
    whole(json!({"metadata": {"name": name}, "spec": {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 0,
        "resources": small,
        "initContainers": [{"name": "i", "image": "busybox", "resources": small}],
        "containers": [container()],
    }}))
}

fn condition(pod: &Value, kind: &str) -> Value {
    let mut conditions = list(&pod["status"]["conditions"]).iter();
    let found = conditions.find(|it| it["type"] == kind);
    found.cloned().unwrap_or_default()
}

fn row(answer: &Value, node: &str) -> Result<Value, Box<dyn Error>> {
    let mut nodes = list(&answer["nodes"]).iter();
    let found = nodes.find(|row| row["name"] == node).cloned();
    found.ok_or_else(|| format!("no row of {node}: {answer:#}").into())
}

fn verdict(of: &str, answer: &Value, kind: &str, cause: &str) -> Result<(), Box<dyn Error>> {
    let verdict = &answer["verdict"];
    if verdict["kind"] == kind && verdict["cause"] == cause {
        return Ok(());
    }
    Err(format!("{of}: {kind} ({cause}) is due: {answer:#}").into())
}
