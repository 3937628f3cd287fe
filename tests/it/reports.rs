//! Reports of checks: every format tells the same, none changes the exit code, and those of CI are what their schemas say.
//!
//! The reports are those of the cases of preflight. It must not look at what the checks find.
#![expect(
    clippy::disallowed_methods,
    reason = "a test runs processes and reads files"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use super::plugin::{Run, command, root};

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");
const FORMATS: [&str; 6] = ["github", "json", "junit", "markdown", "sarif", "table"];

fn run(folder: &Path, arguments: &[&str]) -> Run {
    let output = command(BINARY, arguments)
        .current_dir(folder)
        .output()
        .expect("it was built by this test run");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("it is UTF-8"),
    }
}

/// Each case of preflight: its folder, and its arguments.
fn cases() -> Vec<(PathBuf, String)> {
    let folder = root().join("tests/cases/features-preflight");
    let cases = folder.read_dir().expect("there are cases").flatten();
    let mut cases: Vec<(PathBuf, String)> = cases
        .map(|entry| {
            let line = fs::read_to_string(entry.path().join("cmd")).expect("it has one");
            let line = line.trim().strip_prefix("features ").expect("it is one");
            (entry.path(), line.to_owned())
        })
        .collect();
    cases.sort();
    assert!(cases.len() >= 6, "{cases:?}");
    cases
}

/// All reports of one run, by format, and its exit code.
fn reports(
    folder: &Path,
    line: &str,
    more: &[&str],
) -> (Option<i32>, BTreeMap<&'static str, String>) {
    let out = tempfile::tempdir().expect("a folder");
    let targets: Vec<String> = FORMATS
        .iter()
        .map(|format| format!("--report={format}={}", out.path().join(format).display()))
        .collect();
    let arguments: Vec<&str> = line
        .split_whitespace()
        .chain(more.iter().copied())
        .chain(targets.iter().map(String::as_str))
        .collect();
    let run = run(folder, &arguments);
    let read = |format: &'static str| {
        let text = fs::read_to_string(out.path().join(format));
        (
            format,
            text.unwrap_or_else(|error| panic!("{format}: {error}: {}", run.stderr)),
        )
    };
    (run.code, FORMATS.into_iter().map(read).collect())
}

fn number(value: &Value) -> usize {
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    number.unwrap_or_else(|| panic!("{value} is no number"))
}

/// What all formats say of one report, counted in each.
fn agree(reports: &BTreeMap<&str, String>) {
    let of = |format: &str| reports.get(format).map_or("", String::as_str);
    let report: Value = serde_json::from_str(of("json")).expect("it is JSON");
    let checks = report["checks"].as_array().expect("a list");
    let count = |key: &str| number(&report["summary"][key]);
    let all = ["pass", "error", "warning", "unknown", "skipped"];
    assert_eq!(all.into_iter().map(count).sum::<usize>(), checks.len());
    let failed: Vec<&Value> = checks
        .iter()
        .filter(|check| check["status"] == "Fail")
        .collect();
    let findings = |severity: &str| -> usize {
        let of = failed.iter().filter(|check| check["severity"] == severity);
        of.flat_map(|check| check["findings"].as_array().into_iter().flatten())
            .filter(|finding| finding["suppressed"].is_null())
            .count()
    };
    let suppressed = checks
        .iter()
        .flat_map(|check| check["findings"].as_array().into_iter().flatten())
        .filter(|finding| !finding["suppressed"].is_null())
        .count();

    let junit = of("junit");
    let skipped = count("unknown") + count("skipped");
    let suite = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{skipped}\"",
        checks.len(),
        count("error")
    );
    assert!(junit.contains(&suite), "{suite}\n{junit}");
    assert_eq!(junit.matches("<testcase ").count(), checks.len());
    assert_eq!(junit.matches("<failure ").count(), count("error"));
    assert_eq!(junit.matches("<skipped ").count(), skipped);

    let sarif: Value = serde_json::from_str(of("sarif")).expect("it is JSON");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().expect("a list");
    let is_suppressed = |result: &&Value| result["suppressions"][0].is_object();
    assert_eq!(results.iter().filter(is_suppressed).count(), suppressed);
    for (level, severity) in [("error", "Error"), ("warning", "Warning"), ("note", "Info")] {
        let of_level = results.iter().filter(|result| result["level"] == level);
        let counted = of_level.filter(|result| !is_suppressed(result)).count();
        assert_eq!(counted, findings(severity), "{level}");
    }
    let unread = report["coverage"].as_array().expect("a list").iter();
    let unread = unread.filter(|line| !line["location"].is_null()).count();
    let unknown = &run["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(
        unknown.as_array().map(Vec::len),
        Some(unread + count("unknown"))
    );
    let rules = run["tool"]["driver"]["rules"].as_array().expect("a list");
    for check in checks {
        assert!(rules.iter().any(|rule| rule["id"] == check["id"]));
    }

    let github = of("github");
    let lines = |start: &str| {
        github
            .lines()
            .filter(|line| line.starts_with(start))
            .count()
    };
    assert_eq!(lines("::error "), findings("Error"), "{github}");
    assert_eq!(
        lines("::warning "),
        findings("Warning") + unread + count("unknown")
    );
    assert_eq!(lines("::notice "), findings("Info"));
    let verdict = format!(
        "{} failed, {} with warnings, {} not known, {} skipped, {} passed",
        count("error"),
        count("warning"),
        count("unknown"),
        count("skipped"),
        count("pass")
    );
    assert!(
        github.ends_with(&format!("{verdict}\n")),
        "{verdict}\n{github}"
    );

    for check in checks {
        let id = check["id"].as_str().unwrap_or_default();
        assert!(of("markdown").contains(&format!("| {id} | ")), "{id}");
        assert!(of("table").contains(&format!("  {id} ")), "{id}");
    }
}

