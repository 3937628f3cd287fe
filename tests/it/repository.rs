//! `features preflight` on a checkout as it is: configuration among all else that a repository holds, and configuration that is broken.
//!
//! The files are real ones, made here; nothing is started.
#![expect(
    clippy::disallowed_methods,
    reason = "a test runs processes, reads files and takes the time"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::archives::{gzip, tar};
use super::plugin::{Run, command};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
/// Sound for any minor.
const SOUND: &str =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {}\n";
/// `NodeDeclaredFeatures` is locked in 1.37.
const LOCKED: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n  NodeDeclaredFeatures: false\n";
const CLUSTER: &str =
    "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n";

/// Runs preflight in a folder.
fn preflight(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = command(BINARY, &["preflight", "--to-version", "1.37"]);
    let output = command.args(arguments).current_dir(folder).output();
    let output = output.expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn answer(folder: &Path, from: &str) -> (Option<i32>, Value) {
    let run = preflight(folder, &["-o", "json", "--from", from]);
    let answer = serde_json::from_str(&run.stdout);
    (
        run.code,
        answer.unwrap_or_else(|error| panic!("{error}: {run:?}")),
    )
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn check<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let mut checks = answer["checks"].as_array().expect("a list").iter();
    checks.find(|check| check["id"] == id).expect("it was made")
}

/// A checkout with two pools, of which one would not start, among what repositories hold.
fn checkout() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    for (name, text) in [
        (".git/config", LOCKED),
        ("node_modules/x/kubelet.yaml", LOCKED),
        (
            ".github/workflows/ci.yaml",
            "on: push\njobs:\n  a: {runs-on: ubuntu-latest}\n",
        ),
        (
            "README.md",
            "# Clusters\n\nSet `featureGates` as kind: says.\n\n```yaml\nfeatureGates: {A: true\n```\n",
        ),
        ("Makefile", "all:\n\tkubectl apply -k .\n"),
        (
            "kustomization.yaml",
            "resources:\n- a.yaml\nkind: Kustomization\n",
        ),
        (
            "chart/Chart.yaml",
            "apiVersion: v2\nname: a\nversion: 0.1.0\n",
        ),
        ("chart/values.yaml", "image: {tag: latest}\nkind: none\n"),
        (
            "chart/templates/deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n{{- if .Values.x }}\n  labels: {}\n{{- end }}\n",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
        ),
        ("kubeadm.yaml", CLUSTER),
        ("pools/blue/kubelet.yaml", LOCKED),
        ("pools/green/kubelet.yaml", SOUND),
    ] {
        write(folder, name, text);
    }
    write(folder, "logo.png", b"\x89PNG\xff\xfe\0");
    std::os::unix::fs::symlink("pools/blue", folder.join("current")).expect("a link");
    std::os::unix::fs::symlink(".", folder.join("loop")).expect("a link");
    place
}

#[test]
fn a_checkout_is_read_as_it_is() {
    let place = checkout();
    let folder = place.path();
    let (code, first) = answer(folder, ".");
    assert_eq!(code, Some(3), "{first:#}");
    let findings = check(&first, "locked-gate")["findings"]
        .as_array()
        .expect("a list");
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0]["subject"], "kubelet/pools/blue/kubelet.yaml");
    let place = serde_json::json!({"path": "pools/blue/kubelet.yaml", "line": 4, "column": 3});
    assert_eq!(findings[0]["location"], place);
    let coverage = first["coverage"].as_array().expect("a list");
    assert!(
        coverage.iter().all(|line| line["state"] == "Complete"),
        "{coverage:#?}"
    );

    // Sound, and of a cluster nobody asked: it passes, and says of what.
    write(folder, "pools/blue/kubelet.yaml", SOUND);
    let (code, sound) = answer(folder, ".");
    assert_eq!(
        (code, &sound["summary"]["unknown"]),
        (Some(0), &0.into()),
        "{sound:#}"
    );
    assert_eq!(sound["intention"], "move to 1.37, in configuration alone");
    assert_eq!(check(&sound, "freshness")["status"], "Skipped");

    // With a Node it is a cluster, of which more should be known.
    let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"nodeInfo":{"kubeletVersion":"v1.36.3"}}}"#;
    write(folder, "node.json", node);
    let (code, seen) = answer(folder, ".");
    assert_eq!(seen["intention"], "move to 1.37", "{code:?}");
    assert_ne!(check(&seen, "freshness")["status"], "Skipped", "{seen:#}");
    fs::remove_file(folder.join("node.json")).expect("it is there");

    // A template that speaks of gates says nothing until it is rendered.
    let template = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n{{- toYaml .Values.gates | nindent 2 }}\n";
    write(folder, "chart/templates/kubelet.yaml", template);
    let (code, hidden) = answer(folder, ".");
    assert_eq!(code, Some(5), "{hidden:#}");
    let reason = check(&hidden, "locked-gate")["reason"].to_string();
    assert!(
        reason.contains("helm template") && reason.contains("chart/templates/kubelet.yaml"),
        "{reason}"
    );
}

#[test]
fn drop_ins_win_over_the_file_that_is_nearest() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    write(folder, "blue/kubelet.yaml", SOUND);
    write(folder, "green/kubelet.yaml", SOUND);
    write(folder, "green/kubelet.conf.d/10-a.conf", LOCKED);
    let (code, first) = answer(folder, ".");
    assert_eq!(code, Some(3), "{first:#}");
    let finding = &check(&first, "locked-gate")["findings"][0];
    assert_eq!(finding["subject"], "kubelet/green/kubelet.yaml");
    assert_eq!(
        finding["location"]["path"],
        "green/kubelet.conf.d/10-a.conf"
    );
    write(
        folder,
        "green/kubelet.conf.d/20-b.conf",
        LOCKED.replace("false", "true"),
    );
    let (code, later) = answer(folder, ".");
    assert_eq!(code, Some(0), "{later:#}");
}

