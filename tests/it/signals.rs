//! SIGINT, SIGTERM and a closed output: the command ends at once, with the documented code and nothing on its output.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::fake_server::{Answer, FakeServer, Routes};

use super::plugin::command;

const POD: &str = "/api/v1/namespaces/default/pods/web";
const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-nominate");

/// Starts `explain` without a time limit, its output and errors kept.
fn start(server: &FakeServer, folder: &Path, more: &[&str]) -> Child {
    let kubeconfig = server.kubeconfig(folder);
    let kubeconfig = kubeconfig.to_str().expect("the path is UTF-8");
    let arguments = [
        &[
            "explain",
            "web",
            "--request-timeout",
            "0",
            "--kubeconfig",
            kubeconfig,
        ],
        more,
    ]
    .concat();
    command(BINARY, &arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built by this test run")
}

/// Sends a signal, as the shell does.
pub(super) fn send(signal: &str, child: &Child) {
    // The shell's own: a program of that name is not everywhere.
    let kill = format!("kill {signal} {}", child.id());
    let sent = Command::new("sh")
        .args(["-c", &kill])
        .status()
        .expect("there is a shell");
    assert!(sent.success());
}

#[test]
fn a_signal_ends_a_command_that_waits_for_a_server() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for more in [&[][..], &["--show-access"]] {
            let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
            let routes = Routes::new()
                .get(POD, Answer::Hang)
                .on("POST", review, Answer::Hang);
            let server = FakeServer::start(routes);
            let folder = tempfile::tempdir().expect("a folder");
            let child = start(&server, folder.path(), more);
            assert!(server.wait_for_requests(1), "it asks");
            send(signal, &child);
            let output = child.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), Some(code), "{signal} {more:?}");
            assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
        }
    }
}

/// Nobody polls a future here: the process is blocked in a write to a pipe that is full.
#[test]
fn a_signal_ends_a_command_that_nobody_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pods.json");
    let pods: Vec<String> = (0..2000)
        .map(|n| format!(r#"{{"metadata":{{"name":"p{n}","namespace":"default","uid":"{n}"}},"spec":{{"schedulingGates":[{{"name":"g"}}]}}}}"#))
        .collect();
    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","items":[{}]}}"#,
        pods.join(",")
    );
    std::fs::write(&file, list).expect("the folder takes a file");
    let file = file.to_str().expect("the path is UTF-8");
    let mut child = command(BINARY, &["explain", "-A", "-o", "json", "--from", file])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built by this test run");
    // The first byte: now it writes, and the rest is more than a pipe holds.
    let mut output = child.stdout.take().expect("its output is a pipe");
    std::io::Read::read_exact(&mut output, &mut [0]).expect("it writes");
    send("-TERM", &child);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(143));
}

#[test]
fn a_closed_output_is_no_error() {
    let server = FakeServer::start(Routes::new().get(POD, Answer::json_text(
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"u"},"spec":{"schedulingGates":[{"name":"g"}]}}"#,
    )));
    let folder = tempfile::tempdir().expect("a folder");
    for format in ["table", "json"] {
        let mut child = start(&server, folder.path(), &["-o", format]);
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    }
}