#[test]
fn formats_agree_and_none_changes_the_exit_code() {
    for (folder, line) in cases() {
        let due = fs::read_to_string(folder.join("exit")).expect("it has one");
        let (code, reports) = reports(&folder, &line, &[]);
        assert_eq!(code.map(|code| format!("{code}\n")), Some(due), "{line}");
        agree(&reports);
        valid(&reports);
        for format in ["github", "junit", "markdown", "sarif"] {
            let words: Vec<&str> = line.split_whitespace().chain(["-o", format]).collect();
            let run = run(&folder, &words);
            assert_eq!((run.code, run.stderr.as_str()), (code, ""), "{format}");
            assert_eq!(Some(&run.stdout), reports.get(format), "{format}");
        }
    }
}

const ALL: &str = "\
suppressions:
- {check: locked-gate, subject: '*', reason: the pool goes next week, expires: 2026-12-24}
- {check: syntax, subject: nothing, reason: it was so once, expires: 2026-12-24}
";

fn locked() -> (PathBuf, String) {
    let case = cases()
        .into_iter()
        .find(|(folder, _)| folder.ends_with("17-locked-in-the-target"));
    let (folder, line) = case.expect("it is there");
    (folder, format!("{line} --select locked-gate,syntax"))
}

#[test]
fn what_is_suppressed_is_told_and_does_not_count_until_its_day_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("accepted.yaml");
    fs::write(&list, ALL).expect("a file");
    let list = list.to_str().expect("it is UTF-8");
    let (case, line) = locked();
    let (code, loud) = reports(&case, &line, &[]);
    assert_eq!(code, Some(3));
    let (code, quiet) = reports(&case, &line, &["--suppressions", list]);
    agree(&loud);
    agree(&quiet);
    valid(&quiet);
    assert_eq!(code, Some(0));
    assert!(
        quiet["table"].contains("until 2026-12-24: the pool goes next week"),
        "{quiet:#?}"
    );
    assert!(
        quiet["table"].contains("unused-suppression: syntax nothing"),
        "{quiet:#?}"
    );

    fs::write(list, ALL.replace("2026-12-24", "2025-12-24")).expect("a file");
    let (code, late) = reports(&case, &line, &["--suppressions", list]);
    agree(&late);
    assert_eq!(code, Some(3));
    assert!(
        late["table"].contains("expired after 2025-12-24"),
        "{late:#?}"
    );
}

