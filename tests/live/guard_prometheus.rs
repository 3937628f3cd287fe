//! `guard --prometheus` against a real Prometheus that scrapes a real control plane: it says what the components say themselves, stops at
//! real refusals of scheduler and API server, and calls unknown what nobody scrapes, keeps or reaches.
//!
//! What is due is written before it is looked at. On 1.35 the gate `NodeDeclaredFeatures` is off: nothing is refused there.

#![expect(clippy::disallowed_methods, reason = "a test waits with a ceiling")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use testkit::prometheus::{Job, Prometheus};
use testkit::{Client, ClientError, Cluster, ClusterOptions};

use crate::clusters::Clusters;
use crate::explained::{restarting, sized};
use crate::guard::{check, status};
use crate::machinery::block_on;
use crate::plugin::kubectl;
use crate::skew::{due, list, word};

pub(crate) const NAME: &str = "guard_counts_by_prometheus";

const PODS: &str = "/api/v1/namespaces/default/pods";

/// The node whose kubelet declares neither of what the Pods need.
const WITHOUT: &str = "n2";

const OFF: &str = "--feature-gates=RestartAllContainersOnContainerExits=false,InPlacePodLevelResourcesVerticalScaling=false";

/// The conditions that are read of processes.
const COUNTED: [&str; 3] = ["attempt-latency", "scheduling-refusals", "update-refusals"];

const CEILING: Duration = Duration::from_mins(1);

pub(crate) fn works(clusters: &Clusters, minor: &str) -> Result<(), Failed> {
    let options = ClusterOptions::new(minor)
        .nodes(&["n1", WITHOUT])
        .argument("kubelet-n2", OFF);
    clusters.apart(&options, |cluster| {
        let folder = tempfile::tempdir()?;
        let stage = Stage {
            host: cluster
                .server()
                .trim_start_matches("https://")
                .replace(":6443", ""),
            folder: folder.path().to_owned(),
            cluster,
        };
        stage.place()?;
        let scheduler = stage.target(10259);
        let server = stage.target(6443);
        // Two jobs for one process.
        let jobs = [
            Job::new("scheduler", &scheduler),
            Job::new("again", &scheduler),
            Job::new("apiserver", &server),
        ];
        let prometheus = Prometheus::start(cluster, &folder.path().join("all"), &jobs)?;
        let by = Way::Prometheus(prometheus.url());
        stage
            .both_count_alike(&by)
            .map_err(|error| format!("{error}\n{}", prometheus.log()))?;
        stage.nothing_happened(&by)?;
        if cluster.minor() == "1.35" {
            return stage.where_the_gate_is_off(&by);
        }
        stage.the_scheduler_refuses(&by)?;
        stage.the_server_refuses(&by)?;
        stage.attempts_are_counted(&by)?;
        stage.what_nobody_keeps_is_unknown()?;
        stage.who_is_no_prometheus_is_told()?;
        stage.who_is_down_is_unknown(&by)
    })
}

/// How a guard reads what is counted.
enum Way {
    Itself,
    Prometheus(String),
}

struct Stage<'c> {
    cluster: &'c Cluster,
    folder: PathBuf,
    host: String,
}

