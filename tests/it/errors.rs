//! Bad input: one clear line, the documented exit code, and what could be read is used.

use std::fs;
use std::path::Path;

use super::plugin::{nominate, root, run};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"1","creationTimestamp":"2026-11-30T08:00:00Z"},"spec":{"schedulingGates":[{"name":"example.com/g"}]},"status":{"phase":"Pending"}}"#;

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("the folder takes a file");
    path.display().to_string()
}

/// The run failed with this code, told so in lines that begin as expected, and printed nothing else.
#[track_caller]
fn fails(arguments: &[&str], code: i32, first: &str) -> String {
    let run = nominate(arguments);
    assert_eq!(run.code, Some(code), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.starts_with(first), "{}", run.stderr);
    assert_eq!(run.stdout, "");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run.stderr
}

#[test]
fn usage_errors_exit_with_2() {
    fails(
        &["explain"],
        2,
        "error: the following required arguments were not provided:",
    );
    fails(
        &["explain", "a", "-o", "xml"],
        2,
        "error: invalid value 'xml' for '--output <FORMAT>'",
    );
    fails(
        &["explain", "svc/web"],
        2,
        "error: invalid value 'svc/web' for '[POD|TYPE/NAME]...': it is about Pods",
    );
    fails(
        &["explain", "pod/"],
        2,
        "error: invalid value 'pod/' for '[POD|TYPE/NAME]...'",
    );
    fails(
        &["explain", "a", "-l", "app=web"],
        2,
        "error: name cannot be provided when a selector is specified",
    );
    fails(
        &["explain", "a", "-A"],
        2,
        "error: a resource cannot be retrieved by name across all namespaces",
    );
    fails(
        &["explain", "-l", "app in web"],
        2,
        "error: invalid value 'app in web' for '--selector <LABELS>': unable to parse requirement: found \"web\", expected: '('",
    );
    fails(
        &["explain", "--field-selector", "spec.image=x"],
        2,
        "error: invalid value 'spec.image=x' for '--field-selector <FIELDS>': field label not supported: spec.image",
    );
    fails(
        &["explain", "a", "--uid", "u"],
        2,
        "error: the argument '[POD|TYPE/NAME]...' cannot be used with '--uid <UID>'",
    );
    fails(
        &["explain", "a", "--request-timeout", "5"],
        2,
        "error: invalid value '5' for '--request-timeout <DURATION>': give a time with a unit",
    );
    fails(
        &["explain", "a", "--from", "x", "--context", "y"],
        2,
        "error: the argument '--from <PATH>' cannot be used with",
    );
    fails(
        &["explain", "a", "--now", "tomorrow"],
        2,
        "error: invalid value 'tomorrow' for '--now <TIME>'",
    );
    fails(
        &["nonsense"],
        2,
        "error: unrecognized subcommand 'nonsense'",
    );
}

#[test]
fn a_path_that_is_not_there() {
    fails(
        &["explain", "a", "--from", "no/such/file"],
        1,
        "error: the path \"no/such/file\" does not exist\n",
    );
}

#[test]
fn foreign_files_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = write(folder.path(), "notes.txt", "dear diary\n");
    fails(
        &["explain", "a", "--from", &text],
        1,
        &format!(
            "error: {text:?} holds no Kubernetes objects: it is not a Kubernetes object in YAML or JSON\nhint: "
        ),
    );
    let empty = write(folder.path(), "empty.json", "");
    fails(
        &["explain", "a", "--from", &empty],
        1,
        &format!("error: {empty:?} holds no Kubernetes objects: it is empty\n"),
    );
    let torn = write(
        folder.path(),
        "torn.json",
        r#"{"kind":"PodList","apiVersion":"v1","items":[{"meta"#,
    );
    fails(
        &["explain", "a", "--from", &torn],
        1,
        &format!("error: {torn:?} holds no Kubernetes objects: it is cut off: "),
    );
    let place = folder.path().display().to_string();
    fails(
        &["explain", "a", "--from", &place],
        1,
        &format!("error: {place:?} holds no Kubernetes objects: none of its 3 files has Pods"),
    );
}