#[test]
fn a_change_cannot_silence_its_own_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let git = |arguments: &[&str]| {
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
            .current_dir(folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .expect("git is there");
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    git(&["branch", "empty"]);
    let list = folder.path().join("accepted.yaml");
    fs::write(&list, "suppressions: []\n").expect("a file");
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "a list"]);
    // What the change says of itself.
    fs::write(&list, ALL).expect("a file");
    let (case, line) = locked();
    let list = list.to_str().expect("it is UTF-8");
    let run = |list: &str, name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let output = command(BINARY, &[])
            .args(line.split_whitespace())
            .args([
                "--suppressions",
                list,
                &format!("--suppressions-ref={name}"),
            ])
            .current_dir(&case)
            .env("PATH", path)
            .output()
            .expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr)
    };
    assert_eq!(run(list, "main"), (Some(3), String::new()));
    let (code, said) = run(list, "empty");
    assert_eq!(code, Some(3));
    assert!(
        said.starts_with("note: empty has no ") && said.ends_with(": nothing is suppressed\n"),
        "{said}"
    );
    git(&["commit", "--quiet", "--all", "--message", "accepted"]);
    assert_eq!(run(list, "main"), (Some(0), String::new()));

    let (code, said) = run(list, "gone");
    assert_eq!(code, Some(1));
    assert!(
        said.contains("\"gone\" is not known") && said.contains("hint: a shallow checkout"),
        "{said}"
    );
    for name in ["--output=x", "main:accepted.yaml", ""] {
        let (code, said) = run(list, name);
        assert_eq!(code, Some(2), "{name:?}: {said}");
    }
}

#[test]
fn what_cannot_be_written_or_read_is_told() {
    let (case, line) = locked();
    let words = |more: &[&str]| {
        let words: Vec<&str> = line
            .split_whitespace()
            .chain(more.iter().copied())
            .collect();
        run(&case, &words)
    };
    for (more, code, due) in [
        (
            ["--report", "xml=a"],
            2,
            "there is no format \"xml\"; there are github, json, junit",
        ),
        (["--report", "junit"], 2, "give FORMAT=PATH"),
        (
            ["--report", "junit=no/such/folder/a.xml"],
            2,
            "there is no folder no/such/folder",
        ),
        (["--report", "junit=in"], 1, "cannot write in"),
        (
            ["--suppressions", "no-such-file"],
            1,
            "cannot read no-such-file",
        ),
        (["--suppressions-ref", "main"], 2, "--suppressions"),
    ] {
        let run = words(&more);
        assert_eq!(run.code, Some(code), "{more:?}: {}", run.stderr);
        assert!(run.stderr.contains(due), "{more:?}: {}", run.stderr);
        assert_eq!(run.stdout, "", "nothing is shown as if it were done");
    }
    // Those of checks alone are no formats of anything else.
    let run = run(&case, &["lookup", "-o", "junit"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains("markdown") && !run.stderr.contains("sarif"),
        "{}",
        run.stderr
    );
}

/// A configuration file in a pull request: GitHub takes no result without a file.
#[test]
fn a_finding_in_a_file_names_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n  NodeDeclaredFeatures: false\n";
    fs::write(folder.path().join("kubelet.yaml"), text).expect("a file");
    let line = "preflight --to-version 1.37 --from kubelet.yaml";
    let (code, reports) = reports(folder.path(), line, &[]);
    agree(&reports);
    valid(&reports);
    let sarif: Value = serde_json::from_str(&reports["sarif"]).expect("it is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    assert!(code == Some(3) && !results.is_empty(), "{reports:#?}");
    for result in results {
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "kubelet.yaml");
    }
    let locked = results.iter().find(|it| it["ruleId"] == "locked-gate");
    let place = &locked.expect("it is locked")["locations"][0]["physicalLocation"];
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 4, "startColumn": 3})
    );
}

