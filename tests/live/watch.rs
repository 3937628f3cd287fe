//! Watches of real control planes: a preemption from its beginning to its end, and what a server does to a watch.
//!
//! What each command told, in which order, is looked at when it has ended; a trial waits for a command's words only where
//! the next step needs them.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use testkit::Cluster;

use crate::machinery::Check;
use crate::plugin::{Run, kubectl, same};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    (
        "a_preemption_is_watched_from_the_gate_to_the_binding",
        preemption,
    ),
    ("a_wait_ends_as_it_has_to", ends),
    (
        "a_right_to_one_name_is_enough_to_watch_it",
        right_to_one_name,
    ),
    ("a_watch_outlives_the_api_server", outlives_the_server),
];

const CEILING: Duration = Duration::from_mins(1);

/// A Pod that nobody places before its gate is removed.
const GATED: &str = r"
apiVersion: v1
kind: Pod
metadata: {name: POD, namespace: NAMESPACE}
spec:
  schedulingGates: [{name: example.com/wait}]
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: busybox}]
";

/// A victim that fills n1 and takes three seconds to end, and a Pod that takes its place once its gate is removed.
const PREEMPTION: &str = r"
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: watch-low}
value: 100
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: watch-high}
value: 1000
---
apiVersion: v1
kind: Pod
metadata: {name: victim, namespace: NAMESPACE}
spec:
  nodeSelector: {kubernetes.io/hostname: n1}
  priorityClassName: watch-low
  terminationGracePeriodSeconds: 3
  containers: [{name: c, image: busybox, resources: {requests: {cpu: CPU}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: preemptor, namespace: NAMESPACE}
spec:
  schedulingGates: [{name: example.com/wait}]
  nodeSelector: {kubernetes.io/hostname: n1}
  priorityClassName: watch-high
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: busybox, resources: {requests: {cpu: CPU}}}]
";

const KUBELET: &str = "kubelet-n1";
const API_SERVER: &str = "kube-apiserver";

/// A namespace that goes with the trial, and commands in it.
struct Scene<'c> {
    cluster: &'c Cluster,
    namespace: &'static str,
}

impl<'c> Scene<'c> {
    fn new(cluster: &'c Cluster, namespace: &'static str) -> Result<Self, Box<dyn Error>> {
        let scene = Self { cluster, namespace };
        scene.admin(&["create", "namespace", namespace])?;
        Ok(scene)
    }

    /// Runs kubectl as one who may do everything; it has to work.
    fn admin(&self, arguments: &[&str]) -> Result<Run, Box<dyn Error>> {
        let all = [arguments, &["-n", self.namespace]].concat();
        let run = kubectl(self.cluster, "admin", &all)?;
        if run.code == Some(0) {
            Ok(run)
        } else {
            Err(format!("{arguments:?}: {run:?}").into())
        }
    }

    fn apply(&self, objects: &str) -> Result<(), Box<dyn Error>> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(objects.replace("NAMESPACE", self.namespace).as_bytes())?;
        self.admin(&["apply", "-f", &file.path().display().to_string()])?;
        Ok(())
    }

    fn remove_gate(&self, pod: &str) -> Result<(), Box<dyn Error>> {
        let patch = r#"{"spec": {"schedulingGates": null}}"#;
        self.admin(&["patch", "pod", pod, "--type=merge", "-p", patch])?;
        Ok(())
    }

    fn wait(&self, condition: &str, what: &str) -> Result<(), Box<dyn Error>> {
        self.admin(&["wait", what, &format!("--for={condition}"), "--timeout=60s"])?;
        Ok(())
    }

    /// Starts `kubectl nominate explain` as a user.
    fn explain(&self, user: &str, arguments: &[&str]) -> Result<Going, Box<dyn Error>> {
        let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-nominate"));
        let mut child = Command::new(self.cluster.kubectl())
            .args(["nominate", "explain", "-o", "json", "-n", self.namespace])
            .args(arguments)
            .env_clear()
            .env("HOME", "/nonexistent")
            .env("PATH", plugin.parent().ok_or("the plugin is in no folder")?)
            .env("KUBECONFIG", self.cluster.kubeconfig(user))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, lines) = channel();
        for (stream, is_error) in [
            (
                child.stdout.take().map(|one| Box::new(one) as Output),
                false,
            ),
            (child.stderr.take().map(|one| Box::new(one) as Output), true),
        ] {
            let stream = stream.ok_or("the command has no output")?;
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    // The trial may have seen enough.
                    sender.send((is_error, line)).ok();
                }
            });
        }
        Ok(Going {
            child,
            lines,
            stdout: String::new(),
            stderr: String::new(),
        })
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        // Its Pods first, since the next trial needs the room. What cannot be taken away is told by the next trial.
        for arguments in [
            &[
                "delete",
                "pods",
                "--all",
                "--grace-period=1",
                "--timeout=60s",
            ][..],
            &["delete", "namespace", self.namespace, "--wait=false"],
        ] {
            self.admin(arguments).ok();
        }
    }
}

