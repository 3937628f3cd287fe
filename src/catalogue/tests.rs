//! Look-ups of the embedded catalogue; expectations are of recorded components or of upstream's sources.

use std::path::Path;

use super::dependencies::Dependency;
use super::*;

fn names(dependencies: &[Dependency]) -> Vec<&'static str> {
    dependencies.iter().map(|it| it.name).collect()
}

#[test]
fn every_file_of_a_minor_is_embedded_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/gates");
    let files: BTreeSet<Minor> = folder
        .read_dir()
        .expect("the folder is there")
        .filter_map(|entry| {
            entry
                .expect("it can be listed")
                .file_name()
                .into_string()
                .ok()
        })
        .filter_map(|name| Minor::parse(name.strip_suffix(".jsonl")?))
        .collect();
    assert!(data::MINORS.is_sorted_by_key(|(minor, _)| *minor));
    assert_eq!(files, Catalogue::known().minors().collect());
}

#[test]
fn every_line_is_read_once_and_in_order() {
    let known = Catalogue::known();
    for (minor, text) in data::MINORS {
        let gates = known.gates(*minor).expect("it is known");
        assert_eq!(gates.len(), text.lines().count(), "{minor}");
        for gate in gates.values() {
            assert!(!gate.specs.is_empty(), "{}", gate.name);
            assert!(
                gate.specs.is_sorted_by_key(|spec| spec.since),
                "{}",
                gate.name
            );
            for needed in &gate.depends_on {
                assert!(gates.contains_key(needed), "{} needs {needed}", gate.name);
            }
            assert!(!META_GATES.contains(&gate.name));
        }
    }
}

/// 1.37.2 refuses to start with it off: "feature is locked to true". In 1.35.4 it is alpha.
#[test]
fn the_spec_that_holds_is_the_last_one_up_to_the_emulated_version() {
    let known = Catalogue::known();
    let at = |binary, emulated| {
        let behaviour = Behaviour::emulating(Minor(binary), Minor(emulated));
        known
            .at("NodeDeclaredFeatures", behaviour)
            .map(|spec| (spec.stage, spec.default, spec.locked))
    };
    assert_eq!(at(37, 37), Some((Stage::General, true, true)));
    assert_eq!(at(37, 36), Some((Stage::Beta, true, false)));
    assert_eq!(at(37, 35), Some((Stage::Alpha, false, false)));
    assert_eq!(at(37, 34), None, "it is PreAlpha");
    assert_eq!(at(38, 37), None, "a newer binary is not known");
}

#[test]
fn a_minimum_compatibility_version_decides_between_two_specs_of_one_version() {
    let known = Catalogue::known();
    let native = Behaviour::native(Minor(37));
    let default = |behaviour| {
        known
            .at("DRAFractionalCapacityRange", behaviour)
            .map(|spec| spec.default)
    };
    assert_eq!(default(native), Some(false));
    let alone = Behaviour {
        min_compatibility: Minor(37),
        ..native
    };
    assert_eq!(default(alone), Some(true));
}

/// The gates that an unmodified 1.36.3 refuses to start without (`NodeDeclaredFeatures=false` alone).
#[test]
fn what_needs_a_gate_is_found_directly_and_over_others() {
    let known = Catalogue::known();
    let needed_by = known.needed_by("NodeDeclaredFeatures", Minor(36));
    for due in [
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        "RestartAllContainersOnContainerExits",
    ] {
        assert!(names(&needed_by).contains(&due), "{needed_by:?}");
    }
    let first_indirect = needed_by.iter().position(|it| it.through.is_some());
    let last_direct = needed_by.iter().rposition(|it| it.through.is_none());
    assert!(first_indirect.is_none_or(|first| Some(first) > last_direct));
    for name in known.names() {
        for minor in known.minors() {
            for needed in known.depends_on(name, minor) {
                let back = known.needed_by(needed.name, minor);
                assert!(names(&back).contains(&name), "{name} and {needed:?}");
            }
        }
    }
    assert!(known.depends_on("NoSuchGate", Minor(36)).is_empty());
}

