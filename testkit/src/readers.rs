//! Which components read a feature gate that no KEP gives components: by the packages of the Kubernetes modules whose sources name it.
//!
//! A package is a component's where only that component runs it. What several link decides nothing: a gate that one of these reads
//! gets no line. Nothing is compiled, and no reading of a gate is followed any further.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads sources, and the catalogue's data"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::binaries::{self, BuildError, file, go};

/// Whose a package is, by the beginning of its path; the longest counts. Null: several components run it.
const OWNERS: &[(&str, Option<&str>)] = &[
    ("k8s.io/apiextensions-apiserver/", API_SERVER),
    // Of a server's own: what reads and stores. Authentication and its options are in all that serve HTTP.
    ("k8s.io/apiserver/pkg/admission/", API_SERVER),
    ("k8s.io/apiserver/pkg/endpoints/", API_SERVER),
    ("k8s.io/apiserver/pkg/endpoints/filters/", None),
    ("k8s.io/apiserver/pkg/registry/", API_SERVER),
    ("k8s.io/apiserver/pkg/storage/", API_SERVER),
    // Kubelets alone ask what they declare; the others read Pods.
    (
        "k8s.io/component-helpers/nodedeclaredfeatures/features/",
        KUBELET,
    ),
    ("k8s.io/kube-aggregator/", API_SERVER),
    ("k8s.io/kubernetes/cmd/kube-apiserver/", API_SERVER),
    (
        "k8s.io/kubernetes/cmd/kube-controller-manager/",
        CONTROLLER_MANAGER,
    ),
    ("k8s.io/kubernetes/cmd/kube-proxy/", PROXY),
    ("k8s.io/kubernetes/cmd/kube-scheduler/", SCHEDULER),
    ("k8s.io/kubernetes/cmd/kubelet/", KUBELET),
    // What objects may hold: defaults, validation, fields that are dropped.
    ("k8s.io/kubernetes/pkg/api/", API_SERVER),
    ("k8s.io/kubernetes/pkg/api/v1/", None),
    ("k8s.io/kubernetes/pkg/apis/", API_SERVER),
    ("k8s.io/kubernetes/pkg/apis/core/helper/", None),
    ("k8s.io/kubernetes/pkg/apis/core/v1/helper/", None),
    ("k8s.io/kubernetes/pkg/controller/", CONTROLLER_MANAGER),
    ("k8s.io/kubernetes/pkg/controlplane/", API_SERVER),
    ("k8s.io/kubernetes/pkg/kubeapiserver/", API_SERVER),
    ("k8s.io/kubernetes/pkg/kubelet/", KUBELET),
    ("k8s.io/kubernetes/pkg/proxy/", PROXY),
    ("k8s.io/kubernetes/pkg/registry/", API_SERVER),
    ("k8s.io/kubernetes/pkg/scheduler/", SCHEDULER),
    ("k8s.io/kubernetes/plugin/", API_SERVER),
];

const API_SERVER: Option<&str> = Some("kube-apiserver");
const CONTROLLER_MANAGER: Option<&str> = Some("kube-controller-manager");
const KUBELET: Option<&str> = Some("kubelet");
const PROXY: Option<&str> = Some("kube-proxy");
const SCHEDULER: Option<&str> = Some("kube-scheduler");

/// Modules that are no component's.
const OTHERS: [&str; 3] = ["k8s.io/code-generator", "k8s.io/kubectl", "k8s.io/sample-"];

/// Folders of tests, and of what tests use.
const OF_TESTS: [&str; 4] = ["test", "testdata", "testing", "vendor"];

/// How a gate is named where it is read.
const READING: [&str; 3] = ["eatures.", "eature.", "Enabled("];

/// Sources by their import path and name.
type Sources = BTreeMap<String, String>;