#[test]
fn a_file_that_a_folder_does_not_need_is_coverage() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "pod.json", POD);
    write(folder.path(), "notes.txt", "dear diary\n");
    write(folder.path(), "image.png", "\u{89}PNG\u{0}");
    let place = folder.path().display().to_string();
    let run = nominate(&["explain", "a", "--from", &place, "-o", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).expect("the answer is JSON");
    let line = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|line| line["subject"] == "2 files")
        .expect("a line");
    assert_eq!(line["state"], "Complete");
    assert_eq!(line["detail"], "nothing that is read here");
}

#[test]
fn links_and_mazes_in_a_folder_are_not_followed() {
    let outside = tempfile::tempdir().expect("a folder");
    write(outside.path(), "secret.json", POD);
    let folder = tempfile::tempdir().expect("a folder");
    write(
        folder.path(),
        "events.json",
        r#"{"kind":"EventList","apiVersion":"v1","items":[]}"#,
    );
    std::os::unix::fs::symlink(
        outside.path().join("secret.json"),
        folder.path().join("link.json"),
    )
    .expect("a link");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).expect("a link");
    let place = folder.path().display().to_string();
    fails(
        &["explain", "a", "--from", &place],
        1,
        "error: pods \"a\" not found in the input\nhint: the input holds no Pods\n",
    );
}

#[test]
fn a_list_that_is_cut_off_is_used_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let torn = write(
        folder.path(),
        "pods.json",
        &format!(r#"{{"kind":"PodList","apiVersion":"v1","items":[{POD},{{"metadata":{{"na"#),
    );
    let run = nominate(&["explain", "a", "--from", &torn, "-o", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).expect("the answer is JSON");
    assert_eq!(answer["verdict"]["kind"], "Gated");
    let partial = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .any(|line| line["state"] == "Partial");
    assert!(partial, "{}", answer["coverage"]);
}

#[test]
fn a_wrong_name_tells_what_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "pod.json", POD);
    fails(
        &["explain", "b", "--from", &file],
        1,
        "error: pods \"b\" not found in the input\nhint: the input holds 1 Pods, e.g. shop/a\n",
    );
    fails(
        &["explain", "a", "-n", "other", "--from", &file],
        1,
        "error: pods \"a\" not found in namespace \"other\" in the input\n",
    );
    let two = write(
        folder.path(),
        "two.json",
        &format!(
            "{POD}{}",
            POD.replace("shop", "store").replace("\"1\"", "\"2\"")
        ),
    );
    fails(
        &["explain", "a", "--from", &two],
        2,
        "error: pods named \"a\" are in the namespaces shop, store\nhint: choose one with -n\n",
    );
}

#[test]
fn standard_input_is_read_as_yaml_or_json() {
    let binary = env!("CARGO_BIN_EXE_kubectl-nominate");
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {schedulingGates: [{name: g}]}\n---\napiVersion: v1\nkind: EventList\nitems: []\n";
    for text in [POD, yaml] {
        let run = run(binary, &["explain", "a", "--from", "-", "-o", "json"], text);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stdout.contains("\"kind\": \"Gated\""), "{}", run.stdout);
    }
    let nothing = run(binary, &["explain", "a", "--from", "-"], "");
    assert_eq!(
        (nothing.code, nothing.stderr.lines().next()),
        (
            Some(1),
            Some("error: \"-\" holds no Kubernetes objects: it is empty")
        )
    );
}