/// A gate that is on in one file, and what it depends on off in another: the second is what has to be mended, the first a place to see.
#[test]
fn other_places_of_a_finding_are_related_and_linked() {
    let folder = tempfile::tempdir().expect("a folder");
    let head =
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n";
    let write = |name: &str, gate: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(path, format!("{head}  {gate}\n")).expect("a file");
    };
    write(
        "[a] b/kubelet.yaml",
        "UserNamespacesHostNetworkSupport: true",
    );
    write("[a] b/kubelet.d/10.conf", "NodeDeclaredFeatures: false");
    let line =
        "preflight --to-version 1.36 --assume-version 1.36 --from . --select broken-dependency";
    let (code, reports) = reports(folder.path(), line, &[]);
    assert_eq!(code, Some(3), "{reports:#?}");
    agree(&reports);
    valid(&reports);
    let report: Value = serde_json::from_str(&reports["json"]).expect("it is JSON");
    let finding = &report["checks"][0]["findings"][0];
    let at = |path: &str| serde_json::json!({"path": path, "line": 4, "column": 3});
    assert_eq!(finding["location"], at("[a] b/kubelet.d/10.conf"));
    let related = serde_json::json!([at("[a] b/kubelet.yaml")]);
    assert_eq!(finding["relatedLocations"], related);
    let sarif: Value = serde_json::from_str(&reports["sarif"]).expect("it is JSON");
    let result = &sarif["runs"][0]["results"][0];
    let place = &result["relatedLocations"][0];
    assert_eq!(place["id"], 0);
    let place = &place["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "%5Ba%5D%20b/kubelet.yaml");
    let text = result["message"]["text"].as_str().expect("a text");
    let due = r"See also: [\[a\] b/kubelet.yaml:4](0)";
    assert!(text.ends_with(due), "{text}");
}

/// Checks are unknown for it: GitHub shows why at the line, ten annotations of a step, so before all others.
#[test]
fn a_file_that_is_broken_is_told_at_its_line_in_each_format() {
    let folder = root().join("tests/cases/features-preflight/a-broken-file");
    let line = "preflight --to-version 1.37 --from in/control-plane.yaml --from in/kubelet.yaml";
    let (code, reports) = reports(&folder, line, &[]);
    assert_eq!(code, Some(5));
    agree(&reports);
    valid(&reports);
    let at = serde_json::json!({"path": "in/kubelet.yaml", "line": 5, "column": 2});
    let report: Value = serde_json::from_str(&reports["json"]).expect("it is JSON");
    assert_eq!(report["coverage"][0]["location"], at, "{report:#}");
    let sarif: Value = serde_json::from_str(&reports["sarif"]).expect("it is JSON");
    let told = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    let place = &told["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "in/kubelet.yaml");
    assert_eq!(
        place["region"],
        serde_json::json!({"startLine": 5, "startColumn": 2})
    );
    for (format, due) in [
        ("github", "::warning file=in/kubelet.yaml,line=5,col=2,"),
        ("junit", "<system-out>not read: in/kubelet.yaml: "),
        ("markdown", "in/kubelet.yaml:5:2"),
        ("table", "\n  in/kubelet.yaml:5:2 "),
    ] {
        assert!(reports[format].contains(due), "{format}");
    }
    assert!(reports["github"].starts_with("::warning file="));
}

/// Valid by the schemas of tests/schema.
fn valid(reports: &BTreeMap<&str, String>) {
    let sarif: Value = serde_json::from_str(&reports["sarif"]).expect("it is JSON");
    let faults = faults(&sarif);
    assert!(faults.is_empty(), "{faults:#?}");
    let faults = xml_faults(&reports["junit"]);
    assert_eq!(faults, "");
}

/// What xmllint has against a document; nothing where there is no xmllint, which `make tools` installs.
fn xml_faults(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.xml");
    fs::write(&file, text).expect("a file");
    let checked = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema"])
        .arg(root().join("tests/schema/junit-10.xsd"))
        .arg(&file)
        .output();
    match checked {
        Ok(checked) if checked.status.success() => String::new(),
        Ok(checked) => String::from_utf8_lossy(&checked.stderr).into_owned(),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            String::new()
        }
    }
}

fn faults(log: &Value) -> Vec<String> {
    let path = root().join("tests/schema/sarif-2.1.0.json");
    let schema: Value =
        serde_json::from_slice(&fs::read(path).expect("it is there")).expect("JSON");
    let mut faults = Vec::new();
    Judge { schema: &schema }.judge(&schema, log, "$", &mut faults);
    faults
}

/// The keywords of JSON Schema that SARIF's uses; any other is a fault, so that none is passed over.
struct Judge<'s> {
    schema: &'s Value,
}