impl Stage<'_> {
    fn target(&self, port: u16) -> String {
        format!("{}:{port}", self.host)
    }

    fn with<T>(
        &self,
        act: impl AsyncFnOnce(Client) -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        block_on(async { act(self.cluster.client("admin").await?).await })
    }

    fn create(
        &self,
        pod: &Value,
        wanted: impl FnMut(&Value) -> bool,
    ) -> Result<Value, Box<dyn Error>> {
        let selector = format!("metadata.name={}", word(&pod["metadata"]["name"]));
        self.with(async |admin| {
            admin.create(PODS, pod).await?;
            Ok(admin
                .watch_until("the Pod", PODS, &selector, wanted)
                .await?)
        })
    }

    /// One Pod, so that there is an attempt to be seen.
    fn place(&self) -> Result<(), Box<dyn Error>> {
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "first"},
            "spec": {"containers": [{"name": "c", "image": "none"}]},
        });
        self.create(&pod, |pod| pod["spec"]["nodeName"].is_string())?;
        Ok(())
    }

    fn guard(&self, by: &Way, arguments: &[&str]) -> Result<(Option<i32>, Value), Box<dyn Error>> {
        let way = match by {
            Way::Itself => [
                "--component".to_owned(),
                format!("kube-scheduler=https://{}", self.target(10259)),
            ],
            Way::Prometheus(url) => ["--prometheus".to_owned(), url.clone()],
        };
        let way = way.each_ref().map(String::as_str);
        let all = [&["features", "guard"], arguments, &way, &["-o", "json"]].concat();
        let run = kubectl(self.cluster, "admin", &all)?;
        let answer = serde_json::from_str(&run.stdout);
        Ok((
            run.code,
            answer.map_err(|_| format!("{arguments:?}: {run:?}"))?,
        ))
    }

    /// The file of a baseline: an API server has other names for itself and for Prometheus.
    fn before(&self, by: &Way) -> String {
        let name = match by {
            Way::Itself => "itself.json",
            Way::Prometheus(_) => "prometheus.json",
        };
        self.folder.join(name).display().to_string()
    }

    /// What the conditions are, held against a baseline.
    fn against(
        &self,
        by: &Way,
        arguments: &[&str],
    ) -> Result<(Option<i32>, Value), Box<dyn Error>> {
        let before = self.before(by);
        let counted = COUNTED.join(",");
        let first = ["--baseline", &before, "--min-sample", "1"];
        let select = ["--select", &counted];
        let select = if arguments.contains(&"--select") {
            &[][..]
        } else {
            &select
        };
        self.guard(by, &[&first, select, arguments].concat())
    }

    /// Prometheus scrapes each second: until it has seen the last of what happened, what it says is of before.
    fn both_count_alike(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + CEILING;
        loop {
            let (_, of_itself) = self.guard(&Way::Itself, &["baseline"])?;
            let (code, seen) = self.guard(by, &["baseline"])?;
            let (due, found) = (counts(&of_itself), counts(&seen));
            if code == Some(0) && due == found {
                // Both, and each once, though two jobs scrape the scheduler.
                self::due("how many numbers", &found.len(), &3)?;
                for (way, baseline) in [(&Way::Itself, of_itself), (by, seen)] {
                    std::fs::write(self.before(way), baseline.to_string())?;
                }
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("{due:#?} is due: {found:#?}\n{seen:#}").into());
            }
        }
    }

    fn nothing_happened(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        let (code, answer) = self.against(by, &[])?;
        due(&format!("exit code: {answer:#}"), &code, &Some(0))?;
        due(
            "refusals",
            &status(&answer, "scheduling-refusals"),
            &"Pass".to_owned(),
        )?;
        due(
            "refusals",
            &status(&answer, "update-refusals"),
            &"Pass".to_owned(),
        )?;
        // Each is still measured where nothing is selected, and the kubelets are asked as ever.
        let (_, whole) = self.guard(by, &["--baseline", &self.before(by)])?;
        due(
            "checks",
            &list(&whole["checks"]).len(),
            &list(&answer["checks"]).len().max(8),
        )
    }

    /// 1.35: no scheduler looks at declared features and no server refuses for them, so there is nothing to stop at.
    fn where_the_gate_is_off(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        let (_, answer) = self.guard(by, &["--baseline", &self.before(by)])?;
        let missing = check(&answer, "missing-declarations");
        due(
            "nobody declares anything",
            &word(&missing["status"]),
            &"Pass",
        )?;
        for finding in list(&missing["findings"]) {
            due(
                "how many miss it",
                &finding["measurement"]["value"],
                &json!(1.0),
            )?;
        }
        Ok(())
    }

    /// A Pod that only fits a node which does not declare what it needs.
    fn the_scheduler_refuses(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        let pod = restarting(
            "needs-it",
            &json!({"nodeSelector": {"kubernetes.io/hostname": WITHOUT}}),
        );
        self.create(&pod, |pod| {
            list(&pod["status"]["conditions"])
                .iter()
                .any(|it| it["reason"] == "Unschedulable")
        })?;
        self.both_stop(by, "scheduling-refusals", &[])
    }

    /// An update that the API server refuses in these words.
    fn the_server_refuses(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        let pod = self.create(&sized("grows-not", WITHOUT), |pod| {
            pod["spec"]["nodeName"] == WITHOUT
        })?;
        let mut resources = pod["spec"]["resources"].clone();
        resources["limits"]["cpu"] = "200m".into();
        let change = json!({"spec": {"resources": resources}});
        let refused = self.with(async |admin| {
            match admin
                .merge_patch(&format!("{PODS}/grows-not/resize"), &change)
                .await
            {
                Err(ClientError::Refused {
                    code: 403, message, ..
                }) => Ok(message),
                other => Err(format!("a refusal is due: {other:?}").into()),
            }
        })?;
        let words = "pods \"grows-not\" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node \"n2\"";
        due("what the server said", &refused, &words.to_owned())?;
        self.both_stop(by, "update-refusals", &[])
    }

    fn attempts_are_counted(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        // None takes no time at all.
        self.both_stop(by, "attempt-latency", &["--threshold", "attempt-latency=0"])
    }

    /// A guard that watches stops at it, and one that asks the components themselves says the same.
    fn both_stop(&self, by: &Way, id: &str, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
        let watch = ["--select", id, "--for", "60s", "--every", "1s"];
        let select = ["--select", id];
        for (by, own) in [(by, &watch[..]), (&Way::Itself, &select)] {
            let (code, answer) = self.against(by, &[own, arguments].concat())?;
            due(&format!("exit code: {answer:#}"), &code, &Some(3))?;
            let findings = list(&check(&answer, id)["findings"]);
            let [finding] = findings else {
                return Err(format!("one finding is due: {answer:#}").into());
            };
            let port = if id == "update-refusals" { 6443 } else { 10259 };
            if let (Way::Prometheus(_), subject) = (by, word(&finding["subject"])) {
                due("of whom", &subject.ends_with(&self.target(port)), &true)?;
            }
            let value = finding["measurement"]["value"].as_f64();
            let is_due = match id {
                // An update that is refused by the cached Pod is tried again with the one of the store: the server counts both.
                "update-refusals" => value == Some(1.0) || value == Some(2.0),
                "scheduling-refusals" => value == Some(1.0),
                _ => value > Some(0.0),
            };
            due(&format!("how many of {id}: {value:?}"), &is_due, &true)?;
        }
        Ok(())
    }

    /// Looks until a reason is there for each of these.
    fn unknown(&self, url: &str, dues: &[(&str, &str)]) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + CEILING;
        let by = Way::Prometheus(url.to_owned());
        loop {
            let (code, answer) = self.against(&by, &["--request-timeout", "1s"])?;
            let is_due = |(id, reason): &(&str, &str)| {
                let check = check(&answer, id);
                check["status"] == "Unknown" && word(&check["reason"]).contains(reason)
            };
            if dues.iter().all(is_due) {
                return due(
                    &format!("exit code: {answer:#}"),
                    &code.is_some_and(|it| it == 5 || it == 3),
                    &true,
                );
            }
            if Instant::now() > end {
                return Err(format!("{dues:?} are due: {answer:#}").into());
            }
        }
    }

    fn what_nobody_keeps_is_unknown(&self) -> Result<(), Box<dyn Error>> {
        let scheduler = Job::new("scheduler", &self.target(10259))
            .dropping("scheduler_unschedulable_pods")
            .dropping("scheduler_scheduling_attempt_duration_seconds_bucket");
        let server = Job::new("apiserver", &self.target(6443))
            .dropping("apiserver_admission_controller_admission_duration_seconds.*");
        let folder = self.folder.join("drops");
        let drops = Prometheus::start(self.cluster, &folder, &[scheduler, server])?;
        let dropped = "Prometheus has no series scheduler_";
        let dues = [
            ("attempt-latency", dropped),
            ("scheduling-refusals", dropped),
            (
                "update-refusals",
                "has no series apiserver_admission_controller",
            ),
        ];
        self.unknown(&drops.url(), &dues)?;
        let scrapes_nothing = Prometheus::start(self.cluster, &self.folder.join("nothing"), &[])?;
        let nothing = "it has no series scheduler_pending_pods: it scrapes no kube-scheduler";
        let dues = [
            ("attempt-latency", nothing),
            ("scheduling-refusals", nothing),
        ];
        self.unknown(&scrapes_nothing.url(), &dues)?;
        // Of another cluster there is nothing here.
        let url = drops.url();
        let selector = ["--prometheus-selector", "cluster=other"];
        let (code, answer) = self.against(&Way::Prometheus(url), &selector)?;
        due(&format!("exit code: {answer:#}"), &code, &Some(5))
    }

    /// Each cannot be judged, and is told why.
    fn who_is_no_prometheus_is_told(&self) -> Result<(), Box<dyn Error>> {
        let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>";
        let login =
            "HTTP/1.1 302 Found\r\nLocation: https://login.invalid/\r\nContent-Length: 0\r\n\r\n";
        let wants = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
        for (answer, reason) in [
            (page, "it is a web page"),
            (login, "as to a login page"),
            (wants, "--prometheus-token-file"),
            ("", "gave no answer within 1s"),
        ] {
            let url = stranger(answer)?;
            self.unknown(&url, &[("scheduling-refusals", reason)])?;
        }
        // Nobody is there.
        self.unknown(
            "http://127.0.0.1:1",
            &[("scheduling-refusals", "127.0.0.1:1")],
        )?;
        // It verifies who gets a token: this is signed by nobody that it knows.
        let token = self.folder.join("token");
        std::fs::write(&token, "secret")?;
        let token = token.display().to_string();
        let server = Way::Prometheus(self.cluster.server().to_owned());
        let arguments = ["--prometheus-token-file", &token];
        let (code, answer) = self.against(&server, &arguments)?;
        due("exit code", &code, &Some(5))?;
        let reason = word(&check(&answer, "update-refusals")["reason"]);
        due(reason, &reason.contains("--prometheus-ca"), &true)?;
        // One that it knows is asked, and has no such path.
        let authority = self.cluster.authority().display().to_string();
        let arguments = [&arguments[..], &["--prometheus-ca", &authority]].concat();
        let (_, answer) = self.against(&server, &arguments)?;
        let reason = word(&check(&answer, "update-refusals")["reason"]);
        due(reason, &reason.contains("401"), &true)
    }

    fn who_is_down_is_unknown(&self, by: &Way) -> Result<(), Box<dyn Error>> {
        let Way::Prometheus(url) = by else {
            return Err("it is asked of Prometheus".into());
        };
        self.cluster.stop("kube-scheduler")?;
        let down = "Prometheus does not reach it";
        self.unknown(
            url,
            &[("scheduling-refusals", down), ("attempt-latency", down)],
        )?;
        self.cluster.start_again("kube-scheduler")?;
        // Its new process refuses the Pod again, and has counted from nothing since.
        self.both_stop(by, "scheduling-refusals", &[])
    }
}

/// The numbers of processes, as a baseline has them. Of their starts an API server tells a second apart in its header and its series.
fn counts(baseline: &Value) -> Vec<Value> {
    let readings = list(&baseline["readings"]).iter();
    let own = readings.filter(|it| COUNTED.contains(&word(&it["condition"])));
    own.map(|it| {
        json!([
            it["condition"],
            it["value"],
            it["sample"],
            it["startedAt"].is_string(),
            it["buckets"]
        ])
    })
    .collect()
}

/// Somebody who gives every request this answer, or none; it ends with the test process.
fn stranger(answer: &'static str) -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 4096];
            // Whoever asks may be gone.
            drop(stream.read(&mut request));
            drop(stream.write_all(answer.as_bytes()));
            if answer.is_empty() {
                open.push(stream);
            }
        }
    });
    Ok(url)
}