#[test]
fn a_history_ends_with_what_the_last_binary_does() {
    let known = Catalogue::known();
    for name in known.names() {
        let history = known.history(name);
        assert!(history.is_sorted_by_key(|spec| spec.since), "{name}");
        let last = known.last_with(name).expect("it is in the catalogue");
        let native = known
            .at(name, Behaviour::native(last))
            .expect("no gate is registered for a later version alone");
        let told = history
            .iter()
            .rev()
            .find(|spec| spec.min_compatibility.is_none())
            .expect("it is not empty");
        assert_eq!(
            (told.default, told.stage, told.locked),
            (native.default, native.stage, native.locked),
            "{name}"
        );
    }
    assert!(known.history("NoSuchGate").is_empty());
}

#[test]
fn a_history_tells_what_each_binary_did_and_not_what_a_later_one_says_of_it() {
    let told: Vec<_> = Catalogue::known()
        .history("TopologyManagerPolicyOptions")
        .iter()
        .map(|spec| (spec.since, spec.locked))
        .collect();
    let since = |minor| Some(Minor(minor));
    assert_eq!(
        told,
        [
            (since(26), false),
            (since(28), false),
            (since(32), false),
            (since(36), true)
        ]
    );
}

/// `GangScheduling` was an alpha of 1.36; to 1.37.2 it is an "unrecognized feature gate".
#[test]
fn removed_and_new_gates_are_told_apart() {
    let known = Catalogue::known();
    assert_eq!(known.removed_in("GangScheduling"), Some(Minor(37)));
    assert_eq!(known.last_with("GangScheduling"), Some(Minor(36)));
    assert_eq!(known.removed_in("NodeDeclaredFeatures"), None);
    assert_eq!(known.removed_in("NoSuchGate"), None);
    assert_eq!(known.introduced_in("NodeDeclaredFeatures"), Some(Minor(35)));
    assert_eq!(known.introduced_in("ClientsAllowCBOR"), Some(Minor(32)));
    assert_eq!(known.introduced_in("NoSuchGate"), None);
}

/// Otherwise `removed_in` would tell half the truth.
#[test]
fn no_gate_comes_back() {
    let known = Catalogue::known();
    for name in known.names() {
        let has: Vec<bool> = known
            .minors()
            .map(|minor| known.gate(name, minor).is_some())
            .collect();
        let turns = has.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!(turns <= 1 || !has[0] && turns == 2, "{name}: {has:?}");
    }
}

#[test]
fn a_kep_that_does_not_say_is_not_a_kep_that_says_none() {
    let known = Catalogue::known();
    assert_eq!(
        known.components("NodeDeclaredFeatures"),
        Some(&["kube-apiserver", "kube-scheduler", "kubelet"][..])
    );
    assert_eq!(known.components("APIServerTracing"), None);
    assert!(known.proposal("APIServerTracing").is_some());
    assert_eq!(known.components("ClientsAllowCBOR"), None);
    assert_eq!(known.proposal("ClientsAllowCBOR"), None);
    let named: BTreeSet<&str> = known
        .proposals
        .values()
        .flat_map(|proposal| proposal.components.iter().copied())
        .collect();
    assert_eq!(named, BTreeSet::from(COMPONENTS));
}

/// kubernetes 1.37.2: `pkg/apis/core/validation/validation.go`, `pkg/kubelet/allocation/allocation_manager.go`.
#[test]
fn where_no_kep_says_it_the_sources_do() {
    let known = Catalogue::known();
    assert_eq!(
        known.components("InPlacePodVerticalScalingInitContainers"),
        Some(&["kube-apiserver", "kubelet"][..])
    );
    for (name, components) in &known.readers {
        assert!(known.last_with(name).is_some(), "{name} is no gate");
        assert!(
            components.iter().all(|it| COMPONENTS.contains(it)),
            "{name}"
        );
        let proposal = known.proposal(name);
        assert!(proposal.is_none_or(|it| it.components.is_empty()), "{name}");
    }
}