impl Judge<'_> {
    fn judge(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let Some(keywords) = schema.as_object() else {
            return;
        };
        for (keyword, due) in keywords {
            let mut fault = |is_kept: bool| {
                if !is_kept {
                    faults.push(format!("{at}: {keyword} {due}: {value}"));
                }
            };
            match keyword.as_str() {
                "$ref" => {
                    let pointer = due.as_str().and_then(|word| word.strip_prefix('#'));
                    let target = self.schema.pointer(pointer.expect("it is local"));
                    self.judge(target.expect("it is there"), value, at, faults);
                }
                "type" => fault(match due.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("boolean") => value.is_boolean(),
                    Some("integer") => value.is_i64() || value.is_u64(),
                    Some("number") => value.is_number(),
                    _ => false,
                }),
                "enum" => fault(due.as_array().is_some_and(|list| list.contains(value))),
                "required" => {
                    for key in due
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                    {
                        fault(!value.is_object() || value.get(key).is_some());
                    }
                }
                "minimum" => fault(value.as_f64().is_none_or(|it| Some(it) >= due.as_f64())),
                "maximum" => fault(value.as_f64().is_none_or(|it| Some(it) <= due.as_f64())),
                "minItems" => fault(value.as_array().is_none_or(|it| it.len() >= number(due))),
                "uniqueItems" => {
                    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                    let is_new =
                        |(nth, item): (usize, &Value)| !list.iter().take(nth).any(|it| it == item);
                    fault(due == false || list.iter().enumerate().all(is_new));
                }
                "pattern" => {
                    let pattern = Regex::new(due.as_str().unwrap_or_default()).expect("it is one");
                    fault(value.as_str().is_none_or(|text| pattern.is_match(text)));
                }
                "anyOf" | "oneOf" => {
                    let kept = due.as_array().into_iter().flatten().filter(|one| {
                        let mut of_one = Vec::new();
                        self.judge(one, value, at, &mut of_one);
                        of_one.is_empty()
                    });
                    let kept = kept.count();
                    fault(if keyword == "oneOf" {
                        kept == 1
                    } else {
                        kept > 0
                    });
                }
                "items" => {
                    for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.judge(due, item, &format!("{at}[{nth}]"), faults);
                    }
                }
                "properties" => {
                    for (key, item) in value.as_object().into_iter().flatten() {
                        if let Some(due) = due.get(key) {
                            self.judge(due, item, &format!("{at}.{key}"), faults);
                        }
                    }
                }
                "additionalProperties" => {
                    let known = keywords.get("properties").and_then(Value::as_object);
                    for (key, item) in value.as_object().into_iter().flatten() {
                        if known.is_some_and(|known| known.contains_key(key)) {
                            continue;
                        }
                        match due {
                            Value::Bool(false) => {
                                faults.push(format!("{at}: {key} is no property"));
                            }
                            _ => self.judge(due, item, &format!("{at}.{key}"), faults),
                        }
                    }
                }
                // Said of values, not asked of them; formats of URIs are not judged.
                "$id" | "$schema" | "default" | "definitions" | "description" | "format"
                | "title" => {}
                _ => panic!("{keyword:?} is not understood"),
            }
        }
    }
}

/// The judges judge: what is wrong is refused.
#[test]
fn schemas_refuse_what_is_wrong() {
    let (case, line) = locked();
    let (_, reports) = reports(&case, &line, &[]);
    let good: Value = serde_json::from_str(&reports["sarif"]).expect("it is JSON");
    assert!(faults(&good).is_empty());
    let change = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("it is there") = value;
        faults(&bad)
    };
    for (pointer, value) in [
        ("/version", Value::from("2.0.0")),
        ("/runs/0/results/0/level", Value::from("fatal")),
        ("/runs/0/results/0/message", Value::from("text")),
        ("/runs/0/results/0/ruleIndex", Value::from(-2)),
        ("/runs/0/tool/driver", serde_json::json!({"names": "x"})),
    ] {
        assert!(!change(pointer, value).is_empty(), "{pointer}");
    }
    if Command::new("xmllint").arg("--version").output().is_ok() {
        let bad = reports["junit"].replace("testcase ", "test ");
        assert!(xml_faults(&bad).contains("test"), "{bad}");
        assert!(xml_faults(&reports["junit"].replace("failures=", "failed=")).contains("failed"));
    }
}