type Output = Box<dyn std::io::Read + Send>;

type Ended = (Option<i32>, Vec<Value>, String);

/// A command that goes on.
struct Going {
    child: Child,
    lines: Receiver<(bool, String)>,
    stdout: String,
    stderr: String,
}

impl Going {
    /// Waits until its output holds some words, on either stream.
    fn until(&mut self, words: &str) -> Result<(), Box<dyn Error>> {
        while !self.stdout.contains(words) && !self.stderr.contains(words) {
            let (is_error, line) = self.lines.recv_timeout(CEILING).map_err(|error| {
                let told = format!("{}\n{}", self.stdout, self.stderr);
                format!("{words:?} did not come ({error}): {told}")
            })?;
            let stream = if is_error {
                &mut self.stderr
            } else {
                &mut self.stdout
            };
            *stream += &(line + "\n");
        }
        Ok(())
    }

    /// Waits for its end; gives the exit code, all answers, and what it said on the side.
    fn end(mut self) -> Result<Ended, Box<dyn Error>> {
        while let Ok((is_error, line)) = self.lines.recv_timeout(CEILING) {
            let stream = if is_error {
                &mut self.stderr
            } else {
                &mut self.stdout
            };
            *stream += &(line + "\n");
        }
        // Both streams are closed, or it did nothing for a minute.
        self.child.kill().ok();
        let code = self.child.wait()?.code();
        let answers = serde_json::Deserializer::from_str(&self.stdout)
            .into_iter()
            .collect::<Result<_, _>>()?;
        Ok((code, answers, std::mem::take(&mut self.stderr)))
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // An error means that it has ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Kind and cause of each verdict, each once in a row.
fn verdicts(answers: &[Value]) -> Vec<String> {
    let mut told: Vec<String> = answers
        .iter()
        .map(|answer| {
            let verdict = &answer["verdict"];
            let word = |key: &str| verdict[key].as_str().unwrap_or("-").to_owned();
            format!("{} {}", word("kind"), word("cause"))
        })
        .collect();
    told.dedup();
    told
}

/// Each of these comes, in this order; between them there may be others, as the moments of a scheduler have it.
fn in_order(told: &[String], due: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut told_on = told.iter();
    for due in due {
        if !told_on.any(|told| told.starts_with(due)) {
            return Err(format!("{due} did not come in its place: {told:?}").into());
        }
    }
    Ok(())
}

/// From the gate to the kubelet, with a victim that becomes overdue since its kubelet is dead.
fn preemption(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let scene = Scene::new(cluster, "watch-preemption")?;
    let cpu = scene.admin(&[
        "get",
        "node",
        "n1",
        "-o",
        "jsonpath={.status.allocatable.cpu}",
    ])?;
    let thousandths = match cpu.stdout.strip_suffix('m') {
        Some(thousandths) => thousandths.parse::<u64>()?,
        None => cpu.stdout.parse::<u64>()? * 1000,
    };
    let room = format!("{}m", thousandths * 3 / 4);
    scene.apply(&PREEMPTION.replace("CPU", &room))?;
    scene.wait("jsonpath={.status.phase}=Running", "pod/victim")?;

    let pod = ["preemptor", "--timeout=2m"];
    let explain = |more: &[&str]| scene.explain("viewer", &[&pod[..], more].concat());
    let mut watch = explain(&["--watch"])?;
    // The server ends each of its watches after a second.
    let mut restless = explain(&["--watch", "--request-timeout=1s"])?;
    let honoured = explain(&["--for=verdict=Honoured"])?;
    let waiting = explain(&["--for=verdict=waitingForVictims"])?;
    watch.until("timeline")?;
    restless.until("timeline")?;

    cluster.kill(KUBELET)?;
    scene.remove_gate("preemptor")?;
    watch.until("victim-overdue")?;
    restless.until("victim-overdue")?;
    cluster.start_again(KUBELET)?;

    let due = [
        "Gated scheduling-gates",
        "WaitingForVictims victim-terminating",
        "WaitingForVictims victim-overdue",
        "Honoured",
    ];
    for going in [watch, restless] {
        let (code, answers, stderr) = going.end()?;
        same(&(code, stderr.as_str()), &(Some(0), ""))?;
        in_order(&verdicts(&answers), &due)?;
        let last = answers.last().ok_or("no answer")?;
        same(&last["binding"]["node"], &"n1".into())?;
        let lines = last["coverage"].as_array().ok_or("no coverage")?;
        let unseen = lines.iter().find(|line| line["state"] != "Complete");
        same(&unseen, &None)?;
    }
    for (going, verdict) in [(honoured, "Honoured"), (waiting, "WaitingForVictims")] {
        let (code, answers, stderr) = going.end()?;
        same(&(code, stderr.as_str()), &(Some(0), ""))?;
        same(&answers.len(), &1)?;
        in_order(&verdicts(&answers), &[verdict])?;
    }
    scene.wait("condition=Ready", "node/n1")
}

/// A deleted Pod ends a wait with 3, even if another one takes its name; time that is over ends it with 7.
fn ends(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let scene = Scene::new(cluster, "watch-ends")?;
    let gated = GATED.replace("POD", "web");
    scene.apply(&gated)?;
    let arguments = ["web", "--watch", "--for=verdict=Honoured", "--timeout=60s"];
    let mut going = scene.explain("viewer", &arguments)?;
    going.until("timeline")?;
    scene.admin(&["delete", "pod", "web"])?;
    scene.apply(&gated)?;
    let (code, answers, stderr) = going.end()?;
    same(
        &(code, stderr.as_str()),
        &(
            Some(3),
            "error: waited for the verdict Honoured on pods/web, and Deleted is final\n",
        ),
    )?;
    same(
        &verdicts(&answers),
        &vec!["Gated scheduling-gates".to_owned(), "Deleted -".to_owned()],
    )?;
    let uids: Vec<&Value> = answers.iter().map(|one| &one["pod"]["uid"]).collect();
    same(&uids.iter().all(|uid| Some(uid) == uids.first()), &true)?;

    let (code, answers, stderr) = scene
        .explain("viewer", &["web", "--for=verdict=Honoured", "--timeout=1s"])?
        .end()?;
    same(
        &(code, stderr.as_str()),
        &(
            Some(7),
            "error: timed out waiting for the verdict Honoured on pods/web\n",
        ),
    )?;
    same(
        &verdicts(&answers),
        &vec!["Gated scheduling-gates".to_owned()],
    )
}

/// A role that names the Pod lets its watch through; what it does not hold is looked for again and again.
fn right_to_one_name(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let scene = Scene::new(cluster, "watch-name")?;
    scene.apply(&GATED.replace("POD", "web"))?;
    let role = [
        "create",
        "role",
        "web",
        "--verb=get,watch",
        "--resource=pods",
        "--resource-name=web",
    ];
    scene.admin(&role)?;
    scene.admin(&[
        "create",
        "rolebinding",
        "web",
        "--role=web",
        "--user=nobody",
    ])?;
    let (code, answers, _) = scene
        .explain("nobody", &["web", "--watch", "--show-access"])?
        .end()?;
    same(&code, &Some(0))?;
    let rights = answers.first().map(|report| &report["rights"]);
    let rights = rights.and_then(Value::as_array).ok_or("no rights")?;
    let watches = rights.iter().filter(|right| right["verb"] == "watch");
    let allowed: Vec<(&Value, &Value)> = watches
        .map(|right| (&right["resource"], &right["allowed"]))
        .collect();
    same(&allowed.first(), &Some(&(&"pods".into(), &"Yes".into())))?;
    same(&allowed.get(1), &Some(&(&"events".into(), &"No".into())))?;

    let mut going = scene.explain("nobody", &["web", "--watch", "--timeout=60s"])?;
    going.until("timeline")?;
    scene.admin(&["delete", "pod", "web"])?;
    let (code, answers, stderr) = going.end()?;
    same(&(code, stderr.as_str()), &(Some(0), ""))?;
    let last = answers.last().ok_or("no answer")?;
    same(&last["verdict"]["kind"], &"Deleted".into())?;
    let lines = last["coverage"].as_array().ok_or("no coverage")?;
    let told: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["subject"].as_str()?.strip_prefix("changes of "))
        .collect();
    same(
        &told.iter().any(|subject| subject.starts_with("pods/web")),
        &false,
    )
}

/// Waits until the API server takes requests; nothing tells of that but an answer.
fn ready(cluster: &Cluster) -> Result<(), Box<dyn Error>> {
    for _ in 0..600 {
        if kubectl(cluster, "admin", &["get", "--raw=/readyz"])?.code == Some(0) {
            return Ok(());
        }
    }
    Err("the API server did not come back".into())
}

/// A new API server does not know the versions of the old one's watches: 410, and all is read again.
fn outlives_the_server(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let scene = Scene::new(cluster, "watch-restart")?;
    let gated = |name: &str| GATED.replace("POD", name);
    scene.apply(&gated("web"))?;
    let mut going = scene.explain("viewer", &["web", "--watch", "-v", "4", "--timeout=2m"])?;
    going.until("timeline")?;
    // Begun with what is there, so it has a version.
    going.until("WATCH path=/api/v1/namespaces/watch-restart/pods")?;
    // Later than the watch's version, so that the next server's memory begins after it.
    scene.apply(&gated("other"))?;
    cluster.kill(API_SERVER)?;
    going.until("warning: ")?;
    cluster.start_again(API_SERVER)?;
    ready(cluster)?;
    scene.remove_gate("web")?;
    let (code, answers, stderr) = going.end()?;
    same(&code, &Some(0)).map_err(|error| format!("{error}: {stderr}"))?;
    in_order(&verdicts(&answers), &["Gated", "NotNominated"])?;
    let warnings: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("warning: "))
        .collect();
    let sentence = format!(
        "warning: The connection to the server {} was refused - did you specify the right host or port?; trying again",
        cluster.server().trim_start_matches("https://")
    );
    same(&warnings, &vec![sentence.as_str()])?;
    same(&stderr.contains("too old resource version"), &true)
        .map_err(|error| format!("{error}: {stderr}").into())
}