/// Returns a line a gate for all gates of these minors to which `proposals`, the lines of KEPs, give no component.
pub fn readers(minors: &[String], proposals: &str) -> Result<String, BuildError> {
    let lines = |text: &str| -> Vec<Value> {
        let lines = text.lines().map(serde_json::from_str);
        lines.filter_map(Result::ok).collect()
    };
    let name = |line: &Value| line["name"].as_str().map(str::to_owned);
    let is_given = |line: &&Value| {
        line["components"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    };
    let proposals = lines(proposals);
    let given: BTreeSet<String> = proposals.iter().filter(is_given).filter_map(name).collect();
    let mut found: BTreeMap<String, BTreeSet<Option<&str>>> = BTreeMap::new();
    for minor in minors {
        let gates = lines(&crate::gates(minor)?);
        let gates: BTreeSet<String> = gates.iter().filter_map(name).collect();
        for (gate, owners) in of(&sources(minor)?, &gates) {
            found.entry(gate).or_default().extend(owners);
        }
    }
    let silent = found.iter().filter(|(gate, _)| !given.contains(*gate));
    let lines = silent.filter_map(|(gate, owners)| {
        let owners: Vec<&str> = owners.iter().copied().collect::<Option<_>>()?;
        let (gate, owners) = (json!(gate), json!(owners));
        Some(format!("{{\"name\":{gate},\"components\":{owners}}}\n"))
    });
    Ok(lines.collect())
}

/// The Kubernetes modules of a minor, tests apart.
fn sources(minor: &str) -> Result<Sources, BuildError> {
    let format = "{{if .Dir}}{{.Path}} {{.Dir}}{{end}}";
    let modules = go(
        &binaries::source(minor)?,
        "list",
        &["-m", "-f", format, "all"],
    )?;
    let mut sources = Sources::new();
    for (module, folder) in modules.lines().filter_map(|line| line.split_once(' ')) {
        let is_other = OTHERS.iter().any(|other| module.starts_with(other));
        if module.starts_with("k8s.io/") && !is_other {
            add(Path::new(folder), module, &mut sources)?;
        }
    }
    Ok(sources)
}

fn add(folder: &Path, package: &str, sources: &mut Sources) -> Result<(), BuildError> {
    for entry in folder.read_dir().map_err(file("read", folder))? {
        let path = entry.map_err(file("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("{package}/{name}");
        if path.is_dir() {
            if !OF_TESTS.contains(&&*name) {
                add(&path, &place, sources)?;
            }
        } else if name.ends_with(".go") && !name.ends_with("_test.go") {
            let text = fs::read(&path).map_err(file("read", &path))?;
            let text = String::from_utf8_lossy(&text).into_owned();
            sources.insert(place, text);
        }
    }
    Ok(())
}

/// Whose packages read each gate.
fn of(
    sources: &Sources,
    gates: &BTreeSet<String>,
) -> BTreeMap<String, BTreeSet<Option<&'static str>>> {
    let lines = sources.values().flat_map(|text| text.lines());
    let constants: BTreeMap<&str, &str> = lines
        .filter_map(declared)
        .filter(|(_, gate)| gates.contains(*gate))
        .collect();
    let mut found: BTreeMap<String, BTreeSet<_>> = BTreeMap::new();
    for (place, text) in sources {
        // Who registers all reads none.
        if ["kube_features.go", "known_features.go"]
            .iter()
            .any(|it| place.ends_with(it))
        {
            continue;
        }
        let read = READING.iter().flat_map(|before| text.split(before).skip(1));
        for gate in read.filter_map(|after| constants.get(word(after))) {
            found
                .entry((*gate).to_owned())
                .or_default()
                .insert(owner(place));
        }
    }
    found
}

/// The identifier that a text begins with.
fn word(text: &str) -> &str {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter))
        .next()
        .unwrap_or_default()
}

/// The constant and its text, of a line that declares one: `Name featuregate.Feature = "Name"`.
fn declared(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let value = value.trim().trim_start_matches("featuregate.Feature(");
    let (value, _) = value.strip_prefix('"')?.split_once('"')?;
    let name = name.trim();
    let name = word(name.strip_prefix("const ").unwrap_or(name).trim_start());
    (!name.is_empty()).then_some((name, value))
}

fn owner(place: &str) -> Option<&'static str> {
    let owners = OWNERS.iter().filter(|(start, _)| place.starts_with(start));
    owners.max_by_key(|(start, _)| start.len())?.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_those_whose_packages_name_the_constant() {
        let sources = [
            (
                "k8s.io/kubernetes/pkg/features/kube_features.go",
                "\tAlpha featuregate.Feature = \"A\"\n\tB featuregate.Feature = \"B\"\n\tShared featuregate.Feature = \"C\"\n\
                 \tAlpha: {features.B},\n",
            ),
            (
                "k8s.io/kubernetes/pkg/kubelet/kubelet.go",
                "if utilfeature.DefaultFeatureGate.Enabled(features.Alpha) {\n// features.Bs\n",
            ),
            (
                "k8s.io/kubernetes/pkg/registry/core/pod/strategy.go",
                "if feature.Enabled(kubefeatures.Alpha) || Enabled(features.Shared) {",
            ),
            (
                "k8s.io/kubernetes/pkg/apis/core/v1/helper/helpers.go",
                "Enabled(features.Shared)",
            ),
            ("k8s.io/client-go/rest/client.go", "Enabled(B)"),
        ];
        let sources = sources.map(|(place, text)| (place.to_owned(), text.to_owned()));
        let gates = ["A", "B", "C"].map(str::to_owned);
        let found = of(&sources.into(), &gates.into());
        let due = [
            ("A", BTreeSet::from([API_SERVER, KUBELET])),
            ("B", BTreeSet::from([None])),
            ("C", BTreeSet::from([None, API_SERVER])),
        ];
        assert_eq!(found, due.map(|(gate, it)| (gate.to_owned(), it)).into());
        assert!(OWNERS.is_sorted());
    }
}