#[test]
fn broken_kubeconfigs() {
    let folder = tempfile::tempdir().expect("a folder");
    fails(
        &["explain", "a"],
        1,
        "error: no kubeconfig was found\nhint: name one with --kubeconfig",
    );
    fails(
        &["explain", "a", "--kubeconfig", "no/such"],
        1,
        "error: the kubeconfig \"no/such\" does not exist\n",
    );
    let broken = write(folder.path(), "broken", "clusters: [\n");
    fails(
        &["explain", "a", "--kubeconfig", &broken],
        1,
        &format!("error: the kubeconfig {broken:?} cannot be read\ncaused by: "),
    );
    let bare = write(
        folder.path(),
        "bare",
        "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n",
    );
    fails(
        &["explain", "a", "--kubeconfig", &bare],
        1,
        "error: the kubeconfig has no current-context\n",
    );
    fails(
        &["explain", "a", "--kubeconfig", &bare, "--context", "prod"],
        1,
        "Error in configuration: context was not found for specified context: prod\n",
    );
}

#[test]
fn hostile_text_stays_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let hostile = POD.replace(
        "example.com/g",
        "\\u001b[31mred\\u001b[0m\\nVerdict:\\n  Honoured\\u202e",
    );
    let file = write(folder.path(), "pod.json", &hostile);
    for format in ["table", "wide", "json", "yaml"] {
        let run = nominate(&["explain", "a", "--from", &file, "-o", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let steering = run
            .stdout
            .chars()
            .find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
        assert_eq!(steering, None, "in {format}: {}", run.stdout);
        assert!(
            !run.stdout.contains("\nVerdict:\n  Honoured"),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn secrets_of_a_pod_are_never_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = POD.replace(
        "\"spec\":{",
        r#""spec":{"containers":[{"name":"c","command":["sh","hunter2"],"env":[{"name":"TOKEN","value":"hunter2"}]}],"#,
    );
    let file = write(folder.path(), "pod.json", &secret);
    for format in ["table", "wide", "json", "yaml"] {
        let run = nominate(&["explain", "a", "--from", &file, "-o", format, "-v", "9"]);
        assert!(
            !run.stdout.contains("hunter2") && !run.stderr.contains("hunter2"),
            "in {format}"
        );
    }
}

#[test]
fn a_closed_pipe_is_silent() {
    let binary = env!("CARGO_BIN_EXE_kubectl-nominate");
    let input = root().join("tests/recorded/1.37/3-preemption/1-waiting");
    let script = format!(
        "{binary} explain hi -n s3 --from {} -o json | head -c 1; echo \"${{PIPESTATUS[0]}}\"",
        input.display()
    );
    let run = run("/bin/bash", &["-c", &script], "");
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("{0\n", ""));
}

#[test]
fn what_was_cut_off_before_the_pod_is_the_reason_that_it_is_not_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = |name: &str, text: &str| write(folder.path(), name, text);
    let torn = list(
        "pods.json",
        r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"na"#,
    );
    let log = list(
        "audit.log",
        r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","objectRef":{"resource":"pods","name":"a"},"requestObject":{"ki"#,
    );
    let place = folder.path().join("gather.tar.gz");
    let files = [("x/namespaces/b/core/pods.yaml".to_owned(), vec![b'#'; 4096])];
    let mut packed = super::archives::gzip(&super::archives::tar(&files.into()));
    packed.truncate(packed.len() - 20);
    fs::write(&place, packed).expect("a file");
    let archive = place.to_str().expect("the path is text").to_owned();
    for (path, why) in [
        (torn, "it is cut off: "),
        (
            log,
            "1 of 1 lines or entries cannot be read, first line 1: EOF",
        ),
        (archive, "ends early"),
    ] {
        let run = nominate(&["explain", "a", "--from", &path]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
}

#[test]
fn metrics_that_lack_a_name_or_gates_are_called_metrics() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n";
    let path = write(folder.path(), "metrics.txt", text);
    fails(
        &["explain", "a", "--from", &path],
        1,
        &format!(
            "error: {path:?} is a text of metrics, which does not say whose it is\nhint: name the component: --from metrics@kube-apiserver:PATH\n"
        ),
    );
    fails(
        &[
            "explain",
            "a",
            "--from",
            &format!("metrics@kube-apiserver:{path}"),
        ],
        1,
        "error: pods \"a\" not found in the input\nhint: the input holds no Pods\nhint: metrics of kube-apiserver: it has no line of kubernetes_feature_enabled\n",
    );
}
