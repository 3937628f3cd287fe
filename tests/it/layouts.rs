//! Recorded moments of real control planes, laid out as support tools do, in folders and archives: each gives the verdict of the plain
//! files, or the one in [`LACKING`].
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::layouts::{Files, Lists, write};

use super::archives::{gzip, tar, zip};
use super::lacking::LACKING;
use super::plugin::{nominate, root};
use super::recorded::recorded_moments;

type Told = (String, String, String);

fn told(answer: &Value) -> Told {
    let text = |key: &str| answer["verdict"][key].as_str().unwrap_or("").to_owned();
    (text("kind"), text("cause"), text("certainty"))
}

fn explain(lists: &Lists, from: &Path) -> Value {
    let from = from.display().to_string();
    let arguments = [
        "explain",
        &lists.name,
        "-n",
        &lists.namespace,
        "--from",
        &from,
        "-o",
        "json",
    ];
    let run = nominate(&arguments);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{from}: {error}: {run:?}"))
}

/// The layouts, each as a folder or in an archive.
fn laid_out(lists: &Lists, place: &Path) -> Vec<(&'static str, PathBuf)> {
    let folder = |name: &str, files: &Files| {
        let path = place.join(name);
        write(files, &path).expect("the folder takes files");
        path
    };
    let file = |name: &str, content: Vec<u8>| {
        let path = place.join(name);
        write(&BTreeMap::from([(name.to_owned(), content)]), place).expect("a file");
        path
    };
    let gather = lists.must_gather();
    vec![
        ("dump", folder("dump", &lists.cluster_info_dump())),
        (
            "printed",
            file("printed", lists.printed_dump().into_bytes()),
        ),
        ("gather", file("gather", gzip(&tar(&gather)))),
        ("gather", file("zip", zip(&gather))),
        ("replicated", folder("replicated", &lists.replicated())),
    ]
}

/// Each moment once, of the newest minor that was recorded: the live trials go through all.
fn moments() -> Vec<PathBuf> {
    let all = recorded_moments().into_iter();
    let by_name: BTreeMap<PathBuf, PathBuf> = all
        .map(|moment| {
            let below = moment.strip_prefix(root().join("tests/recorded"));
            let name = below.expect("it was found there").iter().skip(1).collect();
            (name, moment)
        })
        .collect();
    by_name.into_values().collect()
}

/// What a moment gives by each layout, beside what the plain files give.
fn compare(moment: &Path) -> Vec<(&'static str, Told, Told)> {
    let lists = Lists::read(moment).expect("a moment has its lists");
    let plain = told(&explain(&lists, moment));
    let place = tempfile::tempdir().expect("a folder");
    laid_out(&lists, place.path())
        .into_iter()
        .map(|(layout, from)| (layout, plain.clone(), told(&explain(&lists, &from))))
        .collect()
}

