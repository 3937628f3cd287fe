//! The catalogue against what real components told of themselves: gate by gate, default and stage.
#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Behaviour, Catalogue, META_GATES, Stage};
use crate::model::version::Minor;

/// Gates that a component does not list although the catalogue has them: recording, gate, why.
const NOT_LISTED: &[(&str, &str, &str)] = &[
    (
        "1.36/kube-scheduler",
        "ControllerManagerReleaseLeaderElectionLockOnExit",
        "registered by k8s.io/controller-manager, which a scheduler does not link",
    ),
    (
        "1.37/kube-scheduler",
        "ControllerManagerReleaseLeaderElectionLockOnExit",
        "registered by k8s.io/controller-manager, which a scheduler does not link",
    ),
    (
        "1.37-emulated-1.36/kube-scheduler",
        "ControllerManagerReleaseLeaderElectionLockOnExit",
        "registered by k8s.io/controller-manager, which a scheduler does not link",
    ),
];

/// What a recording is of: `1.37`, or `1.37-emulated-1.36`.
fn behaviour(folder: &str) -> Behaviour {
    let minor = |text| Minor::parse(text).expect("a folder is named by minors");
    match folder.split_once("-emulated-") {
        Some((binary, emulated)) => Behaviour::emulating(minor(binary), minor(emulated)),
        None => Behaviour::native(minor(folder)),
    }
}

/// Lines `kubernetes_feature_enabled{name="X",stage="BETA"} 1` as name, stage and value.
fn told(path: &Path) -> BTreeMap<String, (Stage, bool)> {
    let text = fs::read_to_string(path).expect("it was recorded");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let parts: Vec<&str> = line.split('"').collect();
            let [series, name, _, stage, value] = parts[..] else {
                panic!("{line:?} in {}", path.display())
            };
            assert_eq!(series, "kubernetes_feature_enabled{name=");
            let stage = match stage {
                "ALPHA" => Stage::Alpha,
                "BETA" => Stage::Beta,
                "" => Stage::General,
                "DEPRECATED" => Stage::Deprecated,
                _ => panic!("{line:?} in {}", path.display()),
            };
            (name.to_owned(), (stage, value == "} 1"))
        })
        .collect()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = path.read_dir().expect("the folder is there");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    found.sort();
    found
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .expect("its name is text")
}

#[test]
fn every_recorded_component_tells_what_the_catalogue_says() {
    let known = Catalogue::known();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/features");
    let mut explained = Vec::new();
    let mut compared = 0;
    for version in folders(&recorded) {
        let behaviour = behaviour(name(&version));
        for component in folders(&version) {
            let file = component.join("metrics-features.txt");
            let recording = format!("{}/{}", name(&version), name(&component));
            let mut told = told(&file);
            for meta in META_GATES {
                let stand = told.remove(meta).expect("every component lists it");
                assert!(!stand.1, "{recording} sets {meta}");
            }
            let gates = known.gates(behaviour.binary).expect("it is in the data");
            for gate in gates.values() {
                let due = gate.at(behaviour).map(|spec| (spec.stage, spec.default));
                let found = told.remove(gate.name);
                let row = NOT_LISTED
                    .iter()
                    .find(|row| (row.0, row.1) == (&recording, gate.name));
                if let (None, Some(row)) = (found, row) {
                    explained.push(row);
                } else {
                    assert_eq!(found, due, "{} in {recording}", gate.name);
                    compared += 1;
                }
            }
            assert!(told.is_empty(), "{recording} alone has {told:?}");
        }
    }
    assert_eq!(
        explained.len(),
        NOT_LISTED.len(),
        "only {explained:?} are so"
    );
    assert!(compared > 2500, "only {compared} gates were compared");
}