type Bad = (
    &'static str,
    &'static [u8],
    Option<&'static str>,
    Option<(u64, u64)>,
);

/// What each is, what it says, null where the file is sound, and where, null where that is no matter of its form.
const BAD: &[Bad] = &[
    ("broken", b"kind: KubeletConfiguration\n a: [\n", Some("not valid YAML"), Some((2, 3))),
    ("a tab", b"kind: KubeletConfiguration\nfeatureGates:\n\tA: true\n", Some("line 3, column 2"), Some((3, 2))),
    ("a key twice", b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n  A: true\n  A: false\n", Some("line 5, column 3"), Some((5, 3))),
    ("cut off", b"{\"apiVersion\": \"kubelet.config.k8s.io/v1beta1\", \"kind\": \"KubeletConfiguration\", \"featureG", Some("it is cut off"), Some((1, 89))),
    ("binary", b"\x7fELF\xff\xfe\0\0", Some("not UTF-8"), None),
    ("a fault after a sound document", b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n---\na: [\n", Some("line 4, column 4"), Some((4, 4))),
    ("gates that are a list", b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: [A]\n", Some("cannot unmarshal array"), Some((1, 1))),
    ("the same after a sound document", b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n---\n# A remark\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: [A]\n", Some("cannot unmarshal array"), Some((5, 1))),
    ("aliases", b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nkind: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", Some("not valid YAML"), Some((4, 8))),
    ("carriage returns", b"apiVersion: kubelet.config.k8s.io/v1beta1\r\nkind: KubeletConfiguration\r\nfeatureGates:\r\n  NodeDeclaredFeatures: true\r\n", None, None),
    ("a byte order mark", b"\xef\xbb\xbfapiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", None, None),
];

#[test]
fn bad_files_are_unknown_and_say_where() {
    for (name, bytes, due, at) in BAD {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path();
        write(folder, "kubeadm.yaml", CLUSTER);
        write(folder, "kubelet.yaml", bytes);
        for from in [
            &["--from", "."][..],
            &["--from", "kubeadm.yaml", "--from", "kubelet.yaml"],
        ] {
            let started = Instant::now();
            let run = preflight(folder, &[from, &["-o", "json"]].concat());
            assert!(started.elapsed() < Duration::from_secs(10), "{name}");
            let answer: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
            let due_code = if due.is_some() { 5 } else { 0 };
            assert_eq!(run.code, Some(due_code), "{name}: {answer:#}");
            let Some(due) = due else { continue };
            let lines = answer["coverage"].as_array().expect("a list").iter();
            let places: Vec<&Value> = lines
                .map(|line| &line["location"])
                .filter(|place| !place.is_null())
                .collect();
            let at = at.map(
                |(line, column)| json!({"path": "kubelet.yaml", "line": line, "column": column}),
            );
            assert_eq!(places, at.iter().collect::<Vec<_>>(), "{name}");
            for id in [
                "locked-gate",
                "syntax",
                "unknown-gate",
                "broken-dependency",
                "freshness",
            ] {
                let check = check(&answer, id);
                assert_eq!(check["status"], "Unknown", "{name}: {check:#}");
                let reason = check["reason"].as_str().expect("a reason");
                assert!(
                    reason.contains(due) && reason.contains("kubelet.yaml"),
                    "{name}: {reason}"
                );
            }
        }
    }
}

#[test]
fn a_long_line_and_an_empty_file_are_no_trouble() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let long = format!("{LOCKED}other: {}\n", "a".repeat(10 << 20));
    write(folder, "kubelet.yaml", long);
    write(folder, "empty.yaml", "");
    let (code, read) = answer(folder, ".");
    assert_eq!(code, Some(3), "{read:#}");
    // Alone, an empty file is not what was meant.
    let run = preflight(folder, &["--from", "empty.yaml"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("it is empty"), "{}", run.stderr);
    let nothing = tempfile::tempdir().expect("a folder");
    let run = preflight(nothing.path(), &["--from", "."]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("it has no files"), "{}", run.stderr);
}

#[test]
fn an_archive_that_is_readable_in_part_is_incomplete() {
    let files = [
        ("kubeadm.yaml".to_owned(), CLUSTER.as_bytes().to_vec()),
        ("kubelet.yaml".to_owned(), SOUND.as_bytes().to_vec()),
        ("z.yaml".to_owned(), noise()),
    ];
    let whole = gzip(&tar(&files.clone().into()));
    let mut corrupt = files;
    corrupt[1].1 =
        b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\xff\xfe".to_vec();
    let cut = whole.get(..whole.len() / 2).expect("a half").to_vec();
    for (name, bytes, due) in [
        ("whole", whole, 0),
        ("cut", cut, 5),
        ("a member", gzip(&tar(&corrupt.into())), 5),
    ] {
        let place = tempfile::tempdir().expect("a folder");
        write(place.path(), "support.tar.gz", bytes);
        let (code, read) = answer(place.path(), "support.tar.gz");
        assert_eq!(code, Some(due), "{name}: {read:#}");
        let locked = check(&read, "locked-gate");
        let is_unknown = locked["status"] == "Unknown";
        assert_eq!(is_unknown, due == 5, "{name}: {locked:#}");
    }
}

/// A comment that does not compress: the middle of the archive is inside it.
fn noise() -> Vec<u8> {
    let mut state = 1_u64;
    let mut text = b"# ".to_vec();
    text.extend((0..20_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        b'a' + u8::try_from(state >> 33 & 15).unwrap_or_default()
    }));
    text
}