#[test]
fn every_layout_gives_the_verdict_of_the_plain_files() {
    let moments = moments();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let compared: Vec<_> = std::thread::scope(|scope| {
        let chunks = moments.chunks(moments.len().div_ceil(threads));
        let running: Vec<_> = chunks
            .map(|chunk| {
                scope.spawn(|| {
                    chunk
                        .iter()
                        .map(|moment| compare(moment))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        running
            .into_iter()
            .flat_map(|thread| thread.join().expect("no thread panics"))
            .collect()
    });
    let recorded = root().join("tests/recorded");
    let mut wrong = Vec::new();
    let mut used = vec![false; LACKING.len()];
    for (moment, found) in moments.iter().zip(compared) {
        let inside = moment.strip_prefix(&recorded).expect("it was found there");
        let parts: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        let [_, scenario, numbered] = parts[..] else {
            panic!("{} is no moment", inside.display());
        };
        let (_, moment) = numbered.split_once('-').expect("moments have numbers");
        for (layout, plain, found) in found {
            let row = LACKING
                .iter()
                .position(|row| row.0.contains(&layout) && (row.1, row.2) == (scenario, moment));
            let due = row.map_or(plain, |row| {
                used[row] = true;
                let [kind, cause, certainty] = LACKING[row].3.map(str::to_owned);
                (kind, cause, certainty)
            });
            if found != due {
                wrong.push(format!(
                    "{layout} {}: {due:?} is due, found {found:?}",
                    inside.display()
                ));
            }
        }
    }
    let unused = LACKING.iter().zip(&used).filter(|(_, used)| !**used);
    wrong.extend(unused.map(|(row, _)| format!("{} {} is in no recording", row.1, row.2)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The answer's coverage line about a subject.
fn coverage<'a>(answer: &'a Value, subject: &str) -> &'a Value {
    let lines = answer["coverage"].as_array().expect("a list");
    lines
        .iter()
        .find(|line| line["subject"] == subject)
        .unwrap_or_else(|| panic!("nothing about {subject} in {lines:#?}"))
}

fn waiting() -> Lists {
    let moment = root().join("tests/recorded/1.37/preemption-with-grace/1-waiting");
    Lists::read(&moment).expect("a moment has its lists")
}

#[test]
fn a_dump_says_what_it_lacks() {
    let lists = waiting();
    let place = tempfile::tempdir().expect("a folder");
    let mut files = lists.cluster_info_dump();
    write(&files, &place.path().join("whole")).expect("the folder takes files");
    let whole = explain(&lists, &place.path().join("whole"));
    assert_eq!(
        coverage(&whole, "layout")["detail"],
        "read as a dump of kubectl cluster-info"
    );
    assert_eq!(coverage(&whole, "namespaces")["state"], "Partial");
    assert_eq!(
        coverage(&whole, "persistentvolumeclaims")["state"],
        "Absent"
    );

    // As kubectl dumps without --show-managed-fields.
    for content in files.values_mut() {
        let mut list: Value = serde_json::from_slice(content).expect("JSON");
        for item in list["items"].as_array_mut().expect("a list") {
            let metadata = item["metadata"].as_object_mut().expect("an object");
            metadata.remove("managedFields");
        }
        *content = list.to_string().into_bytes();
    }
    write(&files, &place.path().join("stripped")).expect("the folder takes files");
    let stripped = explain(&lists, &place.path().join("stripped"));
    let line = coverage(&stripped, "managed fields");
    assert_eq!(line["state"], "Absent");
    let detail = line["detail"].as_str().expect("text");
    assert!(
        detail.ends_with("dump with --show-managed-fields"),
        "{detail}"
    );

    // Events of the namespace that are not in it prove nothing.
    let events = format!("{}/events.json", lists.namespace);
    files.remove(&events).expect("it is there");
    write(&files, &place.path().join("eventless")).expect("the folder takes files");
    let eventless = explain(&lists, &place.path().join("eventless"));
    let lines = eventless["coverage"].as_array().expect("a list").iter();
    let about = |line: &&Value| {
        let subject = line["subject"].as_str().unwrap_or("");
        subject.starts_with("events about")
    };
    let states: Vec<&Value> = lines.filter(about).map(|line| &line["state"]).collect();
    // The Pod's own and its victim's.
    assert_eq!(states, ["Absent", "Absent"]);
}

#[test]
fn a_printed_dump_passes_over_logs_and_says_so() {
    let lists = waiting();
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("dump.txt");
    fs::write(&path, lists.printed_dump()).expect("a file");
    let answer = explain(&lists, &path);
    let line = coverage(&answer, &path.display().to_string());
    let detail = line["detail"].as_str().expect("text");
    assert!(
        detail.ends_with("logs of containers were passed over"),
        "{detail}"
    );
}

#[test]
fn a_support_bundle_tells_refusals_and_hides_values() {
    let lists = waiting();
    let place = tempfile::tempdir().expect("a folder");
    let mut files = lists.replicated();
    let root = files
        .keys()
        .next()
        .expect("files")
        .split('/')
        .next()
        .expect("a root")
        .to_owned();
    let whole = place.path().join("whole");
    write(&files, &whole).expect("the folder takes files");
    let answer = explain(&lists, &whole);
    assert_eq!(coverage(&answer, "namespaces")["state"], "Complete");
    let node = answer["pod"]["nominatedNodeName"]
        .as_str()
        .expect("it is nominated")
        .to_owned();
    let on_node = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|line| {
            line["subject"]
                .as_str()
                .is_some_and(|subject| subject.starts_with("pods on node"))
        });
    assert_eq!(
        on_node.expect("it is asked")["state"],
        "Complete",
        "all namespaces are known"
    );

    let events = format!("{root}/cluster-resources/events/{}.json", lists.namespace);
    files.remove(&events).expect("it is there");
    files.insert(
        format!("{root}/cluster-resources/events-errors.json"),
        format!(
            r#"{{"{}":"events is forbidden: User x cannot list"}}"#,
            lists.namespace
        )
        .into_bytes(),
    );
    let denied = place.path().join("denied");
    write(&files, &denied).expect("the folder takes files");
    let answer = explain(&lists, &denied);
    let about = answer["coverage"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|line| {
            line["subject"]
                .as_str()
                .is_some_and(|subject| subject.starts_with("events about"))
        });
    assert_eq!(about.expect("it is asked")["state"], "Denied");

    // A redactor that hides node names leaves no node of that name behind.
    let pods = format!("{root}/cluster-resources/pods/{}.json", lists.namespace);
    let hidden = String::from_utf8(files[&pods].clone())
        .expect("JSON is text")
        .replace(&format!("\"{node}\""), "\"***HIDDEN***\"");
    files.insert(pods.clone(), hidden.into_bytes());
    let redacted = place.path().join("redacted");
    write(&files, &redacted).expect("the folder takes files");
    let path = redacted.display().to_string();
    let run = nominate(&[
        "explain",
        &lists.name,
        "-n",
        &lists.namespace,
        "--from",
        &path,
    ]);
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    assert!(!run.stdout.contains("HIDDEN"), "{}", run.stdout);
}

#[test]
fn roots_of_several_images_are_merged_and_their_audit_logs_read() {
    let moment = root().join("tests/recorded/1.37/1a-gated-external/3-bound");
    let lists = Lists::read(&moment).expect("a moment has its lists");
    let alone = tempfile::tempdir().expect("a folder");
    let mut files = lists.must_gather();
    let path = alone.path().join("alone.tar");
    fs::write(&path, tar(&files)).expect("a file");
    let answer = explain(&lists, &path);
    assert_eq!(told(&answer).0, "Unknown", "only the log tells the node");
    let log = fs::read(root().join("tests/audited/1.37/1a-gated-external/3-bound.jsonl.gz"))
        .expect("it is recorded");
    files.insert(
        "must-gather.local.42/quay-io-audit/audit_logs/kube-apiserver/n1-audit.log.gz".to_owned(),
        log,
    );
    files.insert(
        "must-gather.local.42/quay-io-audit/namespaces/other/core/pods.yaml".to_owned(),
        b"apiVersion: v1\nkind: PodList\nitems: []\n".to_vec(),
    );
    fs::write(&path, tar(&files)).expect("a file");
    let answer = explain(&lists, &path);
    assert_eq!(
        told(&answer),
        ("Honoured".to_owned(), String::new(), "Proven".to_owned())
    );
    assert!(
        coverage(&answer, "capture")["detail"]
            .as_str()
            .is_some_and(|text| text.contains("08:03"))
    );
    let namespaces = coverage(&answer, "namespaces")["detail"]
        .as_str()
        .expect("text");
    assert!(namespaces.contains("other"), "{namespaces}");
}

/// A must-gather has each Pod twice; the single one is read where the list cannot be.
#[test]
fn a_single_object_stands_in_for_a_list_that_is_broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("must-gather.local.1/quay-io-x");
    let put = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("it is inside")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop, uid: u}\nspec: {schedulingGates: [{name: g}]}\n";
    put(
        "cluster-scoped-resources/core/nodes/n1.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n",
    );
    put("namespaces/shop/pods/a/a.yaml", pod);
    let from = folder.path().to_str().expect("the path is text");
    let explained = |list: &str| {
        put("namespaces/shop/core/pods.yaml", list);
        nominate(&["explain", "a", "-n", "shop", "--from", from])
    };
    let torn = explained("apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: [\n");
    assert!(torn.stdout.contains("Gated"), "{torn:?}");
    let foreign = explained("nothing of it\n");
    assert!(foreign.stdout.contains("Gated"), "{foreign:?}");
    // Where the list is sound it is all there is.
    let whole =
        explained("apiVersion: v1\nkind: PodList\nmetadata: {resourceVersion: \"1\"}\nitems: []\n");
    assert_eq!(whole.code, Some(1), "{whole:?}");
}
