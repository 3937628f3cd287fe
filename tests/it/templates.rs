//! The templates for CI: they are YAML of the right shape, and their scripts, run by `sh` as a runner would, do what docs/ci.md says.
//!
//! The plugin is the real one, the repository a real one with its base; only the runner is played.
#![expect(
    clippy::disallowed_methods,
    reason = "a test runs processes and reads files"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::plugin::root;

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
/// `NodeDeclaredFeatures` is locked in 1.37.
const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n  NodeDeclaredFeatures: false\n";
const ACCEPTED: &str = "suppressions:\n- {check: locked-gate, subject: '*', reason: it goes next week, expires: 9999-12-31}\n";

fn template(name: &str) -> Value {
    let text = fs::read_to_string(root().join(name)).expect("it is there");
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn word(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is there");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// A checkout of a change, beside the repository that it is a change of: there nothing is accepted, here all is.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("base");
    fs::create_dir(&base).expect("a folder");
    fs::write(base.join("kubelet.yaml"), KUBELET).expect("a file");
    fs::write(base.join("accepted.yaml"), "suppressions: []\n").expect("a file");
    git(&base, &["init", "--quiet"]);
    git(&base, &["add", "."]);
    git(&base, &["commit", "--quiet", "--message", "a base"]);
    git(folder.path(), &["clone", "--quiet", "base", "change"]);
    fs::write(folder.path().join("change/accepted.yaml"), ACCEPTED).expect("a file");
    folder
}

/// Runs a script as a runner does: in the checkout, with these variables and what the templates need on the PATH.
fn sh(script: &str, checkout: &Path, variables: &[(&str, &str)]) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", root().join("ci").display());
    Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(checkout.join("change"))
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .env("KUBECTL_FEATURES", BINARY)
        .env("GITHUB_OUTPUT", checkout.join("output"))
        .env("GITHUB_STEP_SUMMARY", checkout.join("summary"))
        .envs(variables.iter().copied())
        .output()
        .expect("sh is there")
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

fn reports(checkout: &Path) -> Vec<String> {
    let folder = checkout.join("change/preflight-reports");
    let files = folder.read_dir().expect("there are reports").flatten();
    let mut names: Vec<String> = files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

const REPORTS: [&str; 4] = [
    "preflight.json",
    "preflight.md",
    "preflight.sarif",
    "preflight.xml",
];

#[test]
fn the_action_annotates_and_reads_suppressions_from_the_base() {
    let action = template("ci/action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    let step = &action["runs"]["steps"][0];
    assert_eq!(step["shell"], "sh");
    let script = word(&step["run"]);
    // Text of an event never becomes part of a script.
    assert!(!script.contains("${{"), "{script}");
    let run = |event: &str, base: &str, checkout: &Path| {
        let given = |name: &str| match name {
            "ACTION" => root().join("ci").display().to_string(),
            "EVENT" => event.to_owned(),
            "BASE" => base.to_owned(),
            "INTENTION" => "--to-version 1.37".to_owned(),
            "FILES" => "kubelet.yaml\n".to_owned(),
            "SUPPRESSIONS" => "accepted.yaml".to_owned(),
            _ => {
                // What the action gives itself, or an input's default.
                let value = word(&step["env"][name]);
                match value
                    .strip_prefix("${{ inputs.")
                    .and_then(|it| it.strip_suffix(" }}"))
                {
                    Some(input) => word(&action["inputs"][input]["default"]).to_owned(),
                    None => value.to_owned(),
                }
            }
        };
        let names = step["env"].as_object().expect("a map").keys();
        let variables: Vec<(&str, String)> =
            names.map(|name| (name.as_str(), given(name))).collect();
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        sh(script, checkout, &variables)
    };

    let folder = checkout();
    let of_change = run("pull_request", "main", folder.path());
    let said_of_change = said(&of_change);
    assert_eq!(of_change.status.code(), Some(3), "{said_of_change}");
    assert!(
        said_of_change.contains("::error file=kubelet.yaml,line=4,col=3,title=locked-gate"),
        "{said_of_change}"
    );
    assert_eq!(reports(folder.path()), REPORTS);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it was written");
    assert_eq!(read("output"), "sarif=preflight-reports/preflight.sarif\n");
    assert!(read("summary").contains("| locked-gate | Fail |"));

    // What has been merged is accepted.
    let of_push = run("push", "", folder.path());
    assert_eq!(of_push.status.code(), Some(0), "{}", said(&of_push));

    let refused = run("pull_request_target", "main", folder.path());
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("not for pull_request_target"));
}

#[test]
fn the_gitlab_job_reads_suppressions_from_the_target() {
    let gitlab = template("ci/gitlab.yml");
    let job = &gitlab[".kubectl-features-preflight"];
    assert_eq!(job["artifacts"]["when"], "always");
    let script = word(&job["script"][0]);
    let defaults = job["variables"].as_object().expect("a map");
    let run = |more: &[(&str, &str)], checkout: &Path| {
        let defaults = defaults
            .iter()
            .map(|(name, value)| (name.as_str(), word(value)));
        let variables: Vec<(&str, &str)> = defaults.chain(more.iter().copied()).collect();
        sh(script, checkout, &variables)
    };
    let folder = checkout();
    let given = [
        ("INTENTION", "--to-version 1.37"),
        ("FILES", "."),
        ("SUPPRESSIONS", "accepted.yaml"),
    ];
    let of_branch = run(&given, folder.path());
    assert_eq!(of_branch.status.code(), Some(0), "{}", said(&of_branch));
    let target = ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
    let of_change = run(&[&given[..], &[target]].concat(), folder.path());
    assert_eq!(of_change.status.code(), Some(3), "{}", said(&of_change));
    assert_eq!(reports(folder.path()), REPORTS);
    let junit = word(&job["artifacts"]["reports"]["junit"]);
    assert!(folder.path().join("change").join(junit).is_file());
}

#[test]
fn the_tekton_task_hands_its_parameters_on() {
    let task = template("ci/tekton.yaml");
    assert_eq!(
        (word(&task["apiVersion"]), word(&task["kind"])),
        ("tekton.dev/v1", "Task")
    );
    let params = task["spec"]["params"].as_array().expect("a list");
    let step = &task["spec"]["steps"][0];
    let given = |text: &str| {
        let name = text
            .strip_prefix("$(params.")
            .and_then(|it| it.strip_suffix(')'));
        let name = name.unwrap_or_else(|| panic!("{text} is no parameter"));
        let declared = params.iter().find(|it| it["name"] == name);
        let declared = declared.unwrap_or_else(|| panic!("{name} is not declared"));
        match name {
            "intention" => "--to-version 1.37",
            "files" => "kubelet.yaml",
            "suppressions" => "accepted.yaml",
            "suppressions-ref" => "origin/main",
            _ => word(&declared["default"]),
        }
    };
    let variables = step["env"].as_array().expect("a list").iter();
    let variables: Vec<(&str, &str)> = variables
        .map(|it| (word(&it["name"]), given(word(&it["value"]))))
        .collect();
    let folder = checkout();
    let run = sh(word(&step["script"]), folder.path(), &variables);
    assert_eq!(run.status.code(), Some(3), "{}", said(&run));
    assert_eq!(reports(folder.path()), REPORTS);
}

#[test]
fn the_hook_judges_the_files_that_it_is_given() {
    let hooks = template(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    assert_eq!(
        (word(&hook["language"]), hook["require_serial"].as_bool()),
        ("script", Some(true))
    );
    let entry = root().join(word(&hook["entry"]));
    let pattern = regex::Regex::new(word(&hook["files"])).expect("it is one");
    assert!(pattern.is_match("clusters/a/kubelet.yaml") && !pattern.is_match("deploy/web.yaml"));
    let folder = checkout();
    let run = |arguments: &str| {
        sh(
            &format!("{} {arguments}", entry.display()),
            folder.path(),
            &[],
        )
    };
    let judged = run("--to-version 1.37 -- kubelet.yaml");
    assert_eq!(judged.status.code(), Some(3), "{}", said(&judged));
    let wrong = run("--to-version 1.37 kubelet.yaml");
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
}

/// In place of a file it would be the cluster of the runner's kubeconfig that is judged.
#[test]
fn without_files_nothing_is_asked() {
    let folder = checkout();
    let run = sh(
        "preflight.sh",
        folder.path(),
        &[("INTENTION", "--to-version 1.37"), ("FILES", "\n")],
    );
    assert_eq!(run.status.code(), Some(2), "{}", said(&run));
    assert!(said(&run).contains("name configuration files in FILES"));
}

/// The documents that people paste name what is there.
#[test]
fn docs_name_files_and_checks_that_are_there() {
    let text = fs::read_to_string(root().join("docs/ci.md")).expect("docs/ci.md is there");
    for name in [
        "ci/action.yml",
        "ci/gitlab.yml",
        "ci/tekton.yaml",
        "ci/preflight.sh",
        ".pre-commit-hooks.yaml",
    ] {
        assert!(text.contains(name) && root().join(name).is_file(), "{name}");
    }
    let blocks = text.split("```yaml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        let parsed: Result<Value, _> = serde_saphyr::from_str(block);
        assert!(parsed.is_ok(), "{parsed:?}\n{block}");
        assert!(!block.contains("pull_request_target"));
    }
}