/// An audit log that its server rotates while it is followed: the file begins with the Pod, and ends in another one.
pub(crate) fn follows_a_rotated_log(cluster: &mut Cluster) -> Result<(), Box<dyn Error>> {
    let scene = Scene::new(cluster, "watch-log")?;
    let log = cluster.audit_log();
    let folder = log.parent().ok_or("the log is in a folder")?;
    let files = || -> Result<usize, Box<dyn Error>> {
        let names = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
        let names: Vec<_> = names.collect::<std::io::Result<_>>()?;
        let is_log = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with("audit");
        Ok(names.iter().filter(is_log).count())
    };
    let path = log.display().to_string();
    let arguments = ["web", "--watch", "--from", &path, "--timeout=2m"];
    let mut going = scene.explain("nobody", &arguments)?;
    going.until("waiting for a write")?;
    scene.apply(&GATED.replace("POD", "web"))?;
    going.until("scheduling-gates")?;
    let before = files()?;
    for round in 0..20 {
        if files()? > before {
            break;
        }
        // Both objects of a write are logged, and kubectl keeps what was applied: some 400 kB a line.
        let large = format!(
            "metadata: {{name: POD, namespace: NAMESPACE, annotations: {{filling: \"{round}{}\"}}}}",
            "x".repeat(100_000)
        );
        let gated = GATED.replace("metadata: {name: POD, namespace: NAMESPACE}", &large);
        scene.apply(&gated.replace("POD", "large"))?;
    }
    same(&(files()? > before), &true).map_err(|_| "the server did not rotate its log")?;
    let hint = r#"{"status": {"nominatedNodeName": "n1"}}"#;
    let subresource = ["--subresource=status", "--type=merge", "-p", hint];
    scene.admin(&[&["patch", "pod", "web"], &subresource[..]].concat())?;
    scene.remove_gate("web")?;
    let (code, answers, stderr) = going.end()?;
    same(&code, &Some(0)).map_err(|error| format!("{error}: {stderr}"))?;
    in_order(&verdicts(&answers), &["Gated", "Honoured"])?;
    let last = answers.last().ok_or("there is an answer")?;
    same(&last["verdict"]["certainty"], &Value::from("Proven"))?;
    same(&last["binding"]["node"], &Value::from("n1"))
}
